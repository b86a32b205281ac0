//! Threads for flows, at few system calls each: a virtual kernel charges the host as much for one as for four packets.
//!
//! The standard library asks for each thread's stack alone, guards it, and looks where it lies. Here stacks are cut from
//! pieces of memory that hold many. Below each lies a page that nobody may touch; of each what a flow's thread takes is present from
//! the start ([`TAKEN`]), and the rest, many times as much, when it is touched. A list of calls asks for all of that.

use std::io;
use std::mem;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::machine::{self, owns_kernel, page_size};
use super::visit::Visit;

/// Of a thread, its thread-local storage included; more where the C library wants more.
const STACK_BYTES: usize = 48 << 10;
/// What a thread of ours takes beyond what the C library wants for itself.
const OWN_BYTES: usize = 16 << 10;
/// Stacks of the first piece of memory; each further one has twice as many as the one before, [`STACKS`] at most. For most
/// experiments have few flows, and a stack that nobody takes costs as much as one in use.
const FIRST_STACKS: usize = 4;
/// As many as a word has bits.
const STACKS: usize = 64;
/// What threads of flows take of their stacks: 6152 bytes at most in the suite's quick cells.
const TAKEN: usize = 8 << 10;

static STACK_POOL: Mutex<Pool> = Mutex::new(Pool { pieces: Vec::new(), running: Vec::new() });

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

type Work = Box<dyn FnOnce() + Send>;

/// All stacks, and whose they are.
struct Pool {
    pieces: Vec<Piece>,
    /// Threads that have not been seen to end, each with the address of its stack.
    running: Vec<(libc::pthread_t, usize)>,
}

/// Memory for some stacks.
struct Piece {
    begin: usize,
    stacks: usize,
    /// A bit for each stack that no thread has.
    free: u64,
}

/// All threads take memory from one arena: with a second one each new thread would begin by asking the kernel for its own.
pub fn share_one_arena() {
    // SAFETY: only numbers are passed.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Starts a thread that nobody waits for; its stack is another one's after [`reap`].
///
/// # Errors
/// No memory for its stack, or one thread more than the kernel allows.
pub fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let stack = pool().take()?;
    let work: Box<Work> = Box::new(Box::new(work));
    let argument = Box::into_raw(work);
    match start(stack, argument.cast()) {
        Ok(thread) => {
            pool().running.push((thread, stack));
            Ok(())
        }
        Err(cause) => {
            pool().give_back(stack);
            // SAFETY: no thread was made, so the argument is still ours.
            drop(unsafe { Box::from_raw(argument) });
            Err(cause)
        }
    }
}

/// Takes back the stacks of threads that have ended, and gives memory back that none of them needs. Where many experiments
/// follow one another in one process, it is called between them.
pub fn reap() {
    let mut pool = pool();
    for (thread, stack) in mem::take(&mut pool.running) {
        // SAFETY: the thread was made joinable, and is joined once: here it leaves the list.
        if unsafe { libc::pthread_tryjoin_np(thread, ptr::null_mut()) } == 0 {
            pool.give_back(stack);
        } else {
            pool.running.push((thread, stack));
        }
    }
    pool.pieces.retain(|piece| {
        let unused = piece.free == every(piece.stacks);
        if unused {
            // SAFETY: the mapping is ours, and no thread runs on any part of it.
            unsafe { libc::munmap(piece.begin as *mut libc::c_void, piece.stacks * stride()) };
        }
        !unused
    });
}

/// A joinable thread on this stack.
fn start(stack: usize, argument: *mut libc::c_void) -> io::Result<libc::pthread_t> {
    let (bottom, bytes) = (stack + page_size(), stride() - page_size());
    let checked = |code| if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    // SAFETY: the attributes live through the calls; the stack is this thread's alone until it has ended; the thread owns the
    // argument.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        let mut thread: libc::pthread_t = mem::zeroed();
        checked(libc::pthread_attr_init(&raw mut attributes))?;
        let outcome =
            checked(libc::pthread_attr_setstack(&raw mut attributes, bottom as *mut libc::c_void, bytes))
                .and_then(|()| {
                    checked(libc::pthread_create(&raw mut thread, &raw const attributes, begin, argument))
                });
        libc::pthread_attr_destroy(&raw mut attributes);
        outcome.map(|()| thread)
    }
}

extern "C" fn begin(argument: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: made by `spawn` for this thread alone.
    let work = *unsafe { Box::from_raw(argument.cast::<Work>()) };
    work();
    ptr::null_mut()
}

