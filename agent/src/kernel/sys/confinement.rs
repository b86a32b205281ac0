//! What a process gives up for good: privileges, files by Landlock, system calls by seccomp.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::check;

/// Addresses are the same in every run.
pub fn personality_without_randomness() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) }).map(drop)
}

pub fn no_new_privileges() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Empties the bounding set, so that the program to be started has no capability even as root.
pub fn drop_capabilities() {
    // SAFETY: touches no memory; the first number beyond the last capability is refused.
    (0..64)
        .take_while(|&capability| unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0)
        .for_each(drop);
}

/// Version of the Landlock interface; 0 where there is none.
#[must_use]
pub fn landlock_abi() -> i64 {
    // SAFETY: with this flag no memory is read.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) }.max(0)
}

/// `rights`: handled file rights, network rights, scopes; the older interfaces take the first one or two only.
pub fn landlock_create(rights: [u64; 3], abi: i64) -> io::Result<OwnedFd> {
    let words = match abi {
        ..=3 => 1,
        4 | 5 => 2,
        _ => 3,
    };
    // SAFETY: so many words of the array are valid; the descriptor is owned from here on.
    unsafe {
        let size = words * size_of::<u64>();
        let fd = check(libc::syscall(libc::SYS_landlock_create_ruleset, rights.as_ptr(), size, 0))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

pub fn landlock_allow(rules: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed_access: u64,
        parent_fd: i32,
    }
    let parent = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let rule = PathBeneath { allowed_access: rights, parent_fd: parent.as_raw_fd() };
    // SAFETY: the structure lives through the call.
    check(unsafe { libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), 1, &raw const rule, 0) })
        .map(drop)
}

pub fn landlock_restrict(rules: &OwnedFd) -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) }).map(drop)
}

/// Whether this process may set a filter of system calls: an address of none is the only fault then (seccomp(2)).
#[must_use]
pub fn takes_filters() -> bool {
    let answer = set_filter(std::ptr::null());
    answer.is_err_and(|cause| cause.raw_os_error() == Some(libc::EFAULT))
}

pub fn install_filter(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    set_filter(&raw const program)
}

/// The same of a filter of which some calls wait for an answer: by the file that this gives.
pub fn install_asking_filter(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: the program lives through the call, which copies it; the descriptor is new and owned from here on.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

fn set_filter(program: *const libc::sock_fprog) -> io::Result<()> {
    // SAFETY: the program is none, which is refused, or one that lives through the call, which copies it.
    check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program, 0, 0) }).map(drop)
}
