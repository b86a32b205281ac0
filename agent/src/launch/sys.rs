//! The launcher's system calls: thin safe wrappers, and its only `unsafe` code.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub const NAMESPACES: i32 = libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
pub const MOUNT_NAMESPACE: i32 = libc::CLONE_NEWNS;
pub const USER_NAMESPACE: i32 = libc::CLONE_NEWUSER;
pub const KILL: i32 = libc::SIGKILL;
/// Tells a keeper without a pid namespace that the launcher is gone.
pub const PARENT_DIED: i32 = libc::SIGUSR1;
pub const CORE_SIZE: u32 = libc::RLIMIT_CORE;
pub const FILE_SIZE: u32 = libc::RLIMIT_FSIZE;
pub const OPEN_FILES: u32 = libc::RLIMIT_NOFILE;

/// How a process ended and what it used.
pub struct Usage {
    pub exit: i32,
    pub signal: Option<i32>,
    pub user_s: f64,
    pub system_s: f64,
    pub max_rss_kb: i64,
}

fn check<T: Into<i64> + Copy>(result: T) -> io::Result<T> {
    if result.into() < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

pub fn my_pid() -> u32 {
    std::process::id()
}

pub fn my_ids() -> (u32, u32) {
    // SAFETY: these calls cannot fail and touch no memory.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

pub fn parent() -> u32 {
    // SAFETY: cannot fail, touches no memory.
    unsafe { libc::getppid() as u32 }
}

/// A session of its own, so that a terminal's signals go to the controller only.
pub fn leave_session() {
    // SAFETY: touches no memory; fails only for a group leader, which then already stands alone.
    unsafe { libc::setsid() };
}

pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Runs `prepare` in the new process just before it becomes the program.
pub fn before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the launcher has one thread only, so the forked process may do what any process may.
    unsafe { command.pre_exec(prepare) };
}

pub fn fork() -> io::Result<i32> {
    // SAFETY: one thread only, as above.
    check(unsafe { libc::fork() })
}

/// Tries something that cannot be undone, in a process of its own.
pub fn succeeds(attempt: impl FnOnce() -> io::Result<()>) -> bool {
    match fork() {
        Ok(0) => exit(i32::from(attempt().is_err())),
        Ok(child) => wait(child as u32).is_ok_and(|usage| usage.exit == 0 && usage.signal.is_none()),
        Err(_) => false,
    }
}

pub fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(code) }
}

pub fn personality_without_randomness() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) }).map(drop)
}

/// The C library gets no heap (`brk`) and takes all memory by `mmap`.
pub fn forbid_heap() -> io::Result<()> {
    // A limit of 0 is special: it forbids the heap, and the hard limit counts for the rest (mm/mmap.c, may_expand_vm).
    // SAFETY: the structure lives through the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit))?;
        limit.rlim_cur = 0;
        check(libc::setrlimit(libc::RLIMIT_DATA, &raw const limit)).map(drop)
    }
}

pub fn pin(cpu: usize) -> io::Result<()> {
    crate::kernel::sys::cpu::pin(&[cpu])
}

pub fn limit(resource: u32, value: u64) -> io::Result<()> {
    // SAFETY: the structure lives through the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        check(libc::getrlimit(resource, &raw mut limit))?;
        limit.rlim_cur = value.min(limit.rlim_max);
        limit.rlim_max = limit.rlim_cur;
        check(libc::setrlimit(resource, &raw const limit)).map(drop)
    }
}

pub fn die_with_parent(signal: i32) -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) }).map(drop)
}

/// A mount namespace of this process's own, from which nothing spreads.
pub fn private_mounts() -> io::Result<()> {
    unshare(MOUNT_NAMESPACE)?;
    mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE)
}

pub fn mount_tmpfs(path: &Path) -> io::Result<()> {
    mount(c"none", &c_path(path)?, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV)
}

pub fn bind(source: &Path, target: &Path) -> io::Result<()> {
    mount(&c_path(source)?, &c_path(target)?, c"none", libc::MS_BIND)
}

/// Keeps the restrictions of the file system below, which an ordinary user must not lift.
pub fn bind_read_only(source: &Path, target: &Path) -> io::Result<()> {
    bind(source, target)?;
    let target = c_path(target)?;
    // SAFETY: the string and the structure live through the call.
    let kept = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        check(libc::statvfs(target.as_ptr(), &raw mut about))?;
        about.f_flag
            & (libc::ST_NOSUID | libc::ST_NODEV | libc::ST_NOEXEC | libc::ST_NOATIME | libc::ST_NODIRATIME)
    };
    mount(c"none", &target, c"none", libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY | kept)
}

/// Makes `root` the root of the file system and lets go of the old one.
pub fn change_root(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    // SAFETY: constant strings. The old root is put upon the new one and taken off at once.
    unsafe {
        check(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        check(libc::umount2(c".".as_ptr(), libc::MNT_DETACH))?;
    }
    std::env::set_current_dir("/")
}

/// The null device under another path.
pub fn null_device(path: &Path) -> io::Result<()> {
    // SAFETY: the string lives through the call.
    check(unsafe { libc::mknod(c_path(path)?.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 3)) })
        .map(drop)
}

/// Makes `root` the root directory of this process.
pub fn enter_root(root: &Path) -> io::Result<()> {
    std::os::unix::fs::chroot(root)?;
    std::env::set_current_dir("/")
}

fn mount(
    source: &std::ffi::CStr,
    target: &std::ffi::CStr,
    kind: &std::ffi::CStr,
    flags: u64,
) -> io::Result<()> {
    // SAFETY: all strings end with zero and live through the call.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) })
        .map(drop)
}

