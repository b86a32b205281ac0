//! CPUs: where a thread runs, in which order, and how often it lost its turn.

use std::io;
use std::mem;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::check;

/// Beyond what any kernel can have (`NR_CPUS` is 8192 at most).
const FAR_CPU: usize = 1 << 16;

/// Lets this thread, and those that it starts, run on these CPUs only.
///
/// # Errors
/// None of them is a CPU of this machine.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    const BITS: usize = u64::BITS as usize;
    let farthest = cpus.iter().max().copied().unwrap_or(0);
    if farthest >= FAR_CPU {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no CPU {farthest}")));
    }
    // As many words as it takes: the C library's own set ends at 1023.
    let mut set = vec![0_u64; farthest / BITS + 1];
    for cpu in cpus {
        set[cpu / BITS] |= 1 << (cpu % BITS);
    }
    // SAFETY: the set is valid for its size and lives through the call.
    check(unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set[..]), set.as_ptr().cast()) }).map(drop)
}

/// CPUs that this machine has, whether this process may use them or not; they carry packets all the same.
#[must_use]
pub fn configured() -> usize {
    // SAFETY: no memory is passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1)
}

/// This thread comes before all that have no deadline to keep; with `false` it is among them again. Says whether it is allowed
/// to.
#[must_use]
pub fn come_first(first: bool) -> bool {
    if first { schedule(libc::SCHED_RR, 1) } else { schedule(libc::SCHED_OTHER, 0) }.is_ok()
}

/// From here on the threads of this process, and what it starts, have the processor in the order in which they become ready,
/// before all that is not of this kind; none is put off for having had it before.
pub fn run_in_order() -> io::Result<()> {
    schedule(libc::SCHED_FIFO, 1)
}

/// The program gives way to all threads of [`run_in_order`], which it would inherit: one that asks again and again whether
/// something has happened would keep what it waits for from happening.
pub fn gives_way(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| schedule(libc::SCHED_OTHER, 0)) }
}

/// Of this thread, and of those that it starts.
fn schedule(policy: libc::c_int, sched_priority: libc::c_int) -> io::Result<()> {
    let priority = libc::sched_param { sched_priority };
    // SAFETY: the parameters live through the call; 0 is this thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const priority) }).map(drop)
}

/// How often threads of this process gave their CPU up, and how often it was taken from them.
pub fn switches() -> io::Result<(i64, i64)> {
    // SAFETY: `usage` is plain data that lives through the call.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        check(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage))?;
        Ok((usage.ru_nvcsw, usage.ru_nivcsw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_any_number_are_taken_or_refused() {
        assert!(pin(&[1024]).is_err(), "no machine that runs tests has it");
        assert!(pin(&[usize::MAX]).is_err());
        let allowed = std::fs::read_to_string("/proc/thread-self/status").expect("a status");
        let first = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
        let first =
            first.trim().split([',', '-']).next().and_then(|word| word.parse().ok()).expect("a number");
        pin(&[first, 5000]).expect("one of them is there");
    }
}
