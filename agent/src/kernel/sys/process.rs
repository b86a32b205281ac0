//! Processes: who this one is, whom it starts, watches and ends.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{self as rx, Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions};

pub use rustix::process::Signal;

use super::{check, files, signals};

/// Tells a keeper without a pid namespace that the launcher is gone.
pub const PARENT_DIED: Signal = Signal::USR1;

/// How a process ended and what it used.
pub struct Usage {
    pub exit: i32,
    pub signal: Option<i32>,
    pub user_s: f64,
    pub system_s: f64,
    pub max_rss_kb: i64,
}

#[must_use]
pub fn is_root() -> bool {
    user() == 0
}

/// The effective user.
#[must_use]
pub fn user() -> u32 {
    rx::geteuid().as_raw()
}

/// The effective group.
#[must_use]
pub fn group() -> u32 {
    rx::getegid().as_raw()
}

#[must_use]
pub fn my_pid() -> u32 {
    std::process::id()
}

/// The number of a process as the kernel takes it.
fn numbered(pid: u32) -> io::Result<Pid> {
    let none =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is not the number of a process"));
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(none)
}

/// Leaves the session of the parent, so that its end and a terminal's signals are not this process's. It fails only for a group
/// leader, which then already stands alone.
pub fn leave_session() {
    let _alone = rx::setsid();
}

/// A process group of its own, led by this process.
pub fn lead_group() -> io::Result<()> {
    Ok(rx::setpgid(None, None)?)
}

/// Names this process as lists of processes show it: started from a file without a name it would be called `4`.
pub fn name(name: &CStr) {
    let _cosmetic = rustix::thread::set_name(name);
}

/// This signal comes when the thread that started this process is gone.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(rx::set_parent_process_death_signal(Some(signal))?)
}

/// Whether this process is a child of that one: one whose parent has ended is another one's.
#[must_use]
pub fn is_child_of(pid: u32) -> bool {
    rx::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() as u32 == pid)
}

/// Has this process killed when the thread of its parent that started it ends; fails if the parent has ended already.
pub fn end_with(parent: u32) -> io::Result<()> {
    die_with_parent(Signal::KILL)?;
    if is_child_of(parent) {
        return Ok(());
    }
    Err(io::Error::other("it is gone"))
}

/// Stops this process until somebody lets it go on, and lets a debugger of this user come to it.
pub fn hold() -> io::Result<()> {
    rx::set_dumpable_behavior(rx::DumpableBehavior::Dumpable)?;
    // Only a machine that guards processes of one user from each other (Yama) knows of it.
    let _unguarded = rx::set_ptracer(rx::PTracer::Any);
    Ok(rx::kill_process(rx::getpid(), Signal::STOP)?)
}

/// Orphaned grandchildren become this process's children.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rx::set_child_subreaper(Some(rx::getpid()))?)
}

/// Whether a process of this number is there, and has not ended.
#[must_use]
pub fn lives(pid: i32) -> bool {
    let asked = Pid::from_raw(pid).map(rx::test_kill_process);
    matches!(asked, Some(Ok(()) | Err(Errno::PERM))) && !is_zombie(pid)
}

/// Whether nobody has asked yet how it ended; a container's first process may do so late, or never.
fn is_zombie(pid: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return false };
    // Its name is in brackets, and may hold some itself.
    stat.rsplit(|byte| *byte == b')').next().is_some_and(|rest| rest.starts_with(b" Z"))
}

/// Asks another process to end; one that has gone is no harm.
pub fn ask_to_end(pid: u32) {
    let _gone = numbered(pid).map(|pid| rx::kill_process(pid, Signal::TERM));
}

/// Asks a process and the group that it leads to end, or tells them that their terminal is gone; one that has gone is no harm.
pub fn ask_group_to_end(leader: u32, hang_up: bool) {
    if let Ok(leader) = numbered(leader) {
        let _gone = rx::kill_process_group(leader, if hang_up { Signal::HUP } else { Signal::TERM });
    }
}

/// Kills `leader`, a child that was not waited for yet (with it, when it is pid 1 of a namespace, all inside), and the group that
/// it leads.
pub fn kill_group(leader: u32) {
    if let Ok(leader) = numbered(leader) {
        let _gone = (rx::kill_process_group(leader, Signal::KILL), rx::kill_process(leader, Signal::KILL));
    }
}

