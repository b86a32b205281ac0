//! A program on this machine's kernel, in a pid namespace of its own: with the keeper all of it ends.
//!
//! It also gets mounts, a network and IPC of its own, so that nothing it sets up is seen outside. `/proc` stays the machine's:
//! who else works on this machine is part of what is measured.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::guest::{keep, Apart};
use super::{sys, Options};
use crate::reading::trace;

/// Starts the program in the sandbox's folder under its keeper, output going to `console`.
pub fn spawn(options: &Options, console: &File) -> io::Result<Child> {
    let dir = fs::canonicalize(&options.dir)?;
    sys::unshare(sys::NAMESPACES)?;
    let (program, arguments) = options.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env(trace::TRACER, trace::tracer_name())
        .current_dir(&dir)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console.try_clone()?)
        .process_group(0);
    let launcher = sys::my_pid();
    sys::before_exec(&mut command, move || {
        sys::private_mounts()?;
        sys::limit(sys::CORE_SIZE, 0)?;
        keep(Apart::Processes, launcher)
    });
    command.spawn()
}
