//! Disturbances of set-up, for the tests of time zero: an agent that is built with the feature `disturb` does something random
//! between the steps of set-up, as the plan's `disturb` seeds it. An agent for use has nothing of it.

#[cfg(feature = "disturb")]
pub use active::{begin, end, here};

#[cfg(not(feature = "disturb"))]
pub use passive::{begin, end, here};

#[cfg(not(feature = "disturb"))]
mod passive {
    use crate::plan::Plan;

    pub const fn begin(_plan: &Plan) {}
    pub const fn here() {}
    pub const fn end() {}
}

#[cfg(feature = "disturb")]
mod active {
    use std::fs::File;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::kernel::sys;
    use crate::plan::Plan;

    /// Zero disturbs nothing.
    static STATE: AtomicU64 = AtomicU64::new(0);

    pub fn begin(plan: &Plan) {
        STATE.store(plan.disturb, Ordering::SeqCst);
        here();
    }

    pub fn end() {
        here();
        STATE.store(0, Ordering::SeqCst);
    }

    /// A number below `below`, by xorshift.
    fn next(below: u64) -> u64 {
        let mut state = STATE.load(Ordering::SeqCst);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        STATE.store(state, Ordering::SeqCst);
        (state >> 11) % below
    }

    /// Passes some time, reads some clocks, fails some calls, uses some memory. (Draws no random numbers:
    /// those of the kernel follow one after the other from its seed.)
    pub fn here() {
        if STATE.load(Ordering::SeqCst) == 0 {
            return;
        }
        for _ in 0..next(4) {
            something();
        }
    }

    fn something() {
        match next(7) {
            0 => sys::time::sleep_until(sys::time::monotonic_ns() + next(50_000_000) as i64),
            1 => (0..next(500)).for_each(|_| assert!(sys::time::monotonic_ns() > 0)),
            2 => (0..next(50)).for_each(|_| drop(File::open("/nothing"))),
            3 => (0..next(50)).for_each(|_| drop(File::open("/dev/null"))),
            4 => drop(vec![1_u8; next(1 << 20) as usize]),
            5 => drop(
                (0..next(20))
                    .map(|_| sys::socket::open(libc::AF_INET, libc::SOCK_STREAM, 0))
                    .collect::<Vec<_>>(),
            ),
            _ => sys::time::sleep_until(sys::time::monotonic_ns() + next(3000) as i64),
        }
    }
}
