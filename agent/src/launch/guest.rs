//! The process tree of a virtual kernel: namespaces, limits, confinement, a constant environment.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;

use super::keeper::{command, keep, Apart};
use super::{confine, Options};
use crate::kernel::sys::limits::{self, limit, Resource};
use crate::kernel::sys::process;
use crate::kernel::sys::{confinement, cpu, mounts, namespaces};

/// The minor number of the null device.
const NULL: u32 = 3;
/// Largest file the guest may write; its memory is one of them.
const FILE_LIMIT: u64 = 1 << 40;
/// How the guest's memory is kept where this machine has large pages: in such, as far as its file reaches.
const MEMORY: &CStr = c"huge=within_size";

/// What the kernel's process finds in its environment; the same in every run.
///
/// The C library inside the image registers restartable sequences where it is not told otherwise. Processes of the guest
/// would inherit the registration without the memory behind it and die of it; a filter refuses the call besides, but not
/// every machine takes a filter.
const ENVIRONMENT: [(&str, &str); 2] = [("TMPDIR", "mem"), ("GLIBC_TUNABLES", "glibc.pthread.rseq=0")];

/// Starts the kernel under its keeper, output going to `console`; says in `warnings` what confinement is missing. `asks` is who
/// is told by which file the kernel's questions are answered, where it asks some.
pub fn spawn(
    options: &Options,
    console: &File,
    warnings: &mut Vec<String>,
    asks: Option<OwnedFd>,
) -> io::Result<Child> {
    if !cfg!(target_arch = "x86_64") {
        return Err(io::Error::other(format!(
            "virtual kernels run on x86-64 only, and this is {}",
            std::env::consts::ARCH
        )));
    }
    let dir = fs::canonicalize(&options.dir)?;
    let sandbox = confine::Sandbox::prepare(warnings, asks)?;
    let apart = set_apart(&dir, sandbox.guards_files(), warnings)?;
    if options.require && !warnings.is_empty() {
        return Err(io::Error::other(format!("confinement is required, but: {}", warnings.join("; "))));
    }
    let mut command = command(options, &dir, console)?;
    command.envs(ENVIRONMENT);
    let (cpu, hold) = (options.cpu, options.hold);
    let launcher = process::my_pid();
    process::before_exec(&mut command, move || {
        constant_addresses()?;
        if let Some(cpu) = cpu {
            cpu::pin(&[cpu])?;
        }
        limit_resources()?;
        let world = match apart {
            Apart::World => jail(&dir)?,
            Apart::Cage => cage(&dir)?,
            Apart::Processes | Apart::Group => dir.clone(),
        };
        keep(apart, launcher)?;
        if hold {
            process::hold()?;
        }
        sandbox.enter(&world)
    });
    command.spawn()
}

/// Leaves the machine's namespaces as far as it may; `guarded` says whether Landlock keeps the guest from other files.
fn set_apart(dir: &Path, guarded: bool, warnings: &mut Vec<String>) -> io::Result<Apart> {
    let (apart, missing) = match leave_namespaces(dir) {
        Ok(Apart::World) => return Ok(Apart::World),
        Ok(apart) => (apart, "no mounts of its own".to_owned()),
        Err(error) => {
            drop(process::adopt_orphans());
            let caged = process::succeeds(|| cage(dir).map(drop));
            let apart = if caged { Apart::Cage } else { Apart::Group };
            (apart, format!("no namespaces of its own ({error})"))
        }
    };
    if apart != Apart::Cage && !Path::new("/proc/self/cwd").exists() {
        return Err(io::Error::other(
            "there is no /proc here, by which a virtual kernel finds its files: mount -t proc proc /proc",
        ));
    }
    let left = match (apart, guarded) {
        (Apart::Cage, true) => "it is kept from other files by a root directory of its own, and by Landlock",
        (Apart::Cage, false) => "it is kept from other files by a root directory of its own",
        (_, true) => "it is kept from other files by Landlock only",
        (_, false) => "there is no Landlock either, so its root user can read and write this user's files",
    };
    warnings.push(format!("the guest has {missing}: {left}"));
    Ok(apart)
}

