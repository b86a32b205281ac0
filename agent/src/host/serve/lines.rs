//! Bytes as lines, with a bound on their length.

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// Longer than allowed: its bytes were dropped up to its end.
    TooLong,
}

/// Collects bytes until their line is whole.
#[derive(Debug)]
pub struct Lines {
    longest: usize,
    begun: Vec<u8>,
    dropping: bool,
}

impl Lines {
    pub fn new(longest: usize) -> Self {
        Self { longest, begun: Vec::new(), dropping: false }
    }

    /// The lines that these bytes complete, without their ends; empty ones are left out.
    pub fn take(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut found = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.begun);
            if std::mem::take(&mut self.dropping) {
                found.push(Line::TooLong);
            } else if !line.trim_ascii().is_empty() {
                found.push(Line::Whole(line));
            }
        }
        self.extend(bytes);
        found
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.dropping || self.begun.len() + bytes.len() > self.longest {
            self.dropping = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_in_any_pieces() {
        let text = b"one\n\n  \ntwo\r\nthree";
        for size in 1..text.len() {
            let mut lines = Lines::new(10);
            let found: Vec<Line> = text.chunks(size).flat_map(|piece| lines.take(piece)).collect();
            assert_eq!(found, [whole("one"), whole("two\r")], "pieces of {size}");
        }
    }

    #[test]
    fn what_is_too_long_is_dropped_to_its_end_and_no_further() {
        let text = b"123456789\n1234\n12345\n1\n";
        for size in 1..text.len() {
            let mut lines = Lines::new(4);
            let found: Vec<Line> = text.chunks(size).flat_map(|piece| lines.take(piece)).collect();
            assert_eq!(found, [Line::TooLong, whole("1234"), Line::TooLong, whole("1")], "pieces of {size}");
            assert!(lines.begun.capacity() <= 16);
        }
    }
}
