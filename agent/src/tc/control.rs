//! Controls: what becomes of a packet after an action, and where an action's own words end.

use super::words::Words;
use crate::error::Result;

/// The actions that are encoded here. What is a control as well is one of `gact`.
pub const ACTIONS: [&str; 4] = ["gact", "mirred", "police", "skbedit"];
/// What a `u32` filter takes, after its actions as well.
pub const U32_TAKES: &[&str] =
    &["match", "classid", "flowid", "action", "police", "indev", "skip_hw", "skip_sw"];
/// What becomes of a packet (`TC_ACT_*`).
pub const CONTROLS: [(&str, u32); 10] = [
    ("continue", u32::MAX),
    ("pass", 0),
    ("ok", 0),
    ("reclassify", 1),
    ("drop", 2),
    ("shot", 2),
    ("pipe", PIPE),
    ("trap", 8),
    ("jump", JUMP),
    ("goto", GOTO_CHAIN),
];

pub const PIPE: u32 = 3;
const JUMP: u32 = 1 << 28;
const GOTO_CHAIN: u32 = 2 << 28;
const LARGEST_OPERAND: u32 = (1 << 28) - 1;

/// Whether a word begins an action, after `action` or after another.
pub fn begins(word: &str) -> bool {
    ACTIONS.contains(&word) || of(word).is_some()
}

pub fn of(word: &str) -> Option<u32> {
    CONTROLS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

/// That the word at which an action's own words end is a wrong one of them, unless it goes on with the filter there.
pub fn ended(words: &Words) -> Result<()> {
    match words.peek() {
        Some(word) if !begins(word) && word != "action" && !U32_TAKES.contains(&word) => {
            Err(words.unknown(word))
        }
        _ => Ok(()),
    }
}

/// A control with its operand: `drop`, `jump 2`, `goto chain 5`.
pub fn read(words: &mut Words) -> Result<Option<u32>> {
    let Some(word) = words.peek() else { return Ok(None) };
    let Some(control) = of(word) else { return Ok(None) };
    words.take();
    let operand = match control {
        JUMP => words.number_up_to(word, LARGEST_OPERAND)?,
        GOTO_CHAIN if words.skip("chain") => words.number_up_to("goto chain", LARGEST_OPERAND)?,
        GOTO_CHAIN => return Err(words.fault("'goto' takes 'chain' and its number")),
        _ => 0,
    };
    Ok(Some(control | operand))
}
