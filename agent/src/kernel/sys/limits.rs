//! What a process may have at most (`setrlimit`).

use std::io;

use rustix::io::Errno;
pub use rustix::process::Resource;
use rustix::process::{getrlimit, setrlimit, Rlimit};

/// Lets this process hold `count` files open, or as many as it may: an ordinary user's hard limit cannot be raised, and what
/// is opened beyond it fails by itself.
pub fn allow_open_files(count: u64) -> io::Result<()> {
    // A limit of `None` is no limit.
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else { return Ok(()) };
    if current >= count {
        return Ok(());
    }
    let set = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum });
    match set(Some(count), maximum.map(|most| most.max(count))) {
        Err(Errno::PERM) => Ok(set(maximum, maximum)?),
        other => Ok(other?),
    }
}

/// The highest number of open files that this process could allow itself; `None`: any.
pub(super) fn most_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Allows this process no more than this of a resource, from now on.
pub fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let allowed = Some(getrlimit(resource).maximum.map_or(value, |most| most.min(value)));
    Ok(setrlimit(resource, Rlimit { current: allowed, maximum: allowed })?)
}

/// The C library gets no heap (`brk`) and takes all memory by `mmap`.
pub fn forbid_heap() -> io::Result<()> {
    // A limit of 0 is special: it forbids the heap, and the hard limit counts for the rest (mm/mmap.c, may_expand_vm).
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    Ok(setrlimit(Resource::Data, Rlimit { current: Some(0), maximum })?)
}

/// Any amount of memory may be locked.
pub(super) fn allow_locked_memory() -> io::Result<()> {
    Ok(setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None })?)
}
