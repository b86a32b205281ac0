//! Packets that pass devices: a program at each side of interest writes of every packet when, where and its first bytes to one
//! ring, which is read at each sample.

use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::bpf::{
    Alu, Atomic, Helper, Label, Program, Size, When, FRAME, R0, R1, R2, R3, R4, R6, R7,
};
use crate::kernel::netlink::u64_at;
use crate::kernel::sys::bpf::{Map, MapKind, Shape};
use crate::kernel::sys::ring::Ring;
use crate::path::Topology;
use crate::tc::classifier::{self, Side};
use crate::tc::Device;

/// Offsets in a record; behind `BYTES` are the first ones of the packet.
const AT: i16 = 0;
const WHERE: i16 = 8;
const NUMBER: i16 = 12;
const BYTES: i16 = 16;

/// Bytes of a link header.
const ETHERNET: i32 = 14;
/// `BPF_RB_NO_WAKEUP`: nobody sleeps for it, and an interrupt would be one more event in virtual time.
const NO_WAKEUP: i32 = 1;
/// `TC_ACT_UNSPEC`: the next filter decides.
const NEXT_FILTER: i32 = -1;
/// Offset of `len` in `struct __sk_buff`.
pub(super) const SKB_LEN: i16 = 0;

/// What is written, and for whom.
#[derive(Debug)]
pub(super) struct Kind {
    /// What the records are of, what a program is called, and who takes the kernel's help: all as messages say it.
    pub of: &'static str,
    pub program: &'static str,
    pub taker: &'static str,
    /// How many bytes of a packet are kept.
    pub kept: usize,
    /// The word of `struct __sk_buff` that is kept besides.
    pub number: i16,
    /// Room for records between two readings; it has to be a power of two.
    pub ring_bytes: usize,
}

/// One packet that leaves a device, or arrives at it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passage<'a> {
    /// On `CLOCK_MONOTONIC`.
    pub at_ns: i64,
    pub end: u32,
    pub side: Side,
    pub number: u32,
    /// With zeros behind a shorter packet.
    pub bytes: &'a [u8],
}

impl<'a> Passage<'a> {
    /// `None` where the record is not of these programs.
    fn read(record: &'a [u8], kept: usize) -> Option<Self> {
        let word = |at: i16| Some(u32::from_ne_bytes(*record.get(at as usize..)?.first_chunk()?));
        let place = word(WHERE)?;
        Some(Self {
            at_ns: u64_at(record, AT as usize)? as i64,
            end: place >> 1,
            side: if place & 1 == 0 { Side::Leaving } else { Side::Arriving },
            number: word(NUMBER)?,
            bytes: record.get(BYTES as usize..BYTES as usize + kept)?,
        })
    }
}

/// What the programs write to, and how many records found no room.
#[derive(Debug)]
pub(super) struct Passages {
    kind: &'static Kind,
    records: Map,
    ring: Ring,
    lost: Map,
}

impl Passages {
    /// # Errors
    /// A kernel without programs or ring buffers.
    pub fn open(kind: &'static Kind) -> Result<Self> {
        let of = kind.of;
        let lacking = |error: Error| {
            let takes = "CONFIG_BPF_SYSCALL with ring buffers, from Linux 5.8 on.";
            error.kind(UNSUPPORTED).hint(format!("{} {takes}", kind.taker))
        };
        let records = Map::create(Shape {
            kind: MapKind::Ring,
            key_size: 0,
            value_size: 0,
            max_entries: kind.ring_bytes,
        })
        .context(format_args!("create a ring for {of}"))
        .map_err(lacking)?;
        let lost = Map::create(Shape::of_one(8)).context("create a counter").map_err(lacking)?;
        let ring = Ring::map(records.fd(), kind.ring_bytes).context(format_args!("map the ring of {of}"))?;
        Ok(Self { kind, records, ring, lost })
    }

