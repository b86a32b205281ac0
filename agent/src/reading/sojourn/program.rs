//! The program that stamps packets, and the record it writes.

use crate::kernel::bpf::{Alu, Atomic, Program, Size, When, FRAME, R0, R1, R2, R3, R4, R6, R7};
use crate::kernel::netlink::u64_at;
use crate::kernel::sys::bpf::Map;
use crate::tc::classifier::Side;

/// Of each packet so much is kept: Ethernet (14), IPv6 (40), TCP with a time stamp (32), and what tells datagrams apart.
pub(super) const KEPT: usize = 96;
/// Offsets in a record.
const AT: i16 = 0;
const WHERE: i16 = 8;
const LENGTH: i16 = 12;
const BYTES: i16 = 16;
pub(super) const RECORD: usize = BYTES as usize + KEPT;
/// A record as it lies on the program's stack.
const BASE: i16 = -(RECORD as i16);

const HELPER_KTIME_GET_NS: i32 = 5;
const HELPER_SKB_LOAD_BYTES: i32 = 26;
const HELPER_RINGBUF_OUTPUT: i32 = 130;
/// `BPF_RB_NO_WAKEUP`: nobody sleeps for it, and an interrupt would be one more event in virtual time.
const NO_WAKEUP: i32 = 1;
/// Bytes of a link header.
const ETHERNET: i32 = 14;
/// Offset of `len` in `struct __sk_buff`.
const SKB_LEN: i16 = 0;
/// `TC_ACT_UNSPEC`: the next filter decides.
const NEXT_FILTER: i32 = -1;

/// One packet at one side of a queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passage<'a> {
    /// On `CLOCK_MONOTONIC`.
    pub at_ns: i64,
    pub end: u32,
    pub side: Side,
    /// Of the whole frame.
    pub length: u32,
    pub bytes: &'a [u8],
}

impl<'a> Passage<'a> {
    /// `None` where the record is not of this program.
    pub(super) fn read(record: &'a [u8]) -> Option<Self> {
        let word = |at: i16| Some(u32::from_ne_bytes(*record.get(at as usize..)?.first_chunk()?));
        let (place, length) = (word(WHERE)?, word(LENGTH)?);
        let kept = (length as usize).min(KEPT);
        Some(Self {
            at_ns: u64_at(record, AT as usize)? as i64,
            end: place >> 1,
            side: if place & 1 == 0 { Side::Leaving } else { Side::Arriving },
            length,
            bytes: record.get(BYTES as usize..BYTES as usize + kept)?,
        })
    }
}

/// R6 the packet, R7 its length and then how much of it is kept. It decides nothing about the packet.
pub(super) fn program((end, side): (u32, Side), records: &Map, lost: &Map) -> Option<Vec<u64>> {
    let mut code = Program::new();
    let (fits, done) = (code.label(), code.label());
    code.alu_reg(Alu::Mov, R6, R1);
    for at in (0..RECORD as i16).step_by(8) {
        code.store_constant(Size::Double, FRAME, BASE + at, 0);
    }
    code.call(HELPER_KTIME_GET_NS).store(Size::Double, FRAME, BASE + AT, R0);
    let place = i32::try_from(end << 1 | u32::from(side == Side::Arriving)).ok()?;
    code.store_constant(Size::Word, FRAME, BASE + WHERE, place);
    code.load(Size::Word, R7, R6, SKB_LEN).store(Size::Word, FRAME, BASE + LENGTH, R7);
    // No frame is shorter; older verifiers want to see that the length below is not 0.
    code.jump_if(When::Below, R7, ETHERNET, done).jump_if(When::Below, R7, KEPT as i32 + 1, fits);
    code.alu(Alu::Mov, R7, KEPT as i32).place(fits);
    code.alu_reg(Alu::Mov, R1, R6).alu(Alu::Mov, R2, 0);
    code.alu_reg(Alu::Mov, R3, FRAME).alu(Alu::Add, R3, (BASE + BYTES).into()).alu_reg(Alu::Mov, R4, R7);
    code.call(HELPER_SKB_LOAD_BYTES);
    code.load_map(R1, records).alu_reg(Alu::Mov, R2, FRAME).alu(Alu::Add, R2, BASE.into());
    code.alu(Alu::Mov, R3, RECORD as i32).alu(Alu::Mov, R4, NO_WAKEUP).call(HELPER_RINGBUF_OUTPUT);
    code.jump_if(When::Equal, R0, 0, done);
    code.load_value(R1, lost).alu(Alu::Mov, R2, 1).atomic(Atomic::Add, R1, 0, R2);
    code.place(done).alu(Alu::Mov, R0, NEXT_FILTER).exit();
    code.assemble()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_who_passed_where() {
        let mut record = vec![0; RECORD];
        record[..8].copy_from_slice(&7_u64.to_ne_bytes());
        record[8..12].copy_from_slice(&(5_u32 << 1 | 1).to_ne_bytes());
        record[12..16].copy_from_slice(&60_u32.to_ne_bytes());
        let passage = Passage::read(&record).expect("a record");
        assert_eq!((passage.at_ns, passage.end, passage.side), (7, 5, Side::Arriving));
        assert_eq!((passage.length, passage.bytes.len()), (60, 60));
        assert_eq!(Passage::read(&record[..RECORD - 40]), None);
        assert_eq!(Passage::read(&record[..4]), None);
    }
}
