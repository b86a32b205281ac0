//! What a wire does to a packet, as a program of the kernel.

use super::counting;
use super::{
    mix, Element, AHEAD, CHANCE, DELAY, FACTOR, FACTOR_1, FACTOR_2, GAMMA, HOLD, JITTERS, SENT, SHIFT,
    THRESHOLD,
};
use crate::kernel::bpf::{Alu, Helper, Program, Size, When, FRAME, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use crate::kernel::sys::bpf::Map;
use crate::plan::Wire;

/// Offsets in `struct __sk_buff`; `wire_len` is what a queue counts, with the headers of each segment.
const SKB_TSTAMP: i16 = 152;
const SKB_WIRE_LEN: i16 = 160;
const TC_ACT_OK: i32 = 0;
const TC_ACT_STOLEN: i32 = 4;
/// Bit of the first byte of a hardware address that means "to many".
const MULTICAST_BIT: i32 = 1;

/// [`Pace::send`] and [`fate`] as a program: R6 the packet, R7 the state, R8 its number and then its dice, R9 its stamp,
/// R3 the settings. Where nothing is left to chance no dice are thrown: they are half of the program.
pub fn program(wire: &Wire, element: &Element) -> Option<Vec<u64>> {
    let mut code = Program::new();
    let (pass, lost, certain) = (code.label(), code.label(), code.label());
    code.alu_reg(Alu::Mov, R6, R1);
    code.load_packet_byte(0).alu(Alu::And, R0, MULTICAST_BIT).jump_if(When::NotEqual, R0, 0, pass);
    code.load_value(R7, &element.state);
    element.counting.take_number(&mut code);
    let settings = &element.settings;
    code.call(Helper::KtimeGetNs).alu_reg(Alu::Mov, R9, R0);
    if wire.serial.is_some() {
        send(&mut code, settings);
    }
    if let Some(drops) = &element.drops {
        code.store(Size::Double, FRAME, -16, R8);
        look_up(&mut code, drops, -16);
        code.jump_if(When::NotEqual, R0, 0, lost);
    }
    code.load_value(R3, settings).load(Size::Double, R1, R3, CHANCE).jump_if(When::Equal, R1, 0, certain);
    throw_dice(&mut code, wire.seed);
    code.load(Size::Double, R2, R3, THRESHOLD);
    code.alu_reg(Alu::Mov, R1, R8).alu(Alu::Rsh, R1, 32).jump_if_reg(When::Below, R1, R2, lost);
    add_jitter(&mut code);
    code.place(certain).load(Size::Double, R1, R3, DELAY).alu_reg(Alu::Add, R9, R1);
    if !wire.reorder {
        element.counting.keep_order(&mut code);
    }
    code.store(Size::Double, R6, SKB_TSTAMP, R9);
    code.place(pass).alu(Alu::Mov, R0, TC_ACT_OK).exit();
    counting::count_loss(code.place(lost));
    code.alu(Alu::Mov, R0, TC_ACT_STOLEN).exit();
    code.assemble()
}

/// `R0 = map[key on the stack]`, 0 when it is not there.
fn look_up(code: &mut Program, map: &Map, key: i16) {
    code.load_map(R1, map);
    code.alu_reg(Alu::Mov, R2, FRAME).alu(Alu::Add, R2, key.into()).call(Helper::MapLookupElem);
}

/// `R8 = hash(seed, R8)`.
fn throw_dice(code: &mut Program, seed: u64) {
    code.alu(Alu::Add, R8, 1).load_constant(R1, GAMMA).alu_reg(Alu::Mul, R8, R1);
    code.load_constant(R1, mix(seed)).alu_reg(Alu::Add, R8, R1);
    for (shift, factor) in [(30, Some(FACTOR_1)), (27, Some(FACTOR_2)), (31, None)] {
        code.alu_reg(Alu::Mov, R1, R8).alu(Alu::Rsh, R1, shift).alu_reg(Alu::Xor, R8, R1);
        if let Some(factor) = factor {
            code.load_constant(R1, factor).alu_reg(Alu::Mul, R8, R1);
        }
    }
}

/// `R9`, now, becomes the instant at which the last bit has been sent. What is lost on the way was sent, too.
fn send(code: &mut Program, settings: &Map) {
    let (not_ahead, idle, no_outage) = (code.label(), code.label(), code.label());
    code.load_value(R3, settings).load(Size::Double, R1, R7, SENT);
    code.load(Size::Double, R4, R3, AHEAD).alu_reg(Alu::Add, R4, R9);
    code.jump_if_reg(When::AtLeast, R4, R1, not_ahead).alu_reg(Alu::Mov, R1, R4).place(not_ahead);
    code.jump_if_reg(When::AtLeast, R9, R1, idle).alu_reg(Alu::Mov, R9, R1).place(idle);
    code.load(Size::Double, R1, R3, HOLD);
    code.jump_if_reg(When::AtLeast, R9, R1, no_outage).alu_reg(Alu::Mov, R9, R1).place(no_outage);
    code.load(Size::Word, R1, R6, SKB_WIRE_LEN).load(Size::Double, R2, R3, FACTOR);
    code.alu_reg(Alu::Mul, R1, R2).load(Size::Double, R2, R3, SHIFT).alu_reg(Alu::Rsh, R1, R2);
    code.alu_reg(Alu::Add, R9, R1).store(Size::Double, R7, SENT, R9);
}

/// `R9` + the jitter that the lower half of `R8` gives.
fn add_jitter(code: &mut Program) {
    code.alu(Alu::Lsh, R8, 32).alu(Alu::Rsh, R8, 32).load(Size::Double, R1, R3, JITTERS);
    code.alu_reg(Alu::Mul, R8, R1).alu(Alu::Rsh, R8, 32).alu_reg(Alu::Add, R9, R8);
}
