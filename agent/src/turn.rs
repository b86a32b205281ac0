//! Turns at a terminal: what a guest and its launcher say to each other where a person types.
//!
//! ```text
//! guest:     what was printed ─▶ said     at what time, and what for ─▶ asked; then fdatasync(asked), which waits
//! launcher:  shows it to the person; waits until the clock on the wall is as far, or a key is pressed;
//!            keys, size of the window, when to ask again ─▶ answered; lets the call return
//! ```
//!
//! The launcher makes the files and keeps them open: what a guest puts in their places is never opened outside. While the call waits
//! the whole guest stands still.

use serde::{Deserialize, Serialize};

/// The folder beside the raw tables. That it is there says that somebody sits at a terminal; the last program has it.
pub const FOLDER: &str = "terminal";
pub const SAID: &str = "said";
pub const ASKED: &str = "asked";
pub const ANSWERED: &str = "answered";
/// What a guest says at most in one turn, and how many keys it is given.
pub const MOST_SAID: u64 = 1 << 18;
pub const MOST_KEYS: usize = 2048;

/// What the guest says in `asked`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// They count up from 1.
    pub turn: u64,
    /// On the guest's `CLOCK_MONOTONIC`.
    pub t_ns: i64,
    /// Whether it can take keys.
    pub room: bool,
    /// Nothing is to be waited for: the program has ended.
    pub last: bool,
}

/// What the launcher says in the first line of `answered`; the keys come behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The turn that is answered.
    pub turn: u64,
    /// How far the guest may go before it asks again.
    pub pace_ns: i64,
    /// Of the window; 0: unknown.
    pub rows: u16,
    pub columns: u16,
}

impl Answer {
    /// The whole file.
    #[must_use]
    pub fn with(self, keys: &[u8]) -> Vec<u8> {
        // Numbers are always written.
        let mut whole = serde_json::to_vec(&self).unwrap_or_default();
        whole.push(b'\n');
        whole.extend_from_slice(keys);
        whole
    }

    /// An answer and its keys; `None`: this is none.
    #[must_use]
    pub fn read(whole: &[u8]) -> Option<(Self, &[u8])> {
        let end = whole.iter().position(|byte| *byte == b'\n')?;
        Some((serde_json::from_slice(&whole[..end]).ok()?, &whole[end + 1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let answer = Answer { turn: 3, pace_ns: 20_000_000, rows: 24, columns: 80 };
        for keys in [&b""[..], b"ls\r", b"\n\x03\xff"] {
            assert_eq!(Answer::read(&answer.with(keys)), Some((answer, keys)));
        }
        for broken in [&b""[..], b"{}", b"\n", b"{\"turn\": 1}\n"] {
            assert_eq!(Answer::read(broken), None);
        }
    }
}
