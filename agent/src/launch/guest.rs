//! The process tree of a virtual kernel: namespaces, limits, confinement, a constant environment.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{confine, native, sys, Options};

/// Largest file the guest may write; its memory is one of them.
const FILE_LIMIT: u64 = 1 << 40;
const SHARED_MEMORY: &str = "/dev/shm";

/// How far the process tree could be set apart from the rest of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// Own user, pid, network and IPC namespaces, and a mount namespace that holds the sandbox only.
    World,
    /// The same without the mount namespace: some systems give an ordinary user the others, but no mounts.
    Processes,
    /// A process group only.
    Group,
}

/// A started guest.
pub struct Guest {
    pub keeper: Child,
    /// A folder for its memory outside the sandbox, where it could not have a file system of its own.
    memory: Option<PathBuf>,
}

impl Guest {
    /// Removes what is outside the sandbox.
    pub fn clean_up(&self) {
        if let Some(memory) = &self.memory {
            drop(fs::remove_dir_all(memory));
        }
    }
}

/// Starts the kernel under its keeper, output going to `console`; says in `warnings` what confinement is missing.
pub fn spawn(options: &Options, console: &File, warnings: &mut Vec<String>) -> io::Result<Guest> {
    if options.native {
        return Ok(Guest { keeper: native::spawn(options, console)?, memory: None });
    }
    let dir = fs::canonicalize(&options.dir)?;
    let apart = set_apart(&dir, warnings);
    let sandbox = confine::Sandbox::prepare(warnings)?;
    if options.require && !warnings.is_empty() {
        return Err(io::Error::other(format!("confinement is required, but: {}", warnings.join("; "))));
    }
    let (program, arguments) = options.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let memory = if apart == Apart::World { None } else { shared_memory(&dir)? };
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
        let world = if apart == Apart::World { jail(&dir)? } else { dir.clone() };
        keep(apart, launcher)?;
        sandbox.enter(&world)
    });
    let keeper = command.spawn().inspect_err(|_| drop(memory.as_ref().map(fs::remove_dir_all)))?;
    Ok(Guest { keeper, memory })
}

/// Leaves the machine's namespaces as far as it may.
fn set_apart(dir: &Path, warnings: &mut Vec<String>) -> Apart {
    match leave_namespaces(dir) {
        Ok(Apart::Processes) => {
            warnings
                .push("no mounts of its own: the guest is kept from other files by Landlock only".to_owned());
            Apart::Processes
        }
        Ok(apart) => apart,
        Err(error) => {
            warnings.push(format!(
                "no namespaces of its own ({error}): the guest is held by a process group, and kept from other \
                 files by Landlock only"
            ));
            drop(sys::adopt_orphans());
            Apart::Group
        }
    }
}

/// An ordinary user does so inside a user namespace of its own, and so does root where it can.
fn leave_namespaces(dir: &Path) -> io::Result<Apart> {
    let (uid, gid) = sys::my_ids();
    match sys::unshare(sys::USER_NAMESPACE) {
        Ok(()) => {
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        }
        Err(error) if uid != 0 => return Err(error),
        Err(_) => {}
    }
    // Before the pid namespace: the first process in that one is its life.
    let world = sys::succeeds(|| jail(dir).map(drop));
    sys::unshare(sys::NAMESPACES)?;
    Ok(if world { Apart::World } else { Apart::Processes })
}

fn limit_resources() -> io::Result<()> {
    sys::limit(sys::CORE_SIZE, 0)?;
    sys::limit(sys::FILE_SIZE, FILE_LIMIT)?;
    sys::limit(sys::OPEN_FILES, 4096)
}

/// Makes the sandbox the whole file system, and gives its root.
///
/// ```text
/// /linux  the kernel's image     /out  where the guest writes
/// /root   the guest's root       /mem  its memory, on a file system that ends with it
/// /dev/null, and /proc/self/cwd → /, for the kernel's command line says so where there is no jail
/// ```
fn jail(dir: &Path) -> io::Result<PathBuf> {
    sys::private_mounts()?;
    let jail = dir.join("mem");
    sys::mount_tmpfs(&jail)?;
    for folder in ["root", "out", "mem", "dev", "proc/self"] {
        fs::create_dir_all(jail.join(folder))?;
    }
    symlink("/", jail.join("proc/self/cwd"))?;
    for file in ["linux", "dev/null"] {
        File::create(jail.join(file))?;
    }
    sys::bind_read_only(&fs::canonicalize(dir.join("linux"))?, &jail.join("linux"))?;
    sys::bind_read_only(&fs::canonicalize(dir.join("root"))?, &jail.join("root"))?;
    sys::bind(&dir.join("out"), &jail.join("out"))?;
    sys::bind(Path::new("/dev/null"), &jail.join("dev/null"))?;
    sys::change_root(&jail)?;
    Ok(PathBuf::from("/"))
}

/// Without a mount namespace: replaces `mem` by a link to a private folder in shared memory, if there is any.
fn shared_memory(dir: &Path) -> io::Result<Option<PathBuf>> {
    let folder = Path::new(SHARED_MEMORY).join(format!("rushhour-{}", sys::my_pid()));
    if fs::create_dir(&folder).is_err() {
        return Ok(None);
    }
    fs::remove_dir(dir.join("mem"))?;
    symlink(&folder, dir.join("mem"))?;
    Ok(Some(folder))
}

/// Splits in two: the parent becomes the keeper and never returns, the child goes on to be the kernel.
///
/// The keeper is pid 1 of the pid namespace, so that with it everything inside dies. (The kernel itself cannot be
/// pid 1: it ends a panic by a signal to itself, which pid 1 would ignore.)
pub fn keep(apart: Apart, launcher: u32) -> io::Result<()> {
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
