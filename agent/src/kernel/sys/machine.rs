//! The machine as a whole: its random numbers, its power, its memory's pages.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

use rustix::system::RebootCommand;

use super::check;

/// Whether this is the first process of a virtual kernel: nobody else's settings can be touched then, and time is virtual.
#[must_use]
pub fn owns_kernel() -> bool {
    static OWNS: OnceLock<bool> = OnceLock::new();
    *OWNS.get_or_init(|| std::process::id() == 1)
}

/// The size of the kernel's pages in bytes: 4096 on x86-64, up to 65536 elsewhere.
#[must_use]
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Has this program's pages at hand before they are used, as far as most experiments use them: all of its code and data, some of
/// its stack and heap. In a virtual kernel each page that is missed costs three visits to the host, all together cost a few.
/// Where the kernel cannot (before Linux 5.14), they come one by one.
pub fn have_pages_ready() {
    const STACK: usize = 48 << 10;
    // Tables, readings, and what is told at the end.
    const HEAP: usize = 640 << 10;
    extern "C" {
        // By the linker and the C library's start files: the first byte, the end of code, the begin of data, the end of all.
        static __executable_start: u8;
        static etext: u8;
        static __data_start: u8;
        static end: u8;
    }
    let here = 0_u8;
    let here = &raw const here as usize;
    ready(here - STACK..here, WRITE);
    // SAFETY: only addresses are asked for.
    unsafe {
        ready(&raw const __executable_start as usize..&raw const etext as usize, READ);
        ready(&raw const __data_start as usize..&raw const end as usize, WRITE);
        let heap = heap_begins(HEAP)..libc::sbrk(0) as usize;
        ready(heap.clone(), WRITE);
        let _first = AT_HAND.set(heap);
    }
}

/// Makes the heap larger by about so much at once, and keeps what is given back to it. Gives where it begins, or a little later.
fn heap_begins(more: usize) -> usize {
    // Below the size that gets a mapping of its own; two are more than the C library begins with.
    const PIECE: usize = 100 << 10;
    // SAFETY: memory that nobody else has, given back at once.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TOP_PAD, more as libc::c_int);
        let pieces = [(); 2].map(|()| std::hint::black_box(libc::malloc(PIECE)));
        for piece in pieces {
            libc::free(piece);
        }
        pieces[0] as usize
    }
}

/// The same of memory that will soon be written to.
pub fn have_ready<T>(memory: &[T]) {
    let Range { start, end } = memory.as_ptr_range();
    let (start, end) = (start as usize, end as usize);
    let at_hand = AT_HAND.get().is_some_and(|there| there.start <= start && end <= there.end);
    if owns_kernel() && !at_hand {
        ready(start..end, WRITE);
    }
}

/// The first of the heap, whose pages have been at hand since the begin.
static AT_HAND: OnceLock<Range<usize>> = OnceLock::new();

/// `MADV_POPULATE_READ` and `_WRITE`.
const READ: libc::c_int = 22;
pub(super) const WRITE: libc::c_int = 23;

fn ready(addresses: Range<usize>, how: libc::c_int) {
    let from = addresses.start / page_size() * page_size();
    // SAFETY: only makes present what is mapped, and refuses the rest.
    unsafe { libc::madvise(from as *mut libc::c_void, addresses.end - from, how) };
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

/// From now on each system call of the other processes of a virtual kernel takes `ns` of virtual time, of this one none; 0: of
/// none. Before, none has a price (`lab/kernel/host/calls.c`).
///
/// # Errors
/// `InvalidInput`: this kernel was linked before there was a price.
pub fn set_price_of_calls(ns: u64) -> io::Result<()> {
    const RUSHHOUR_PRICE: libc::c_int = 0x5255_5348;
    // SAFETY: no memory is passed.
    check(unsafe { libc::prctl(RUSHHOUR_PRICE, ns, 0, 0, 0) }).map(drop)
}

pub fn power_off() -> ! {
    rustix::fs::sync();
    let _refused = rustix::system::reboot(RebootCommand::PowerOff);
    std::process::exit(0)
}
