//! What guests and programs on this machine's kernel have in common: a process that keeps all others of the tree.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Options;
use crate::kernel::sys::process::{self, Signal};
use crate::kernel::sys::{files, signals};

/// How far the process tree could be set apart from the rest of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// Own user, pid, network and IPC namespaces, and a mount namespace that holds the sandbox only.
    World,
    /// The same without the mount namespace: some systems give an ordinary user the others, but no mounts.
    Processes,
    /// A process group, and the sandbox as its root directory: what root has in a container.
    Cage,
    /// A process group only: what an ordinary user has in a container.
    Group,
}

impl Apart {
    /// Whether no process outside sees those inside end with the first of them.
    pub const fn is_group(self) -> bool {
        matches!(self, Self::Cage | Self::Group)
    }
}

/// What the command line asked for, in a group of its own and with nothing in its environment; output goes to `console`.
pub fn command(options: &Options, dir: &Path, console: &File) -> io::Result<Command> {
    let (program, arguments) = options.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console.try_clone()?)
        .process_group(0);
    Ok(command)
}

/// Splits in two: the parent becomes the keeper and never returns, the child goes on to be the kernel.
///
/// The keeper is pid 1 of the pid namespace, so that with it everything inside dies. (The kernel itself cannot be
/// pid 1: it ends a panic by a signal to itself, which pid 1 would ignore.)
pub fn keep(apart: Apart, launcher: u32) -> io::Result<()> {
    signals::block_all()?;
    match process::fork()? {
        None => {
            process::die_with_parent(Signal::KILL)?;
            process::lead_group()?;
            signals::unblock_all()
        }
        Some(kernel) => {
            files::close_but(None);
            let alone = apart.is_group();
            drop(process::die_with_parent(if alone { process::PARENT_DIED } else { Signal::KILL }));
            if alone && !process::is_child_of(launcher) {
                process::kill_group(kernel);
            }
            process::exit(process::keep(kernel))
        }
    }
}
