//! CPUs: where a thread runs, and how much this process has had.

use std::io;
use std::mem;

use super::{check, clock_ns};

/// Lets this thread, and those that it starts, run on these CPUs only.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: the set is plain data that lives through the calls; `CPU_SET` ignores numbers beyond it.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        check(libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &raw const set)).map(drop)
    }
}

/// CPUs that this machine has, whether this process may use them or not; they carry packets all the same.
#[must_use]
pub fn configured() -> usize {
    // SAFETY: no memory is passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1)
}

/// CPU time of all threads of this process so far, those included that have ended.
#[must_use]
pub fn process_ns() -> i64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this thread so far.
#[must_use]
pub fn thread_ns() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
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
