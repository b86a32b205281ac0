//! What a serving process asks of the kernel: signals as a file, waiting, namespaces, a child that outlives it.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::{check, text};

/// What ends a serving process in order.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

#[must_use]
pub fn is_root() -> bool {
    user() == 0
}

/// The effective user.
#[must_use]
pub fn user() -> u32 {
    // SAFETY: cannot fail, touches no memory.
    unsafe { libc::geteuid() }
}

/// The signals that end a process, as a file that becomes readable. Call it before the first thread: threads inherit that
/// these signals do not interrupt them.
pub fn endings() -> io::Result<OwnedFd> {
    // SAFETY: the set is plain data that lives through the calls; the descriptor is new and owned from here.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in ENDING {
            libc::sigaddset(&raw mut set, signal);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()))?;
        check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC)).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

/// SIGTERM comes when the thread that started this process is gone.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) }).map(drop)
}

/// Waits until one of these files can be read, at most so long; says which can.
pub fn readable<const N: usize>(files: [&OwnedFd; N], wait_ns: i64) -> io::Result<[bool; N]> {
    let mut list = files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // Rounded up: a wait that is too short would turn around for nothing.
    let milliseconds = (wait_ns.max(0) + 999_999) / 1_000_000;
    // SAFETY: `list` is valid for its length.
    let result = unsafe {
        libc::poll(list.as_mut_ptr(), N as libc::nfds_t, i32::try_from(milliseconds).unwrap_or(i32::MAX))
    };
    match check(result) {
        Err(cause) if cause.kind() != io::ErrorKind::Interrupted => Err(cause),
        _ => Ok(list.map(|file| result > 0 && file.revents != 0)),
    }
}

/// Puts `by` in the place of file `number` (0, 1 or 2) and gives what was there.
pub fn take_standard(number: libc::c_int, by: &impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the copy is new and owned from here.
    unsafe {
        let taken =
            check(libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3)).map(|fd| OwnedFd::from_raw_fd(fd))?;
        check(libc::dup2(by.as_raw_fd(), number))?;
        Ok(taken)
    }
}

/// A mount namespace of this process's own: it sees what happens outside, and nothing it does is seen there.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: touches no memory; fails in a process with threads that share its folder, which changes nothing.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    flagged_mount("none", "/", "", libc::MS_REC | libc::MS_SLAVE)
}

/// A bare mount with flags (`MS_BIND`, `MS_MOVE`, …).
pub fn flagged_mount(source: &str, target: &str, kind: &str, flags: libc::c_ulong) -> io::Result<()> {
    let (source, target, kind) = (text(source)?, text(target)?, text(kind)?);
    // SAFETY: three valid strings that outlive the call.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, ptr::null()) })
        .map(drop)
}

/// Whether a process of this number is there.
#[must_use]
pub fn lives(pid: i32) -> bool {
    // SAFETY: signal 0 only asks.
    let result = unsafe { libc::kill(pid, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Starts a child that does `work` in a session of its own, with nothing open but `keep` and with the ending signals
/// blocked, and ends. Call it before the first thread.
pub fn spawn_apart(keep: &OwnedFd, work: impl FnOnce()) -> io::Result<i32> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    // SAFETY: the process has one thread, so the child may do what any process may.
    let child = check(unsafe { libc::fork() })?;
    if child > 0 {
        return Ok(child);
    }
    // SAFETY: touches no memory but this process's own, which is a copy.
    unsafe {
        libc::setsid();
        for number in 0..3 {
            libc::dup2(nowhere.as_raw_fd(), number);
        }
    }
    close_but(Some(keep.as_raw_fd()));
    work();
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(0) }
}

/// Closes all files but the standard ones and `kept`, or all without exception; what stayed open would keep others waiting for
/// this process, or this one for itself. Call it where nothing that is open will be used again.
pub fn close_but(kept: Option<libc::c_int>) {
    let (first, kept) = kept.map_or((0, -1), |kept| (3, kept));
    let range = |first: libc::c_int, last: libc::c_uint| {
        // SAFETY: touches no memory; nothing in this process uses those files any more.
        first as libc::c_uint > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    let below = kept < first || range(first, kept as libc::c_uint - 1);
    if below && range(first.max(kept + 1), libc::c_uint::MAX) {
        return;
    }
    // Linux before 5.9, or a filter that does not know the call.
    for number in open_files().into_iter().filter(|number| *number >= first && *number != kept) {
        // SAFETY: as above; closing what is not open only fails.
        unsafe { libc::close(number) };
    }
}

/// The files that this process has open; where nothing tells that, all that it could have.
fn open_files() -> Vec<libc::c_int> {
    /// A file may have been opened when the limit was higher than it is now.
    const USUAL: u64 = 1 << 16;
    const MOST: u64 = 1 << 20;
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        return entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (0..limit.rlim_max.clamp(USUAL, MOST) as libc::c_int).collect()
}

/// Names this process as lists of processes show it: started from a file without a name it would be called `4`.
pub fn name(name: &std::ffi::CStr) {
    // SAFETY: the text ends with a zero and outlives the call.
    let _cosmetic = unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Ends this process at once.
pub fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(code) }
}

/// Has this process killed when the thread of its parent that started it ends; fails if the parent has ended already.
pub fn end_with(parent: u32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() as u32 != parent {
            return Err(io::Error::other("it is gone"));
        }
    }
    Ok(())
}

/// Asks another process to end.
pub fn ask_to_end(pid: u32) {
    // SAFETY: no memory is passed; a process that has gone is no harm.
    unsafe { libc::kill(pid as i32, libc::SIGTERM) };
}
