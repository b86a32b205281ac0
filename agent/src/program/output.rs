//! What programs print: `raw/output.jsonl`, a line for each of theirs, with the time at which it was whole.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::error::{Context, Result};

/// Its name among the raw tables.
const FILE: &str = "output.jsonl";
/// What one program's rows take in a record at most. It is rows that are counted: around a line of one letter there is much more.
const MOST_BYTES: u64 = 16 << 20;
/// A longer line is cut.
const LONGEST_LINE: usize = 64 << 10;

/// The file that all programs' lines go to, in the order of time.
#[derive(Debug)]
pub(super) struct Output(Mutex<File>);

/// One of a program's two streams, cut into lines.
#[derive(Debug)]
pub(super) struct Lines {
    program: usize,
    stream: &'static str,
    begun: Vec<u8>,
}

/// What was kept of a program's output, and what was not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub lines: u64,
    pub bytes: u64,
    pub dropped: u64,
    /// What its rows take.
    rows: u64,
    /// From the first line on that did not fit, nothing is kept: what is kept has no holes.
    full: bool,
}

/// A line of the file.
#[derive(Debug, Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    program: usize,
    stream: &'static str,
    t_ns: i64,
    text: &'a str,
}

impl Output {
    pub fn create(raw: &Path) -> Result<Self> {
        let path = raw.join(FILE);
        let file = File::create(&path).context(format_args!("create {}", path.display()))?;
        Ok(Self(Mutex::new(file)))
    }

    /// Appends whole lines of the file.
    fn write(&self, text: &[u8]) {
        // A disk that is full is told by what cannot do without its tables.
        let _full = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(text);
    }
}

impl Lines {
    pub fn new(program: usize, stream: &'static str) -> Self {
        Self { program, stream, begun: Vec::new() }
    }

    /// Takes what was read at `t_ns`; `heard` is told every whole line, and is `None` where nobody listens.
    pub fn take(
        &mut self,
        bytes: &[u8],
        t_ns: i64,
        kept: &mut Kept,
        output: &Output,
        mut heard: Option<&mut dyn FnMut(&str)>,
    ) {
        // A program that prints without end is not read line by line when nobody wants to know them.
        if kept.full && heard.is_none() {
            kept.dropped += (self.begun.len() + bytes.len()) as u64;
            self.begun.clear();
            return;
        }
        let mut text = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() >= LONGEST_LINE {
                self.end_line(t_ns, kept, &mut text, &mut heard);
            }
        }
        if !text.is_empty() {
            output.write(&text);
        }
    }

    /// What was begun at the end is a line, too. Nothing more will come.
    pub fn finish(&mut self, t_ns: i64, kept: &mut Kept, output: &Output) {
        let mut text = Vec::new();
        if !self.begun.is_empty() {
            self.end_line(t_ns, kept, &mut text, &mut None);
            output.write(&text);
        }
    }

    /// What was begun and is no whole line yet: a prompt, for example.
    pub fn begun(&self) -> String {
        String::from_utf8_lossy(&self.begun).into_owned()
    }

    fn end_line(
        &mut self,
        t_ns: i64,
        kept: &mut Kept,
        text: &mut Vec<u8>,
        heard: &mut Option<&mut dyn FnMut(&str)>,
    ) {
        let cut = !self.begun.ends_with(b"\n");
        let line = String::from_utf8_lossy(self.begun.strip_suffix(b"\n").unwrap_or(&self.begun));
        if let Some(heard) = heard {
            heard(&line);
        }
        if !kept.full {
            let before = text.len();
            let row = Row { cut, program: self.program, stream: self.stream, t_ns, text: &line };
            // Nothing in such a row can fail to be written to memory.
            let _whole = serde_json::to_writer(&mut *text, &row);
            text.push(b'\n');
            let rows = kept.rows + (text.len() - before) as u64;
            if rows > MOST_BYTES {
                text.truncate(before);
                kept.full = true;
            } else {
                kept.rows = rows;
                kept.bytes += self.begun.len() as u64;
                kept.lines += 1;
            }
        }
        if kept.full {
            kept.dropped += self.begun.len() as u64;
        }
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_is_kept_line_by_line() {
        let folder = std::env::temp_dir().join(format!("rushhour-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let output = Output::create(&folder).expect("a file");
        let (mut lines, mut kept, mut heard) = (Lines::new(3, "out"), Kept::default(), Vec::new());
        lines.take(b"one\ntw", 5, &mut kept, &output, Some(&mut |line| heard.push(line.to_owned())));
        assert_eq!(lines.begun(), "tw");
        lines.take(b"o\n\xff", 6, &mut kept, &output, Some(&mut |line| heard.push(line.to_owned())));
        lines.finish(7, &mut kept, &output);
        let text = std::fs::read_to_string(folder.join(FILE)).expect("written");
        let rows: Vec<serde_json::Value> =
            text.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
        assert_eq!(rows[0], json!({"t_ns": 5, "program": 3, "stream": "out", "text": "one"}));
        assert_eq!(rows[1], json!({"t_ns": 6, "program": 3, "stream": "out", "text": "two"}));
        assert_eq!(
            rows[2],
            json!({"t_ns": 7, "program": 3, "stream": "out", "text": "\u{fffd}", "cut": true})
        );
        assert_eq!(heard, ["one", "two"]);
        assert_eq!((kept.lines, kept.bytes, kept.dropped), (3, 9, 0));
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn what_is_more_than_a_record_takes_is_counted() {
        let folder = std::env::temp_dir().join(format!("rushhour-much-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let output = Output::create(&folder).expect("a file");
        let (mut lines, mut kept) = (Lines::new(0, "out"), Kept::default());
        let much = b"y\n".repeat(PIECE / 2);
        for t_ns in 0..20 {
            lines.take(&much, t_ns, &mut kept, &output, None);
        }
        lines.take(b"a", 20, &mut kept, &output, None);
        lines.finish(21, &mut kept, &output);
        assert_eq!(kept.bytes, 2 * kept.lines);
        assert_eq!(kept.bytes + kept.dropped, 20 * PIECE as u64 + 1);
        let size = std::fs::metadata(folder.join(FILE)).expect("written").len();
        assert!((MOST_BYTES - 100..=MOST_BYTES).contains(&size), "{size}");
        // Who waits for a text hears it all the same.
        let mut heard = 0;
        lines.take(b"y\ny\n", 22, &mut kept, &output, Some(&mut |_| heard += 1));
        assert_eq!(heard, 2);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    /// As much as is read at once.
    const PIECE: usize = 64 << 10;
}
