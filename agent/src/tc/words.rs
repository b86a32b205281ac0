//! The words of one qdisc line, read from left to right.

use std::str::FromStr;

use super::{units, Options};
use crate::error::{Error, Result};
use crate::words::nearest;

/// Finds a device of the same node by its name.
pub type Find<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// A cursor over the words that follow a qdisc's name.
pub struct Words<'a> {
    kind: &'a str,
    takes: &'static [&'static str],
    line: Vec<&'a str>,
    position: usize,
    find: Find<'a>,
}

impl<'a> Words<'a> {
    /// `takes` is every word the kind knows, for errors.
    #[must_use]
    pub fn new(kind: &'a str, takes: &'static [&'static str], line: Vec<&'a str>) -> Self {
        Self { kind, takes, line, position: 0, find: &|_| None }
    }

    /// With the devices that words may name.
    #[must_use]
    pub fn among(self, find: Find<'a>) -> Self {
        Self { find, ..self }
    }

    /// The next word, consumed.
    pub fn take(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.position += 1;
        Some(word)
    }

    /// Makes the word that was taken last the next one again.
    pub fn step_back(&mut self) {
        self.position = self.position.saturating_sub(1);
    }

    /// The next word, left where it is.
    #[must_use]
    pub fn peek(&self) -> Option<&'a str> {
        self.line.get(self.position).copied()
    }

