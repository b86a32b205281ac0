//! File systems as they are put together: mounts, roots, device nodes.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::namespaces;
use super::visit::{Number, Visit};

/// The memory devices' major number.
pub const MEMORY: u32 = 1;
/// Who may read and write a device.
const EVERYBODY: libc::mode_t = 0o666;

/// Mounts a file system of a kind; `options` are its own.
pub fn mount(source: &str, target: &str, kind: &str, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    Ok(rustix::mount::mount(source, target, kind, MountFlags::empty(), options.as_c_str())?)
}

/// Mounts a file system in which nobody writes.
pub fn mount_read_only(kind: &str, target: &Path, options: &CStr) -> io::Result<()> {
    Ok(rustix::mount::mount("none", target, kind, MountFlags::RDONLY, options)?)
}

/// Mounts a file system in which there are neither devices nor programs with another user's rights; with `programs` as a
/// `false`, no programs either. `options` are the kind's own.
pub fn mount_harmless(kind: &str, target: &Path, programs: bool, options: &CStr) -> io::Result<()> {
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::NOEXEC, !programs);
    Ok(rustix::mount::mount("none", target, kind, flags, options)?)
}

pub fn unmount(target: &str) -> io::Result<()> {
    Ok(rustix::mount::unmount(target, UnmountFlags::DETACH)?)
}

/// Shows a file or a folder in a second place.
pub fn bind(source: &Path, target: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(source, target)?)
}

/// Shows a folder in a second place, with all that is mounted below it.
pub fn bind_all(source: impl AsRef<Path>, target: impl AsRef<Path>) -> io::Result<()> {
    Ok(rustix::mount::mount_bind_recursive(source.as_ref(), target.as_ref())?)
}

/// Keeps the restrictions of the file system below, which an ordinary user must not lift.
pub fn bind_read_only(source: &Path, target: &Path) -> io::Result<()> {
    const KEPT: [(StatVfsMountFlags, MountFlags); 5] = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    ];
    bind(source, target)?;
    let there = rustix::fs::statvfs(target)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (found, kept) in KEPT {
        if there.contains(found) {
            flags |= kept;
        }
    }
    Ok(rustix::mount::mount_remount(target, flags, "")?)
}

/// Moves a mount to another place.
pub fn move_mount(source: &str, target: &str) -> io::Result<()> {
    Ok(rustix::mount::mount_move(source, target)?)
}

/// A mount namespace of this process's own: it sees what happens outside, and nothing it does is seen there.
pub fn own_mounts() -> io::Result<()> {
    leave_mounts(MountPropagationFlags::DOWNSTREAM)
}

/// A mount namespace of this process's own, into which and from which nothing spreads.
pub fn private_mounts() -> io::Result<()> {
    leave_mounts(MountPropagationFlags::PRIVATE)
}

fn leave_mounts(spread: MountPropagationFlags) -> io::Result<()> {
    namespaces::unshare(namespaces::MOUNT)?;
    Ok(rustix::mount::mount_change("/", spread | MountPropagationFlags::REC)?)
}

/// Makes `root` the root of the file system and lets go of the old one.
pub fn change_root(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // The old root is put upon the new one and taken off at once.
    rustix::process::pivot_root(".", ".")?;
    unmount(".")?;
    std::env::set_current_dir("/")
}

/// Makes `root` the root directory of this process.
pub fn enter_root(root: &Path) -> io::Result<()> {
    std::os::unix::fs::chroot(root)?;
    std::env::set_current_dir("/")
}

impl<'a> Visit<'a> {
    /// Mounts a file system of a kind; what comes after it in the list needs it.
    pub fn mount(&mut self, target: &'a CStr, kind: &'a CStr, options: &'a CStr) -> Number {
        let [source, target, kind, options] =
            [c"none", target, kind, options].map(|text| text.as_ptr() as u64);
        // SAFETY: the texts outlive the list.
        let mounted = unsafe { self.call(libc::SYS_mount, &[source, target, kind, 0, options]) };
        self.needed();
        mounted
    }

    /// [`character_device`]: makes it, and if that goes well gives everybody leave.
    pub fn character_device(&mut self, path: &'a CStr, (major, minor): (u32, u32)) -> [Number; 2] {
        let (here, path) = (libc::AT_FDCWD as u64, path.as_ptr() as u64);
        let (device, everybody) = (rustix::fs::makedev(major, minor), u64::from(EVERYBODY));
        let kind = u64::from(libc::S_IFCHR) | everybody;
        // SAFETY: the path outlives the list.
        let made = unsafe { self.call(libc::SYS_mknodat, &[here, path, kind, device]) };
        self.needed();
        // The mask of this process took the leave to write from all but root.
        // SAFETY: as above.
        [made, unsafe { self.call(libc::SYS_fchmodat, &[here, path, everybody]) }]
    }
}

/// One of the kernel's memory devices, which everybody may read and write, under this path.
pub fn memory_device(path: &Path, minor: u32) -> io::Result<()> {
    character_device(path, (MEMORY, minor))
}

/// A character device by its major and minor number, which everybody may read and write, under this path.
pub fn character_device(path: &Path, numbers: (u32, u32)) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut visit = Visit::new();
    let calls = visit.character_device(&path, numbers);
    let results = visit.carry_out()?;
    calls.into_iter().try_for_each(|call| results.of(call).map(drop))
}
