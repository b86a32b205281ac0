//! Threads for flows, at few system calls each: a virtual kernel charges the host as much for one as for four packets.
//!
//! The standard library asks for each thread's stack alone, guards it, and looks where it lies. Here stacks are cut from
//! pieces of memory that hold many, all present from the start. They have no guard: what a flow's thread calls is known and
//! shallow, and [`STACK_BYTES`] is many times what it takes.

use std::io;
use std::mem;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Of a thread, its thread-local storage included.
const STACK_BYTES: usize = 48 << 10;
/// Stacks of one piece of memory.
const STACKS: usize = 64;

/// What is left of the newest piece: where it begins, and how many stacks it still has.
static LEFT: Mutex<(usize, usize)> = Mutex::new((0, 0));

type Work = Box<dyn FnOnce() + Send>;

/// All threads take memory from one arena: with a second one each new thread would begin by asking the kernel for its own.
pub fn share_one_arena() {
    // SAFETY: only numbers are passed.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Starts a thread that nobody waits for.
///
/// # Errors
/// No memory for its stack, or one thread more than the kernel allows.
pub fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let stack = stack()?;
    let work: Box<Work> = Box::new(Box::new(work));
    let argument = Box::into_raw(work);
    // SAFETY: the attributes live through the calls; the stack is ours alone and never freed; the thread owns the argument.
    let outcome = unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        let mut thread: libc::pthread_t = mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstack(&raw mut attributes, stack as *mut libc::c_void, STACK_BYTES);
        let outcome = libc::pthread_create(&raw mut thread, &raw const attributes, begin, argument.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        outcome
    };
    if outcome != 0 {
        // SAFETY: no thread was made, so the argument is still ours.
        drop(unsafe { Box::from_raw(argument) });
        return Err(io::Error::from_raw_os_error(outcome));
    }
    Ok(())
}

extern "C" fn begin(argument: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: made by `spawn` for this thread alone.
    let work: Box<Work> = unsafe { Box::from_raw(argument.cast()) };
    work();
    ptr::null_mut()
}

/// The address of a stack that no other thread has or had.
fn stack() -> io::Result<usize> {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if left.1 == 0 {
        *left = (piece()?, STACKS);
    }
    left.1 -= 1;
    Ok(left.0 + left.1 * STACK_BYTES)
}

fn piece() -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::mmap(ptr::null_mut(), STACKS * STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(address as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn many_threads_each_have_their_own_stack() {
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
}