/// Addresses of the kernel's process do not differ from run to run.
///
/// A container may forbid to switch randomisation off. The one thing that depends on it is where the heap lies
/// (`lab/kernel/host/memory.c`), so there shall be none: the C library takes its memory from elsewhere.
fn constant_addresses() -> io::Result<()> {
    confinement::personality_without_randomness().or_else(|_| limits::forbid_heap())
}

/// An ordinary user does so inside a user namespace of its own, and so does root where it can.
fn leave_namespaces(dir: &Path) -> io::Result<Apart> {
    let (uid, gid) = (process::user(), process::group());
    // Who has left must be known by a number there, and only /proc takes it.
    let able = fs::metadata("/proc/self/uid_map").and_then(|_| namespaces::unshare(namespaces::USER));
    match able {
        Ok(()) => {
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        }
        Err(error) if uid != 0 => return Err(error),
        Err(_) => {}
    }
    // Before the pid namespace: the first process in that one is its life.
    let world = process::succeeds(|| jail(dir).map(drop));
    namespaces::unshare(namespaces::GUEST)?;
    Ok(if world { Apart::World } else { Apart::Processes })
}

fn limit_resources() -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, FILE_LIMIT)?;
    limit(Resource::Nofile, 4096)
}

/// Makes the sandbox the whole file system, and gives its root.
///
/// ```text
/// /linux  the kernel's image     /out  where the guest writes
/// /root   the guest's root       /mem  its memory, on a file system that ends with it
/// /roots  those of programs, by their numbers
/// /dev/null, and /proc/self/cwd → /, for the kernel's command line says so where there is no jail
/// ```
fn jail(dir: &Path) -> io::Result<PathBuf> {
    mounts::private_mounts()?;
    let jail = dir.join("mem");
    mounts::mount_harmless("tmpfs", &jail, true, MEMORY)
        .or_else(|_| mounts::mount_harmless("tmpfs", &jail, true, c""))?;
    for folder in ["root", "out", "mem", "dev", "proc/self"] {
        fs::create_dir_all(jail.join(folder))?;
    }
    symlink("/", jail.join("proc/self/cwd"))?;
    for file in ["linux", "dev/null"] {
        File::create(jail.join(file))?;
    }
    mounts::bind_read_only(&fs::canonicalize(dir.join("linux"))?, &jail.join("linux"))?;
    mounts::bind_read_only(&fs::canonicalize(dir.join("root"))?, &jail.join("root"))?;
    for root in confine::roots(dir) {
        let place = jail.join("roots").join(root.file_name().unwrap_or_default());
        fs::create_dir_all(&place)?;
        mounts::bind_read_only(&fs::canonicalize(root)?, &place)?;
    }
    mounts::bind(&dir.join("out"), &jail.join("out"))?;
    mounts::bind(Path::new("/dev/null"), &jail.join("dev/null"))?;
    mounts::change_root(&jail)?;
    Ok(PathBuf::from("/"))
}

/// Makes the sandbox the root directory, without any mount; the same paths as in the [`jail`].
///
/// Without capabilities, which it gives up next, a process finds no way out of its root directory.
fn cage(dir: &Path) -> io::Result<PathBuf> {
    let roots = confine::roots(dir);
    for place in [dir.join("linux"), dir.join("root")].into_iter().chain(roots) {
        if let Ok(target) = fs::read_link(&place) {
            fs::remove_file(&place)?;
            copy(&target, &place)?;
        }
    }
    fs::create_dir_all(dir.join("dev"))?;
    fs::create_dir_all(dir.join("proc/self"))?;
    for outcome in
        [symlink("/", dir.join("proc/self/cwd")), mounts::memory_device(&dir.join("dev/null"), NULL)]
    {
        outcome.or_else(
            |error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) },
        )?;
    }
    mounts::enter_root(dir)?;
    Ok(PathBuf::from("/"))
}

/// Copies a file, a symbolic link as such, or a folder with all that it holds. Hard links would let the guest write into what
/// other runs use.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if !kind.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
