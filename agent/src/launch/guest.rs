//! The process tree of a virtual kernel: namespaces, limits, confinement, a constant environment.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{confine, sys, Options};

/// Largest file the guest may write; its memory is one of them.
const FILE_LIMIT: u64 = 1 << 40;

/// How far the process tree could be set apart from the rest of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    /// Own user, pid, mount, network and IPC namespaces.
    Namespaces,
    /// A process group only.
    Group,
}

/// Starts the kernel under its keeper, output going to `console`; says in `warnings` what confinement is missing.
pub fn spawn(options: &Options, console: &File, warnings: &mut Vec<String>) -> io::Result<Child> {
    let dir = fs::canonicalize(&options.dir)?;
    let apart = set_apart(warnings);
    let sandbox = confine::Sandbox::prepare(&dir, warnings)?;
    if options.require && !warnings.is_empty() {
        return Err(io::Error::other(format!("confinement is required, but: {}", warnings.join("; "))));
    }
    let (program, arguments) = options.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("TMPDIR", "mem")
        .current_dir(&dir)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console.try_clone()?)
        .process_group(0);
    let cpu = options.cpu;
    let launcher = sys::my_pid();
    sys::before_exec(&mut command, move || {
        sys::personality_without_randomness()?;
        if let Some(cpu) = cpu {
            sys::pin(cpu)?;
        }
        limit_resources()?;
        if apart == Apart::Namespaces {
            private_memory(&dir)?;
        }
        keep(apart, launcher)?;
        sandbox.enter()
    });
    command.spawn()
}

/// Leaves the machine's namespaces, as an ordinary user inside a user namespace of its own.
fn set_apart(warnings: &mut Vec<String>) -> Apart {
    let (uid, gid) = sys::my_ids();
    let result = sys::unshare(sys::NAMESPACES | sys::USER_NAMESPACE).and_then(|()| {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
    });
    match result.or_else(|error| if uid == 0 { sys::unshare(sys::NAMESPACES) } else { Err(error) }) {
        Ok(()) => Apart::Namespaces,
        Err(error) => {
            warnings.push(format!(
                "no namespaces of its own ({error}): the guest is held by a process group only"
            ));
            drop(sys::adopt_orphans());
            Apart::Group
        }
    }
}

fn limit_resources() -> io::Result<()> {
    sys::limit(sys::CORE_SIZE, 0)?;
    sys::limit(sys::FILE_SIZE, FILE_LIMIT)?;
    sys::limit(sys::OPEN_FILES, 4096)
}

/// A memory file system that no other process sees and that ends with the guest.
fn private_memory(dir: &Path) -> io::Result<()> {
    sys::private_mounts()?;
    sys::mount_tmpfs(&dir.join("mem"))
}

/// Splits in two: the parent becomes the keeper and never returns, the child goes on to be the kernel.
///
/// The keeper is pid 1 of the pid namespace, so that with it everything inside dies. (The kernel itself cannot be
/// pid 1: it ends a panic by a signal to itself, which pid 1 would ignore.)
fn keep(apart: Apart, launcher: u32) -> io::Result<()> {
    sys::block_signals()?;
    match sys::fork()? {
        0 => {
            sys::die_with_parent(sys::KILL)?;
            sys::lead_group()?;
            sys::unblock_signals()
        }
        kernel => {
            sys::close_all_files();
            let alone = apart == Apart::Group;
            drop(sys::die_with_parent(if alone { sys::PARENT_DIED } else { sys::KILL }));
            if alone && sys::parent() != launcher {
                sys::kill_group(kernel as u32);
            }
            sys::exit(sys::keep(kernel))
        }
    }
}