pub fn block_signals() -> io::Result<()> {
    change_signals(libc::SIG_SETMASK, |set| {
        // SAFETY: the set is valid.
        unsafe { libc::sigfillset(set) };
    })
}

pub fn unblock_signals() -> io::Result<()> {
    change_signals(libc::SIG_SETMASK, |_| ())
}

fn change_signals(how: i32, fill: impl Fn(&mut libc::sigset_t)) -> io::Result<()> {
    // SAFETY: an all-zero set is an empty one; it lives through the call.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        fill(&mut set);
        check(libc::sigprocmask(how, &raw const set, std::ptr::null_mut())).map(drop)
    }
}

pub fn close_all_files() {
    crate::kernel::sys::process::close_but(None);
}

/// The keeper's life: waits for the kernel, returns its exit code (128 + signal when killed).
pub fn keep(kernel: i32) -> i32 {
    loop {
        // SAFETY: plain data that lives through the calls; all signals are blocked, so none is handled elsewhere.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigaddset(&raw mut set, PARENT_DIED);
            let mut signal = 0;
            libc::sigwait(&raw const set, &raw mut signal);
            if signal == PARENT_DIED {
                kill_group(kernel as u32);
            }
            let mut status = 0;
            loop {
                let pid = libc::waitpid(-1, &raw mut status, libc::WNOHANG);
                if pid == kernel && libc::WIFSIGNALED(status) {
                    return 128 + libc::WTERMSIG(status);
                } else if pid == kernel {
                    return libc::WEXITSTATUS(status);
                } else if pid <= 0 {
                    break;
                }
            }
        }
    }
}

/// A process group of its own, led by this process.
pub fn lead_group() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::setpgid(0, 0) }).map(drop)
}

/// Orphaned grandchildren become this process's children.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Kills every child that is left, and those it leaves behind.
pub fn kill_orphans() {
    let list = format!("/proc/self/task/{}/children", my_pid());
    while let Some(child) =
        std::fs::read_to_string(&list).ok().and_then(|text| text.split(' ').next()?.parse().ok())
    {
        kill_group(child);
        if wait(child).is_err() {
            break;
        }
    }
}

/// Kills `leader` (with it, when it is pid 1 of a namespace, all inside) and the group that it leads.
pub fn kill_group(leader: u32) {
    // SAFETY: touches no memory; the leader is our child and not yet waited for, so the number is still its own.
    unsafe {
        libc::kill(-(leader as i32), libc::SIGKILL);
        libc::kill(leader as i32, libc::SIGKILL);
    }
}

pub fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a new descriptor, owned from here on.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Which of the two can be read (or have hung up), after at most `limit`.
pub fn wait_readable(files: [BorrowedFd<'_>; 2], limit: Duration) -> [bool; 2] {
    let mut polls = files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // SAFETY: two valid entries.
    unsafe { libc::poll(polls.as_mut_ptr(), 2, limit.as_millis() as i32) };
    polls.map(|poll| poll.revents != 0)
}

/// Whether a child has ended; leaves it to be waited for.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: the structure lives through the call.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, pid, &raw mut info, flags) == 0 && info.si_pid() != 0
    }
}

/// Waits for the end of a child.
pub fn wait(pid: u32) -> io::Result<Usage> {
    // SAFETY: plain data that lives through the call.
    unsafe {
        let mut status = 0;
        let mut usage: libc::rusage = std::mem::zeroed();
        check(libc::wait4(pid as i32, &raw mut status, 0, &raw mut usage))?;
        Ok(Usage {
            exit: libc::WEXITSTATUS(status),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            max_rss_kb: usage.ru_maxrss,
        })
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Empties the bounding set, so that the program to be started has no capability even as root.
pub fn drop_capabilities() {
    // SAFETY: touches no memory; the first number beyond the last capability is refused.
    (0..64)
        .take_while(|&capability| unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0)
        .for_each(drop);
}

/// Version of the Landlock interface; 0 where there is none.
pub fn landlock_abi() -> i64 {
    // SAFETY: with this flag no memory is read.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) }.max(0)
}

/// `rights`: handled file rights, network rights, scopes; the older interfaces take the first one or two only.
pub fn landlock_create(rights: [u64; 3], abi: i64) -> io::Result<OwnedFd> {
    let size = size_of::<u64>()
        * if abi >= 6 {
            3
        } else if abi >= 4 {
            2
        } else {
            1
        };
    // SAFETY: `size` bytes of the array are valid; the descriptor is owned from here on.
    unsafe {
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
    // SAFETY: the string and the structure live through the calls; the descriptor is owned at once.
    unsafe {
        let fd = check(libc::open(c_path(path)?.as_ptr(), libc::O_PATH | libc::O_CLOEXEC))?;
        let parent = OwnedFd::from_raw_fd(fd);
        let rule = PathBeneath { allowed_access: rights, parent_fd: parent.as_raw_fd() };
        check(libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), 1, &raw const rule, 0)).map(drop)
    }
}

pub fn landlock_restrict(rules: &OwnedFd) -> io::Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) }).map(drop)
}

/// Whether this process may set a filter of system calls: an address of none is the only fault then (seccomp(2)).
pub fn takes_filters() -> bool {
    // SAFETY: a null pointer is refused.
    let answer = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            std::ptr::null::<libc::sock_fprog>(),
            0,
            0,
        )
    };
    answer < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

pub fn install_filter(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program lives through the call, which copies it.
    check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) })
        .map(drop)
}
