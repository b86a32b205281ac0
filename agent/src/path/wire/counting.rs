//! What a wire's program counts in the state that all CPUs share.
//!
//! A device's egress is run by as many CPUs at once as send through it: the next number and the last stamp are taken by
//! atomic operations, or two packets would have one number, one fate, and losses that no other run repeats. Kernels before
//! 5.12 have none that give a value back; there is no other way to be exact on them than one CPU, or a [`crate::path::line`].

use super::{COUNTER, LAST_STAMP, LOST};
use crate::kernel::bpf::{Alu, Atomic, Program, Size, When, R0, R1, R7, R8, R9};

/// How often a stamp is tried to be set before it is taken as it is: each failure is another CPU's success.
const TRIES: usize = 16;

/// How the state is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Exactly, however many CPUs send (Linux 5.12).
    Atomic,
    /// By reading and writing: exact on one CPU.
    Plain,
}

impl Counting {
    /// `R8` = the packet's number, which no other packet has.
    pub fn take_number(self, code: &mut Program) {
        match self {
            Self::Atomic => {
                code.alu(Alu::Mov, R8, 1).atomic(Atomic::FetchAdd, R7, COUNTER, R8);
            }
            Self::Plain => {
                code.load(Size::Double, R8, R7, COUNTER).alu_reg(Alu::Mov, R1, R8).alu(Alu::Add, R1, 1);
                code.store(Size::Double, R7, COUNTER, R1);
            }
        }
    }

    /// `R9` = the later one of `R9` and the last stamp, which it then is.
    pub fn keep_order(self, code: &mut Program) {
        let done = code.label();
        code.load(Size::Double, R0, R7, LAST_STAMP);
        for _ in 0..if self == Self::Atomic { TRIES } else { 1 } {
            let later = code.label();
            code.jump_if_reg(When::AtLeast, R9, R0, later).alu_reg(Alu::Mov, R9, R0).place(later);
            match self {
                Self::Atomic => {
                    code.alu_reg(Alu::Mov, R1, R0).atomic(Atomic::CompareExchange, R7, LAST_STAMP, R9);
                    code.jump_if_reg(When::Equal, R0, R1, done);
                }
                Self::Plain => drop(code.store(Size::Double, R7, LAST_STAMP, R9)),
            }
        }
        code.place(done);
    }
}

/// One more packet is lost.
pub(super) fn count_loss(code: &mut Program) {
    code.alu(Alu::Mov, R1, 1).atomic(Atomic::Add, R7, LOST, R1);
}