/// Kills every child that is left, and those it leaves behind.
pub fn kill_orphans() {
    let list = format!("/proc/self/task/{}/children", my_pid());
    while let Some(child) =
        fs::read_to_string(&list).ok().and_then(|text| text.split(' ').next()?.parse().ok())
    {
        kill_group(child);
        if wait(child).is_err() {
            break;
        }
    }
}

/// A process as a file that becomes readable when it ends.
pub fn open_process(pid: u32) -> io::Result<OwnedFd> {
    Ok(rx::pidfd_open(numbered(pid)?, PidfdFlags::empty())?)
}

/// Whether a child has ended; leaves it to be waited for.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    numbered(pid).is_ok_and(|pid| matches!(rx::waitid(WaitId::Pid(pid), how), Ok(Some(_))))
}

/// Waits for the end of a child.
pub fn wait(pid: u32) -> io::Result<Usage> {
    let mut status = 0;
    // SAFETY: plain data that lives through the call.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        check(libc::wait4(pid as i32, &raw mut status, 0, &raw mut usage))?;
        usage
    };
    Ok(Usage {
        exit: libc::WEXITSTATUS(status),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        max_rss_kb: usage.ru_maxrss,
    })
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

/// The keeper's life: waits for the kernel, returns its exit code (128 + signal when killed). All signals are blocked.
#[must_use]
pub fn keep(kernel: u32) -> i32 {
    loop {
        if signals::next_of(&[libc::SIGCHLD, PARENT_DIED.as_raw()]) == PARENT_DIED.as_raw() {
            kill_group(kernel);
        }
        while let Ok(Some((pid, status))) = rx::wait(WaitOptions::NOHANG) {
            if pid.as_raw_nonzero().get() as u32 == kernel {
                let killed = status.terminating_signal().map(|signal| 128 + signal);
                return killed.or(status.exit_status()).unwrap_or(0);
            }
        }
    }
}

/// Runs `prepare` in the new process just before it becomes the program. Call it in a process of one thread.
pub fn before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the launcher has one thread only, so the forked process may do what any process may.
    unsafe { command.pre_exec(prepare) };
}

/// The same in a process with other threads: `prepare` makes system calls, and neither allocates nor locks. What it needs
/// is made before: paths of fewer than 256 bytes, which are handed to the kernel without an allocation.
pub fn before_exec_beside_threads(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: nothing but system calls, by what is asked of it.
    unsafe { command.pre_exec(prepare) };
}

/// Splits this process in two: the parent gets the child's number, the child `None`. Call it before the first thread.
pub fn fork() -> io::Result<Option<u32>> {
    // SAFETY: the process has one thread, so the child may do what any process may.
    check(unsafe { libc::fork() }).map(|child| (child > 0).then_some(child as u32))
}

/// Tries something that cannot be undone, in a process of its own.
pub fn succeeds(attempt: impl FnOnce() -> io::Result<()>) -> bool {
    match fork() {
        Ok(None) => exit(i32::from(attempt().is_err())),
        Ok(Some(child)) => wait(child).is_ok_and(|usage| usage.exit == 0 && usage.signal.is_none()),
        Err(_) => false,
    }
}

/// Starts a child that does `work` in a session of its own, with nothing open but `keep` and with the ending signals
/// blocked, and ends. Call it before the first thread.
pub fn spawn_apart(keep: &OwnedFd, work: impl FnOnce()) -> io::Result<u32> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    if let Some(child) = fork()? {
        return Ok(child);
    }
    leave_session();
    let _already_closed = files::replace_standard(&nowhere);
    files::close_but(Some(keep.as_fd()));
    work();
    exit(0)
}

/// Ends this process at once.
pub fn exit(code: i32) -> ! {
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_has_ended_does_not_live_though_nobody_has_asked_for_it() -> io::Result<()> {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn()?;
        let pid = child.id() as i32;
        assert!(lives(pid));
        drop(child.stdin.take());
        let begun = Instant::now();
        while lives(pid) {
            assert!(begun.elapsed().as_secs() < 60, "it has ended, and still counts");
        }
        assert_eq!(Pid::from_raw(pid).map(rx::test_kill_process), Some(Ok(())), "nobody has asked for it");
        child.wait()?;
        assert!(!lives(pid));
        Ok(())
    }
}