    /// Puts a program on the device of the end `at`, whose records say that it is `end`; `filter` goes to its label with what is
    /// not wanted. It finds the packet in R6, and may use the others.
    pub fn put(
        &self,
        topology: &mut Topology,
        at: usize,
        (end, side): (u32, Side),
        filter: impl FnOnce(&mut Program, Label),
    ) -> Result<()> {
        let own = topology.ends()[at].clone();
        let device = Device { name: &own.dev, ifindex: own.ifindex };
        let name = self.kind.program;
        let code = self
            .program((end, side), filter)
            .ok_or_else(|| Error::new("topology", format!("a {name}'s program does not assemble")))?;
        let program = classifier::load(&code, name)?;
        classifier::attach(&program, name, side, &device, topology.socket(&own.node)?)
            .map_err(|error| error.hint("The kernel needs CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS."))
    }

    /// R6 the packet, R7 its length and then how much of it is kept. It decides nothing about the packet.
    fn program(
        &self,
        (end, side): (u32, Side),
        filter: impl FnOnce(&mut Program, Label),
    ) -> Option<Vec<u64>> {
        let kept = self.kind.kept as i32;
        let record = BYTES + self.kind.kept as i16;
        // As it lies on the program's stack.
        let base = -record;
        let mut code = Program::new();
        let (fits, done) = (code.label(), code.label());
        code.alu_reg(Alu::Mov, R6, R1);
        filter(&mut code, done);
        for at in (0..record).step_by(8) {
            code.store_constant(Size::Double, FRAME, base + at, 0);
        }
        code.call(Helper::KtimeGetNs).store(Size::Double, FRAME, base + AT, R0);
        let place = i32::try_from(end << 1 | u32::from(side == Side::Arriving)).ok()?;
        code.store_constant(Size::Word, FRAME, base + WHERE, place);
        code.load(Size::Word, R1, R6, self.kind.number).store(Size::Word, FRAME, base + NUMBER, R1);
        code.load(Size::Word, R7, R6, SKB_LEN);
        // No frame is shorter; older verifiers want to see that the length below is not 0.
        code.jump_if(When::Below, R7, ETHERNET, done).jump_if(When::Below, R7, kept + 1, fits);
        code.alu(Alu::Mov, R7, kept).place(fits);
        code.alu_reg(Alu::Mov, R1, R6).alu(Alu::Mov, R2, 0);
        code.alu_reg(Alu::Mov, R3, FRAME).alu(Alu::Add, R3, (base + BYTES).into());
        code.alu_reg(Alu::Mov, R4, R7).call(Helper::SkbLoadBytes);
        code.load_map(R1, &self.records).alu_reg(Alu::Mov, R2, FRAME).alu(Alu::Add, R2, base.into());
        code.alu(Alu::Mov, R3, record.into()).alu(Alu::Mov, R4, NO_WAKEUP).call(Helper::RingbufOutput);
        code.jump_if(When::Equal, R0, 0, done);
        code.load_value(R1, &self.lost).alu(Alu::Mov, R2, 1).atomic(Atomic::Add, R1, 0, R2);
        code.place(done).alu(Alu::Mov, R0, NEXT_FILTER).exit();
        code.assemble()
    }

    /// Gives what was written since the last call to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&Passage) -> Result<()>) -> Result<()> {
        let kept = self.kind.kept;
        self.ring.drain(|record| Passage::read(record, kept).map_or(Ok(()), |passage| take(&passage)))
    }

    /// How many packets found no room.
    pub fn lost(&self) -> Result<u64> {
        let mut count = [0; 8];
        Map::get_each(&mut [(&self.lost, &mut count)])
            .context(format_args!("read the counter of lost {}", self.kind.of))?;
        Ok(u64_at(&count, 0).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_passed_where() {
        let mut record = vec![0; BYTES as usize + 8];
        record[..8].copy_from_slice(&7_u64.to_ne_bytes());
        record[8..12].copy_from_slice(&(5_u32 << 1 | 1).to_ne_bytes());
        record[12..16].copy_from_slice(&60_u32.to_ne_bytes());
        record[16] = 9;
        let passage = Passage::read(&record, 8).expect("a record");
        assert_eq!((passage.at_ns, passage.end, passage.side), (7, 5, Side::Arriving));
        assert_eq!((passage.number, passage.bytes), (60, &[9, 0, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(Passage::read(&record[..record.len() - 1], 8), None);
        assert_eq!(Passage::read(&record[..4], 8), None);
    }
}
