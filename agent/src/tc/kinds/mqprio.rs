//! `mqprio` and `taprio`: traffic classes on the queues of a device (`tc-mqprio(8)`, `tc-taprio(8)`).

use super::etf::clock_id;
use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::found::Found;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::{Options, NESTED};

const TAKES: &[&str] = &["num_tc", "map", "queues", "hw", "mode", "shaper", "min_rate", "max_rate", "fp"];
const TIMED_TAKES: &[&str] = &[
    "num_tc",
    "map",
    "queues",
    "clockid",
    "base-time",
    "cycle-time",
    "cycle-time-extension",
    "sched-entry",
    "flags",
    "txtime-delay",
    "max-sdu",
    "fp",
];

const MOST: usize = 16;
const DEFAULT_CLASSES: u8 = 8;
const DEFAULT_MAP: [u8; MOST] = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 1, 1, 3, 3, 3, 3];

const MODE: u16 = 1;
const SHAPER: u16 = 2;
const MIN_RATES: u16 = 3;
const MAX_RATES: u16 = 4;
const ENTRY: u16 = 5;
const ENTRY_INDEX: u16 = 1;
const ENTRY_PREEMPTIBLE: u16 = 2;

const PRIOMAP: u16 = 1;
const SCHEDULE: u16 = 2;
const BASE_TIME: u16 = 3;
const CLOCK: u16 = 5;
const CYCLE_TIME: u16 = 8;
const CYCLE_EXTENSION: u16 = 9;
const FLAGS: u16 = 10;
const DEPARTURE_DELAY: u16 = 11;
const TIMED_ENTRY: u16 = 12;
const TIMED_ENTRY_SIZE: u16 = 2;
const TIMED_ENTRY_PREEMPTIBLE: u16 = 3;
const GATES: u16 = 1;
const GATES_COMMAND: u16 = 2;
const GATES_MASK: u16 = 3;
const GATES_INTERVAL: u16 = 4;
/// More do not fit a message of tc.
const MOST_GATES: usize = 1000;

/// A `struct tc_mqprio_qopt`: which class a priority is of, and which queues a class has.
struct Classes {
    number: u8,
    map: [u8; MOST],
    hardware: u8,
    queues: [(u16, u16); MOST],
    pairs: usize,
}