    /// Consumes the next word when it is this one.
    pub fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.position += usize::from(found);
        found
    }

    /// Whether the next word begins like a number (an optional argument).
    #[must_use]
    pub fn number_follows(&self) -> bool {
        self.peek().is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit() || first == '.'))
    }

    /// Like [`Self::number_follows`], or with a minus.
    #[must_use]
    pub fn signed_number_follows(&self) -> bool {
        self.number_follows() || self.peek().is_some_and(|word| word.len() > 1 && word.starts_with('-'))
    }

    pub fn fault(&self, message: impl std::fmt::Display) -> Error {
        Error::new("qdisc", format!("{}: {message}", self.kind))
    }

    /// Begins the options of a kind: from here on errors speak of it. Gives what they spoke of before.
    pub fn begin(
        &mut self,
        kind: &'a str,
        takes: &'static [&'static str],
    ) -> (&'a str, &'static [&'static str]) {
        let before = (self.kind, self.takes);
        (self.kind, self.takes) = (kind, takes);
        before
    }

    /// The error for a word that the kind does not know.
    #[must_use]
    pub fn unknown(&self, word: &str) -> Error {
        if self.takes.is_empty() {
            return self.fault(format_args!("unknown word '{word}': it takes no words"));
        }
        let near = nearest(word, self.takes.iter().copied());
        let meant = near.map(|near| format!("Did you mean '{near}'? ")).unwrap_or_default();
        self.fault(format_args!("unknown word '{word}'")).hint(format!(
            "{meant}{} takes: {}.",
            self.kind,
            self.takes.join(" ")
        ))
    }

    /// The value that must follow `key`.
    pub fn value(&mut self, key: &str) -> Result<&'a str> {
        self.take().ok_or_else(|| self.fault(format_args!("'{key}' needs a value")))
    }

    /// The value after `key`, understood by `read`; `what` says what was expected.
    fn read<T>(&mut self, key: &str, what: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let word = self.value(key)?;
        read(word).ok_or_else(|| self.fault(format_args!("'{key} {word}': {word:?} is not {what}")))
    }

    /// A plain number, decimal or with `0x` hexadecimal.
    pub fn number<T: FromStr + TryFrom<u64>>(&mut self, key: &str) -> Result<T> {
        self.read(key, "a number in range", |word| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok().and_then(|value| T::try_from(value).ok()),
            None => word.parse().ok(),
        })
    }

    pub fn real(&mut self, key: &str) -> Result<f64> {
        self.read(key, "a number", |word| word.parse().ok().filter(|value: &f64| value.is_finite()))
    }

    /// Bytes.
    pub fn size(&mut self, key: &str) -> Result<u32> {
        self.read(key, "a size like 1500, 500kb or 1mbit", units::size)
    }

    /// Bytes a second.
    pub fn rate(&mut self, key: &str) -> Result<u64> {
        self.read(key, "a rate like 100mbit or 12500kbps", units::rate)
    }

    /// Bytes a second, where the kernel has 32 bits for them.
    pub fn rate32(&mut self, key: &str) -> Result<u32> {
        self.read(key, "a rate below 34 Gbit/s", |word| u32::try_from(units::rate(word)?).ok())
    }

    /// Bytes, and after a slash the cell size of the rate table as a power of two: `32kb/8`.
    pub fn size_and_cell(&mut self, key: &str) -> Result<(u32, Option<u8>)> {
        let (size, cell) = self.wide_size_and_cell(key)?;
        let size = u32::try_from(size);
        Ok((size.map_err(|_| self.fault(format_args!("'{key}' must be below 4 GiB")))?, cell))
    }

    /// The same for sizes that may need more than 32 bits.
    pub fn wide_size_and_cell(&mut self, key: &str) -> Result<(u64, Option<u8>)> {
        self.read(key, "a size like 1500, 32kb or 32kb/8", |word| {
            let Some((size, cell)) = word.split_once('/') else {
                return Some((units::wide_size(word)?, None));
            };
            let cell: u32 = cell.parse().ok()?;
            let size = units::wide_size(size)?;
            cell.is_power_of_two().then(|| (size, Some(cell.ilog2() as u8)))
        })
    }

    /// `NUMBER`, or `NUMBER/MASK`.
    pub fn number_and_mask(&mut self, key: &str) -> Result<(Option<u32>, Option<u32>)> {
        let read = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        self.read(key, "a number like 7, or a number and a mask like 0x10/0xff", |word| {
            match word.split_once('/') {
                Some((number, mask)) => Some((Some(read(number)?), Some(read(mask)?))),
                None => Some((Some(read(word)?), None)),
            }
        })
    }

    /// A device of the same node.
    pub fn device(&mut self, key: &str) -> Result<u32> {
        let name = self.value(key)?;
        (self.find)(name)
            .ok_or_else(|| self.fault(format_args!("'{key} {name}': there is no such device here")))
    }

    pub fn integer(&mut self, key: &str) -> Result<i32> {
        self.read(key, "a whole number", |word| match word.strip_prefix("0x") {
            Some(digits) => i32::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        })
    }

    pub fn wide_integer(&mut self, key: &str) -> Result<i64> {
        self.read(key, "a whole number", |word| word.parse().ok())
    }

    /// Microseconds, cut to whole ones as tc does.
    pub fn micros(&mut self, key: &str) -> Result<u32> {
        self.read(key, "a time like 10ms or 500us", units::micros)
    }

    /// Nanoseconds.
    pub fn nanos(&mut self, key: &str) -> Result<i64> {
        self.read(key, "a time like 10ms, 500us or 20ns", units::nanos)
    }

    /// A probability (`1%`, or `1` for the same) as a share of 2³²-1.
    pub fn percent(&mut self, key: &str) -> Result<u32> {
        let share = self.read(key, "a percentage between 0% and 100%", units::percent)?;
        Ok((share * f64::from(u32::MAX)).round_ties_even() as u32)
    }

    pub fn number_up_to(&mut self, key: &str, most: u32) -> Result<u32> {
        self.read(key, &format!("a number up to {most}"), |word| {
            word.parse().ok().filter(|number| *number <= most)
        })
    }

    pub fn integer_between(&mut self, key: &str, least: i32, most: i32) -> Result<i32> {
        let what = format!("a whole number from {least} to {most}");
        self.read(key, &what, |word| word.parse().ok().filter(|number| (least..=most).contains(number)))
    }

    /// A number in hexadecimal, with or without `0x`.
    pub fn hexadecimal(&mut self, key: &str) -> Result<u32> {
        let bare = |word: &str| u32::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok();
        self.read(key, "a hexadecimal number", bare)
    }

    /// A protocol of a filter: `ip`, `ipv6`, `arp`, `all` or a number.
    pub fn protocol(&mut self, key: &str) -> Result<u16> {
        self.read(key, "one of ip, ipv6, arp, all or a number like 0x800", |word| match word {
            "all" => Some(libc::ETH_P_ALL as u16),
            "ip" | "ipv4" => Some(libc::ETH_P_IP as u16),
            "ipv6" => Some(libc::ETH_P_IPV6 as u16),
            "arp" => Some(libc::ETH_P_ARP as u16),
            other => u16::from_str_radix(other.strip_prefix("0x")?, 16).ok(),
        })
    }

    /// `VALUE/MASK`, a byte each.
    pub fn bytes_with_mask(&mut self, key: &str) -> Result<(u8, u8)> {
        self.read(key, "two bytes like 0x01/0x03", |word| {
            let (value, mask) = word.split_once('/')?;
            let byte = |text: &str| match text.strip_prefix("0x") {
                Some(digits) => u8::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            Some((byte(value)?, byte(mask)?))
        })
    }
}

/// For kinds without options.
pub fn nothing(words: &mut Words) -> Result<Options> {
    words.take().map_or(Ok(None), |word| Err(words.unknown(word)))
}