/// From the begin of a stack to that of the next; a page at the begin is the guard.
fn stride() -> usize {
    // SAFETY: only a number is passed.
    let least = usize::try_from(unsafe { libc::sysconf(libc::_SC_THREAD_STACK_MIN) }).unwrap_or(0);
    STACK_BYTES.max(least + OWN_BYTES).next_multiple_of(page_size()) + page_size()
}

fn pool() -> MutexGuard<'static, Pool> {
    STACK_POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A stack that no other thread has.
    fn take(&mut self) -> io::Result<usize> {
        if self.pieces.iter().all(|piece| piece.free == 0) {
            let stacks = STACKS.min(FIRST_STACKS << self.pieces.len().min(8));
            self.pieces.push(Piece { begin: piece(stacks)?, stacks, free: every(stacks) });
        }
        let piece = self.pieces.iter_mut().find(|piece| piece.free != 0);
        let piece = piece.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let number = piece.free.trailing_zeros();
        piece.free &= !(1 << number);
        Ok(piece.begin + number as usize * stride())
    }

    fn give_back(&mut self, stack: usize) {
        let of = |piece: &&mut Piece| (piece.begin..piece.begin + piece.stacks * stride()).contains(&stack);
        if let Some(piece) = self.pieces.iter_mut().find(of) {
            piece.free |= 1 << ((stack - piece.begin) / stride());
        }
    }
}

/// A bit for each of so many stacks.
const fn every(stacks: usize) -> u64 {
    u64::MAX >> (STACKS - stacks)
}

/// Memory for stacks, each with its guard.
fn piece(stacks: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    let size = stacks * stride();
    // SAFETY: a new mapping at an address of the kernel's choice.
    let begin =
        unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if begin == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut visit = Visit::new();
    for stack in (begin as usize..begin as usize + size).step_by(stride()) {
        // SAFETY: parts of the mapping, which nobody has yet.
        unsafe {
            visit.call(libc::SYS_mprotect, &[stack as u64, page_size() as u64, libc::PROT_NONE as u64])
        };
        visit.needed();
        if owns_kernel() {
            let taken = [(stack + stride() - TAKEN) as u64, TAKEN as u64, machine::WRITE as u64];
            // SAFETY: only makes present what is mapped.
            unsafe { visit.call(libc::SYS_madvise, &taken) };
        }
    }
    if let Err(cause) = visit.carry_out().and_then(|done| done.check()) {
        // SAFETY: the mapping is ours, and nobody has any part of it.
        unsafe { libc::munmap(begin, size) };
        return Err(cause);
    }
    Ok(begin as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    /// They count stacks, which all tests share.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn many_threads_each_have_their_own_stack() {
        let _alone = alone();
        let (tell, told) = mpsc::channel();
        for number in 0..3 * STACKS {
            let tell = tell.clone();
            spawn(move || {
                let own = [number; 512];
                let _unheard = tell.send(std::hint::black_box(own).iter().sum::<usize>() / 512);
            })
            .expect("a thread");
        }
        drop(tell);
        let mut numbers: Vec<usize> = told.iter().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..3 * STACKS).collect::<Vec<_>>());
    }

    /// Where this thread's stack ends, and what may be done with what lies below.
    fn below() -> String {
        let here = 0_u8;
        let here = &raw const here as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let mut before = String::new();
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').expect("a range");
            let (begin, end) = range.split_once('-').expect("a range");
            let number = |text| usize::from_str_radix(text, 16).expect("an address");
            if (number(begin)..number(end)).contains(&here) {
                assert!(here - number(begin) < stride(), "{line}: more than one stack");
                return before;
            }
            before = format!("{end} {}", &rest[..4]);
            assert!(number(begin) <= here, "no mapping has {here:x}");
        }
        before
    }

    #[test]
    fn what_lies_below_a_stack_cannot_be_written_to() {
        let _alone = alone();
        let (tell, told) = mpsc::channel();
        for _ in 0..2 {
            let tell = tell.clone();
            spawn(move || drop(tell.send(below()))).expect("a thread");
        }
        drop(tell);
        for below in told {
            assert!(below.ends_with(" ---p"), "{below}");
        }
    }

    #[test]
    fn stacks_of_threads_that_have_ended_are_used_again_and_given_back() {
        let _alone = alone();
        for _ in 0..20 {
            let (tell, told) = mpsc::channel::<()>();
            for _ in 0..STACKS {
                let tell = tell.clone();
                spawn(move || drop(tell)).expect("a thread");
            }
            drop(tell);
            assert!(told.recv().is_err(), "all have ended, or nearly");
            reap();
            let pieces = pool().pieces.len();
            assert!(pieces <= 4, "{pieces} pieces of memory");
        }
        while !pool().running.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            reap();
        }
        assert!(pool().pieces.is_empty());
    }
}
