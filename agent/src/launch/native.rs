//! A program on this machine's kernel, in a pid namespace of its own: with the keeper all of it ends.
//!
//! It also gets mounts, a network and IPC of its own, so that nothing it sets up is seen outside. `/proc` stays the machine's:
//! who else works on this machine is part of what is measured.

use std::fs::{self, File};
use std::io;
use std::process::Child;

use super::keeper::{command, keep, Apart};
use super::Options;
use crate::kernel::sys::limits::{limit, Resource};
use crate::kernel::sys::{mounts, namespaces, process};
use crate::reading::trace;

/// Starts the program in the sandbox's folder under its keeper, output going to `console`.
pub fn spawn(options: &Options, console: &File) -> io::Result<Child> {
    let dir = fs::canonicalize(&options.dir)?;
    namespaces::unshare(namespaces::GUEST)?;
    let mut command = command(options, &dir, console)?;
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env(trace::TRACER, trace::tracer_name());
    let launcher = process::my_pid();
    process::before_exec(&mut command, move || {
        mounts::private_mounts()?;
        limit(Resource::Core, 0)?;
        keep(Apart::Processes, launcher)
    });
    command.spawn()
}
