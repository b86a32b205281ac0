//! The system calls, as thin safe functions. The only file with `unsafe`.

pub mod bpf;
pub mod cpu;
pub mod ethtool;
pub mod filter_table;
pub mod keeping;
pub mod mapped;
pub mod packet;
pub mod process;
pub mod ring;
pub mod socket;
pub mod thread;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs before the standard library's own start, which gives every thread a second stack for reporting overflows where nothing
/// else catches SIGSEGV and SIGBUS: eight system calls a thread. The first process of a virtual kernel goes without; there an
/// overflow ends the kernel, and the console says so. An ignored fault kills all the same.
#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn spare_signal_stacks() {
        // SAFETY: no memory is passed; no other thread exists yet.
        unsafe {
            if libc::getpid() == 1 {
                libc::signal(libc::SIGSEGV, libc::SIG_IGN);
                libc::signal(libc::SIGBUS, libc::SIG_IGN);
            }
        }
    }
    spare_signal_stacks
};

fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    if value < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

fn check_size(value: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::last_os_error())
}

fn text(value: &str) -> io::Result<CString> {
    CString::new(value).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a name holds a zero byte"))
}

/// The size of the kernel's pages in bytes: 4096 on x86-64, up to 65536 elsewhere.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: no memory is passed; libc knows the answer from the process's start.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[must_use]
pub fn monotonic_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The clock of the kernel's packet stamps.
#[must_use]
pub fn realtime_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Time this thread has spent computing, in the kernel's name and in its own.
#[must_use]
pub fn thread_cpu_ns() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Sleeps until an absolute instant of `CLOCK_MONOTONIC`.
pub fn sleep_until(monotonic_ns: i64) {
    let at = libc::timespec {
        tv_sec: monotonic_ns.div_euclid(1_000_000_000),
        tv_nsec: monotonic_ns.rem_euclid(1_000_000_000),
    };
    loop {
        // SAFETY: `at` is a valid timespec; an absolute sleep gives no remainder.
        let result = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const at,
                std::ptr::null_mut(),
            )
        };
        if result != libc::EINTR {
            return;
        }
    }
}

/// Timers of this thread fire at most this late (the default of 50 µs would show in every interval).
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) }).map(drop)
}

/// This thread comes before all that have no deadline to keep; with `false` it is among them again. Says whether it is allowed
/// to.
#[must_use]
pub fn come_first(first: bool) -> bool {
    let (policy, priority) = if first { (libc::SCHED_RR, 1) } else { (libc::SCHED_OTHER, 0) };
    let priority = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters live through the call; 0 is this thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const priority) == 0 }
}

/// From here on the threads of this process, and what it starts, have the processor in the order in which they become ready,
/// before all that is not of this kind; none is put off for having had it before.
pub fn run_in_order() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters live through the call; 0 is this thread, and others inherit from it.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) }).map(drop)
}

/// The program gives way to all threads of [`run_in_order`], which it would inherit: one that asks again and again whether
/// something has happened would keep what it waits for from happening.
pub fn gives_way(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            let priority = libc::sched_param { sched_priority: 0 };
            check(libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const priority)).map(drop)
        })
    }
}

/// Lets this process hold `count` files open, or as many as it may: an ordinary user's hard limit cannot be raised, and what
/// is opened beyond it fails by itself.
pub fn allow_open_files(count: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    if limit.rlim_cur >= count {
        return Ok(());
    }
    let set = |rlim_cur: u64, rlim_max: u64| {
        let limit = libc::rlimit { rlim_cur, rlim_max };
        // SAFETY: `limit` is valid for reading.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
    };
    let most = limit.rlim_max;
    match set(count, most.max(count)) {
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) => set(most, most),
        other => other,
    }
}

pub fn mount(source: &str, target: &str, kind: &str, options: &str) -> io::Result<()> {
    let (source, target, kind, options) = (text(source)?, text(target)?, text(kind)?, text(options)?);
    // SAFETY: four valid strings that outlive the call.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) })
        .map(drop)
}

pub fn unmount(target: &str) -> io::Result<()> {
    let target = text(target)?;
    // SAFETY: a valid string that outlives the call.
    check(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Makes a character device.
pub fn character_device(path: &str, mode: u32, major: u32, minor: u32) -> io::Result<()> {
    let path = text(path)?;
    // SAFETY: a valid string that outlives the call.
    check(unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | mode, libc::makedev(major, minor)) }).map(drop)
}

/// Gives the kernel bytes for its random numbers and says that they are enough (`RNDADDENTROPY`, random(4)).
pub fn add_entropy(device: &File, bytes: [u8; 32], bits: i32) -> io::Result<()> {
    #[repr(C)]
    struct Pool {
        bits: libc::c_int,
        size: libc::c_int,
        bytes: [u8; 32],
    }
    const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;
    let pool = Pool { bits, size: 32, bytes };
    // SAFETY: the structure is a `struct rand_pool_info` with its bytes behind it and lives through the call.
    check(unsafe { libc::ioctl(device.as_raw_fd(), RNDADDENTROPY, &raw const pool) }).map(drop)
}

