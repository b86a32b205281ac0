//! A tiny assembler for eBPF (RFC 9669): enough for one straight program with forward jumps.

use crate::kernel::sys::bpf::Map;

/// A register; `FRAME` is the read-only frame pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reg(pub u8);

pub const R0: Reg = Reg(0);
pub const R1: Reg = Reg(1);
pub const R2: Reg = Reg(2);
pub const R3: Reg = Reg(3);
pub const R4: Reg = Reg(4);
pub const R6: Reg = Reg(6);
pub const R7: Reg = Reg(7);
pub const R8: Reg = Reg(8);
pub const R9: Reg = Reg(9);
pub const FRAME: Reg = Reg(10);

/// 64-bit arithmetic (`BPF_ALU64`).
#[derive(Debug, Clone, Copy)]
pub enum Alu {
    Add = 0x00,
    Mul = 0x20,
    And = 0x50,
    Lsh = 0x60,
    Rsh = 0x70,
    Xor = 0xa0,
    Mov = 0xb0,
}

/// What a 64-bit atomic operation does to memory (`BPF_ATOMIC`), and what it gives back.
#[derive(Debug, Clone, Copy)]
pub enum Atomic {
    /// Adds the register; gives nothing. On every kernel that has `BPF_MAP_TYPE_ARRAY`, as `BPF_XADD`.
    Add = 0x00,
    /// Adds the register, which becomes what was there before (Linux 5.12).
    FetchAdd = 0x01,
    /// Puts the register there if what is there equals R0, which becomes what was there before (Linux 5.12).
    CompareExchange = 0xf1,
}

/// Conditions of 64-bit unsigned jumps (`BPF_JMP`).
#[derive(Debug, Clone, Copy)]
pub enum When {
    Equal = 0x10,
    AtLeast = 0x30,
    NotEqual = 0x50,
    Below = 0xa0,
}

/// Sizes of memory accesses.
#[derive(Debug, Clone, Copy)]
pub enum Size {
    Word = 0x00,
    Double = 0x18,
}

/// Functions of the kernel that a program may call, by their numbers.
#[derive(Debug, Clone, Copy)]
pub enum Helper {
    MapLookupElem = 1,
    KtimeGetNs = 5,
    SkbLoadBytes = 26,
    /// Linux 5.8.
    RingbufOutput = 130,
}

const ALU64: u8 = 0x07;
const JMP: u8 = 0x05;
const LDX_MEM: u8 = 0x61;
const STX_MEM: u8 = 0x63;
const STX_ATOMIC_DOUBLE: u8 = 0xdb;
const ST_MEM: u8 = 0x62;
const LD_IMM64: u8 = 0x18;
const LD_ABS_BYTE: u8 = 0x30;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JA: u8 = 0x05;
const BY_REGISTER: u8 = 0x08;
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

/// A place to jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A program in the making.
#[derive(Debug, Default)]
pub struct Program {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Program {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn emit(&mut self, code: u8, dst: Reg, src: u8, offset: i16, immediate: i32) -> &mut Self {
        let registers = dst.0 | src << 4;
        let word = u64::from(code)
            | u64::from(registers) << 8
            | u64::from(offset as u16) << 16
            | u64::from(immediate as u32) << 32;
        self.code.push(word);
        self
    }

    /// A label without a place yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts a label here.
    pub fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = Some(self.code.len());
        self
    }

    /// `dst = dst op immediate`, sign-extended.
    pub fn alu(&mut self, op: Alu, dst: Reg, immediate: i32) -> &mut Self {
        self.emit(ALU64 | op as u8, dst, 0, 0, immediate)
    }

    /// `dst = dst op src`.
    pub fn alu_reg(&mut self, op: Alu, dst: Reg, src: Reg) -> &mut Self {
        self.emit(ALU64 | BY_REGISTER | op as u8, dst, src.0, 0, 0)
    }

    /// `dst = value`, all 64 bits.
    pub fn load_constant(&mut self, dst: Reg, value: u64) -> &mut Self {
        self.load_wide(dst, 0, value)
    }

    /// `dst = the map of this descriptor`.
    pub fn load_map(&mut self, dst: Reg, map: &Map) -> &mut Self {
        self.load_wide(dst, PSEUDO_MAP_FD, map.number())
    }

    /// `dst = the address of the only value in the array map of this descriptor`: no helper need be called for it.
    pub fn load_value(&mut self, dst: Reg, map: &Map) -> &mut Self {
        self.load_wide(dst, PSEUDO_MAP_VALUE, map.number())
    }