impl Classes {
    /// Reads a word if it is one of these.
    fn read(&mut self, words: &mut Words, word: &str) -> Result<bool> {
        match word {
            "num_tc" => self.number = words.number(word)?,
            "map" => {
                let given = listed(words, |text| text.parse().ok());
                self.map = [0; MOST];
                self.map[..given.len()].copy_from_slice(&given);
            }
            "queues" => {
                let given = listed(words, |text| {
                    let (count, offset) = text.split_once('@')?;
                    Some((count.parse().ok()?, offset.parse().ok()?))
                });
                self.queues[..given.len()].copy_from_slice(&given);
                self.pairs = given.len();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self, words: &Words) -> Result<()> {
        if self.pairs > usize::from(self.number) {
            return Err(words.fault("'queues' takes one COUNT@OFFSET for each class of 'num_tc'"));
        }
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.number];
        bytes.extend(self.map);
        bytes.push(self.hardware);
        bytes.extend(self.queues.iter().flat_map(|(count, _)| count.to_ne_bytes()));
        bytes.extend(self.queues.iter().flat_map(|(_, offset)| offset.to_ne_bytes()));
        bytes
    }
}

/// The values that follow, up to 16, as far as they can be read.
fn listed<T>(words: &mut Words, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    while found.len() < MOST {
        let Some(value) = words.peek().and_then(&read) else { break };
        words.take();
        found.push(value);
    }
    found
}

/// `E` and `P`: whether frames of a class are express or can be preempted.
fn preemptible(words: &mut Words) -> Vec<u32> {
    listed(words, |text| match text {
        "E" => Some(1),
        "P" => Some(2),
        _ => None,
    })
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

fn encode(words: &mut Words) -> Result<Options> {
    let mut classes =
        Classes { number: DEFAULT_CLASSES, map: DEFAULT_MAP, hardware: 1, queues: [(0, 0); MOST], pairs: 0 };
    let (mut mode, mut shaper) = (0, 0);
    let (mut rates, mut frames): ([Option<Vec<u64>>; 2], Vec<u32>) = ([None, None], Vec::new());
    while let Some(word) = words.take() {
        match word {
            _ if classes.read(words, word)? => {}
            "hw" => classes.hardware = words.number(word)?,
            "mode" => mode = choice(words, word, &["dcb", "channel"])?,
            "shaper" => shaper = choice(words, word, &["dcb", "bw_rlimit"])?,
            "min_rate" => rates[0] = Some(listed(words, crate::tc::units::rate)),
            "max_rate" => rates[1] = Some(listed(words, crate::tc::units::rate)),
            "fp" => frames = preemptible(words),
            other => return Err(words.unknown(other)),
        }
    }
    classes.check(words)?;
    if shaper == 0 && rates.iter().any(Option::is_some) {
        return Err(words.fault("'min_rate' and 'max_rate' need 'shaper bw_rlimit'"));
    }
    let mut options = Attributes::new();
    options.raw(&classes.bytes());
    for (kind, value) in [(MODE, mode), (SHAPER, shaper)] {
        if value != 0 {
            options.u16(kind, value);
        }
    }
    for (class, frame) in (0..).zip(frames) {
        options.nest(ENTRY | NESTED, |entry| {
            entry.u32(ENTRY_INDEX, class).u32(ENTRY_PREEMPTIBLE, frame);
        });
    }
    let given = [MIN_RATES, MAX_RATES].into_iter().zip(rates);
    given.for_each(|(kind, rates)| put_rates(&mut options, kind, rates));
    Ok(Some(options))
}

/// The rates of all classes, where some were given.
fn put_rates(options: &mut Attributes, kind: u16, rates: Option<Vec<u64>>) {
    let Some(mut rates) = rates else { return };
    rates.resize(MOST, 0);
    options.nest(kind | NESTED, |inner| {
        for rate in rates {
            inner.u64(kind, rate);
        }
    });
}

/// The number of a word in a list.
fn choice(words: &mut Words, key: &str, known: &[&str]) -> Result<u16> {
    let word = words.value(key)?;
    (0..)
        .zip(known)
        .find_map(|(number, name)| (*name == word).then_some(number))
        .ok_or_else(|| words.fault(format_args!("'{key} {word}': it is one of {}", known.join(" "))))
}

/// One entry of a schedule: which gates are open for how many nanoseconds.
struct Gates {
    command: u8,
    open: u32,
    interval: u32,
}

impl Gates {
    fn read(words: &mut Words) -> Result<Self> {
        let command = match words.value("sched-entry")? {
            "S" => 0,
            "H" => 1,
            "R" => 2,
            other => {
                return Err(words.fault(format_args!(
                    "'sched-entry {other}': it takes S, H or R, the gates as a mask, and nanoseconds"
                )))
            }
        };
        let open = words.hexadecimal("sched-entry")?;
        Ok(Self { command, open, interval: words.number("sched-entry")? })
    }
}

pub const TAPRIO: Encoder = Encoder { takes: TIMED_TAKES, encode: encode_timed };

fn encode_timed(words: &mut Words) -> Result<Options> {
    let mut classes = Classes { number: 0, map: [0; MOST], hardware: 0, queues: [(0, 0); MOST], pairs: 0 };
    let mut found = Found::default();
    let (mut sizes, mut frames): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut schedule = Vec::new();
    while let Some(word) = words.take() {
        match word {
            _ if classes.read(words, word)? => {}
            "clockid" => found.put(CLOCK, &clock_id(words)?.to_ne_bytes()),
            "flags" => found.unless_zero(FLAGS, words.number(word)?),
            "txtime-delay" => found.unless_zero(DEPARTURE_DELAY, words.number(word)?),
            "base-time" => nanoseconds(words, word, BASE_TIME, &mut found)?,
            "cycle-time" => nanoseconds(words, word, CYCLE_TIME, &mut found)?,
            "cycle-time-extension" => nanoseconds(words, word, CYCLE_EXTENSION, &mut found)?,
            "max-sdu" => sizes = listed(words, |text| text.parse().ok()),
            "fp" => frames = preemptible(words),
            "sched-entry" if schedule.len() < MOST_GATES => schedule.push(Gates::read(words)?),
            "sched-entry" => return Err(words.fault(format_args!("more than {MOST_GATES} entries"))),
            other => return Err(words.unknown(other)),
        }
    }
    classes.check(words)?;
    if classes.number > 0 {
        found.put(PRIOMAP, &classes.bytes());
    }
    let order = [CLOCK, FLAGS, PRIOMAP, DEPARTURE_DELAY, BASE_TIME, CYCLE_TIME, CYCLE_EXTENSION];
    let mut options = found.in_order(&order);
    per_class(&mut options, &sizes, &frames);
    options.nest(SCHEDULE | NESTED, |entries| schedule.iter().for_each(|gates| entry(entries, gates)));
    Ok(Some(options))
}

/// A time since the epoch of the clock, or a length; 0 is not sent.
fn nanoseconds(words: &mut Words, key: &str, kind: u16, found: &mut Found) -> Result<()> {
    let time = words.wide_integer(key)?;
    if time != 0 {
        found.put(kind, &time.to_ne_bytes());
    }
    Ok(())
}

fn per_class(options: &mut Attributes, sizes: &[u32], frames: &[u32]) {
    for class in 0..sizes.len().max(frames.len()) {
        options.nest(TIMED_ENTRY | NESTED, |entry| {
            entry.u32(ENTRY_INDEX, class as u32);
            for (kind, given) in [(TIMED_ENTRY_SIZE, sizes), (TIMED_ENTRY_PREEMPTIBLE, frames)] {
                if let Some(value) = given.get(class) {
                    entry.u32(kind, *value);
                }
            }
        });
    }
}

fn entry(entries: &mut Attributes, gates: &Gates) {
    entries.nest(GATES, |entry| {
        entry
            .u8(GATES_COMMAND, gates.command)
            .u32(GATES_MASK, gates.open)
            .u32(GATES_INTERVAL, gates.interval);
    });
}