/// Makes the kernel's generator of random numbers begin anew from its pool, whatever was drawn before.
pub fn reseed(device: &File) -> io::Result<()> {
    const RNDRESEEDCRNG: libc::Ioctl = 0x5207;
    // SAFETY: no memory is passed.
    check(unsafe { libc::ioctl(device.as_raw_fd(), RNDRESEEDCRNG) }).map(drop)
}

pub fn power_off() -> ! {
    // SAFETY: no memory is passed.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    std::process::exit(0)
}

/// Whether this is the first process of a virtual kernel: nobody else's settings can be touched then, and time is virtual.
#[must_use]
pub fn owns_kernel() -> bool {
    std::process::id() == 1
}

/// Moves this thread into a new network namespace and gives the namespace as a file.
pub fn new_netns() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    current_netns()
}

pub fn current_netns() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Moves this thread into a network namespace. To stay where one is takes no privilege.
pub fn enter_netns(netns: RawFd) -> io::Result<()> {
    // SAFETY: the kernel checks the descriptor.
    match check(unsafe { libc::setns(netns, libc::CLONE_NEWNET) }) {
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) && is_here(netns)? => Ok(()),
        other => other.map(drop),
    }
}

/// Whether this thread is in that namespace.
fn is_here(netns: RawFd) -> io::Result<bool> {
    let about = |file: &str| std::fs::metadata(file).map(|about| (about.dev(), about.ino()));
    Ok(about(&format!("/proc/self/fd/{netns}"))? == about("/proc/thread-self/ns/net")?)
}

pub fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the descriptor is new and owned from here.
    unsafe {
        check(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol)).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

/// What [`set_option`] may hand to the kernel.
///
/// # Safety
/// The type holds no pointer, and no bytes that are not initialised: the kernel follows the one and reads the other.
pub unsafe trait Plain: Copy {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: a number.
unsafe impl Plain for u64 {}
// SAFETY: two numbers, without a gap.
unsafe impl Plain for libc::linger {}
// SAFETY: two numbers, without a gap.
unsafe impl Plain for libc::timeval {}
// SAFETY: numbers and their array, without a gap.
unsafe impl Plain for libc::packet_mreq {}

/// Sets a socket option of a plain type. Structures that lead the kernel elsewhere are none:
///
/// ```compile_fail
/// let socket = rushhour_agent::kernel::sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
/// let program = libc::sock_fprog { len: 1, filter: 8 as *mut libc::sock_filter };
/// rushhour_agent::kernel::sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program).unwrap();
/// ```
///
/// A number is one:
///
/// ```no_run
/// let socket = rushhour_agent::kernel::sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
/// rushhour_agent::kernel::sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1_i32).unwrap();
/// ```
pub fn set_option<T: Plain>(socket: &impl AsRawFd, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: a plain type leads nowhere else.
    unsafe { set_payload(socket, level, name, &value) }
}

/// Sets a socket option of any type.
///
/// # Safety
/// What pointers in the value lead to is valid for what the kernel does with it.
unsafe fn set_payload<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let (at, length) = (std::ptr::from_ref(value).cast(), mem::size_of::<T>() as u32);
    // SAFETY: `value` is valid for its own size; for the rest the caller answers.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, at, length) }).map(drop)
}

/// `TCP_CONGESTION`, by name.
pub fn set_congestion_control(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    let (at, length) = (name.as_ptr().cast(), name.len() as u32);
    // SAFETY: the name is valid for its length, and a name to the kernel.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, at, length)
    })
    .map(drop)
}

/// Fills `value` with a socket option that is as long.
///
/// # Errors
/// An option that takes an address in `value`, to write elsewhere; what the kernel says.
pub fn get_option_bytes(socket: &impl AsRawFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<()> {
    if (level, name) == (libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut length = value.len() as u32;
    // SAFETY: `value` is valid for `length`, which the kernel does not exceed.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    })
    .map(drop)
}

pub fn send(socket: &impl AsRawFd, data: &[u8], flags: i32) -> io::Result<usize> {
    // SAFETY: `data` is valid for its length.
    check_size(unsafe {
        libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), flags | libc::MSG_NOSIGNAL)
    })
}

pub fn receive(socket: &impl AsRawFd, data: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: `data` is valid for its length.
    check_size(unsafe { libc::recv(socket.as_raw_fd(), data.as_mut_ptr().cast(), data.len(), flags) })
}

/// A pipe that holds at least `size` bytes: its reading and its writing end.
pub fn pipe(size: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors, which are new and owned from here.
    let (from, to) = unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    // SAFETY: no memory is passed.
    check(unsafe { libc::fcntl(to.as_raw_fd(), libc::F_SETPIPE_SZ, size as libc::c_int) })?;
    Ok((from, to))
}

/// Moves at most `length` bytes from a file into a pipe without copying.
pub fn splice(from: &impl AsRawFd, to: &impl AsRawFd, length: usize) -> io::Result<usize> {
    let none = std::ptr::null_mut();
    // SAFETY: no offsets are passed.
    check_size(unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, length, 0) })
}

pub fn read(from: &impl AsRawFd, data: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `data` is valid for its length.
    check_size(unsafe { libc::read(from.as_raw_fd(), data.as_mut_ptr().cast(), data.len()) })
}

pub fn open_nonblocking(path: &std::path::Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}