    fn load_wide(&mut self, dst: Reg, src: u8, value: u64) -> &mut Self {
        self.emit(LD_IMM64, dst, src, 0, value as i32).emit(0, Reg(0), 0, 0, (value >> 32) as i32)
    }

    /// `dst = *(src + offset)`.
    pub fn load(&mut self, size: Size, dst: Reg, src: Reg, offset: i16) -> &mut Self {
        self.emit(LDX_MEM | size as u8, dst, src.0, offset, 0)
    }

    /// `*(dst + offset) = src`.
    pub fn store(&mut self, size: Size, dst: Reg, offset: i16, src: Reg) -> &mut Self {
        self.emit(STX_MEM | size as u8, dst, src.0, offset, 0)
    }

    /// `*(dst + offset) = immediate`.
    pub fn store_constant(&mut self, size: Size, dst: Reg, offset: i16, immediate: i32) -> &mut Self {
        self.emit(ST_MEM | size as u8, dst, 0, offset, immediate)
    }

    /// `*(dst + offset) = *(dst + offset) op src`, 64 bits, at once for all CPUs.
    pub fn atomic(&mut self, op: Atomic, dst: Reg, offset: i16, src: Reg) -> &mut Self {
        self.emit(STX_ATOMIC_DOUBLE, dst, src.0, offset, op as i32)
    }

    /// `R0 = byte of the packet`; wants the context in R6 and spoils R1 to R5.
    pub fn load_packet_byte(&mut self, at: i32) -> &mut Self {
        self.emit(LD_ABS_BYTE, Reg(0), 0, 0, at)
    }

    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.emit(CALL, Reg(0), 0, 0, helper as i32)
    }

    pub fn exit(&mut self) -> &mut Self {
        self.emit(EXIT, Reg(0), 0, 0, 0)
    }

    pub fn jump(&mut self, to: Label) -> &mut Self {
        self.jumps.push((self.code.len(), to));
        self.emit(JA, Reg(0), 0, 0, 0)
    }

    pub fn jump_if(&mut self, when: When, dst: Reg, immediate: i32, to: Label) -> &mut Self {
        self.jumps.push((self.code.len(), to));
        self.emit(JMP | when as u8, dst, 0, 0, immediate)
    }

    pub fn jump_if_reg(&mut self, when: When, dst: Reg, src: Reg, to: Label) -> &mut Self {
        self.jumps.push((self.code.len(), to));
        self.emit(JMP | BY_REGISTER | when as u8, dst, src.0, 0, 0)
    }

    /// The finished instructions; `None` when a jump has no place to go or one too far away.
    #[must_use]
    pub fn assemble(mut self) -> Option<Vec<u64>> {
        for (at, label) in &self.jumps {
            let distance = self.labels[label.0]?.checked_sub(at + 1)?;
            self.code[*at] |= u64::from(i16::try_from(distance).ok()?.unsigned_abs()) << 16;
        }
        Some(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_rfc_9669_says() {
        let mut program = Program::new();
        program.alu_reg(Alu::Mov, R6, R1).alu(Alu::Add, R1, -1).load(Size::Double, R8, R7, 16).exit();
        let code = program.assemble().expect("no jumps");
        assert_eq!(code, [0x0000_0000_0000_16bf, 0xffff_ffff_0000_0107, 0x0000_0000_0010_7879, 0x95]);
    }

    #[test]
    fn atomic_operations_are_encoded_as_rfc_9669_says() {
        let mut program = Program::new();
        program.atomic(Atomic::Add, R7, 8, R1).atomic(Atomic::FetchAdd, R7, 0, R8);
        program.atomic(Atomic::CompareExchange, R7, 16, R9);
        let code = program.assemble().expect("no jumps");
        assert_eq!(code, [0x0000_0000_0008_17db, 0x0000_0001_0000_87db, 0x0000_00f1_0010_97db]);
    }

    #[test]
    fn jumps_count_from_the_next_instruction() {
        let mut program = Program::new();
        let end = program.label();
        program.jump_if(When::NotEqual, R0, 0, end).alu(Alu::Mov, R0, 0).place(end).exit();
        assert_eq!(program.assemble().expect("a place")[0], 0x0000_0000_0001_0055);
    }

    #[test]
    fn a_jump_to_nowhere_is_no_program() {
        let mut program = Program::new();
        let nowhere = program.label();
        program.jump(nowhere).exit();
        assert_eq!(program.assemble(), None);
    }
}
