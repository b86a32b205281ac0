//! `netem`: delay, loss and other faults (`tc-netem(8)`), in the nanoseconds of newer tc.

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::distribution;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::{Options, NESTED};

const TAKES: &[&str] = &[
    "limit",
    "delay",
    "latency",
    "distribution",
    "loss",
    "drop",
    "ecn",
    "corrupt",
    "duplicate",
    "reorder",
    "gap",
    "rate",
    "slot",
    "seed",
];

const CORR: u16 = 1;
const DELAY_DIST: u16 = 2;
const REORDER: u16 = 3;
const CORRUPT: u16 = 4;
const LOSS: u16 = 5;
const RATE: u16 = 6;
const ECN: u16 = 7;
const RATE64: u16 = 8;
const LATENCY64: u16 = 10;
const JITTER64: u16 = 11;
const SLOT: u16 = 12;
const SLOT_DIST: u16 = 13;
const PRNG_SEED: u16 = 14;
const LOSS_STATES: u16 = 1;
const LOSS_GILBERT_ELLIOTT: u16 = 2;
const DEFAULT_LIMIT: u32 = 1000;
const CERTAIN: u32 = u32::MAX;

/// Tables that only tc has: of measured data, which no formula gives.
pub const FOREIGN_TABLES: [&str; 1] = ["experimental"];

/// A probability and how far it follows its predecessor.
type Correlated = (u32, Option<u32>);

#[derive(Default)]
struct Netem {
    limit: u32,
    latency: Option<i64>,
    jitter: Option<i64>,
    delay_correlation: Option<u32>,
    distribution: Option<Vec<i16>>,
    loss: Correlated,
    /// A loss model with memory: its type and its probabilities.
    model: Option<(u16, Vec<u32>)>,
    ecn: bool,
    corrupt: Option<Correlated>,
    duplicate: Correlated,
    reorder: Option<Correlated>,
    gap: u32,
    rate: Option<Shaper>,
    slot: Option<Slot>,
    seed: Option<u64>,
}

#[derive(Default)]
struct Shaper {
    bytes: u64,
    packet_overhead: i32,
    cell_size: u32,
    cell_overhead: i32,
}

#[derive(Default)]
struct Slot {
    shortest: i64,
    longest: i64,
    packets: i32,
    bytes: u32,
    delay: i64,
    jitter: i64,
    distribution: Option<Vec<i16>>,
}

/// Whether a line names a table that only tc has.
pub fn is_foreign(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).any(|pair| pair[0] == "distribution" && FOREIGN_TABLES.contains(&pair[1]))
}

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_netem_qopt`, followed by attributes.
fn encode(words: &mut Words) -> Result<Options> {
    let mut netem = Netem { limit: DEFAULT_LIMIT, ..Netem::default() };
    while let Some(word) = words.take() {
        netem.read(words, word)?;
    }
    netem.check(words)?;
    Ok(Some(netem.options()))
}

fn correlated(words: &mut Words, key: &str) -> Result<Correlated> {
    Ok((words.percent(key)?, optional(words, |words| words.percent(key))?))
}

/// A value that is there only if the next word is a number.
fn optional<T>(words: &mut Words, read: impl FnOnce(&mut Words) -> Result<T>) -> Result<Option<T>> {
    if words.number_follows() {
        return read(words).map(Some);
    }
    Ok(None)
}

fn named_distribution(words: &mut Words) -> Result<Option<Vec<i16>>> {
    let name = words.value("distribution")?;
    match distribution::table(name) {
        // Without a table the kernel's own choice is uniform.
        None if name == "uniform" => Ok(None),
        None => {
            Err(words.fault(format_args!("no distribution '{name}' here; {} there are", distribution::NAMES)))
        }
        table => Ok(table),
    }
}

impl Netem {
    fn read(&mut self, words: &mut Words, word: &str) -> Result<()> {
        match word {
            "limit" => self.limit = words.size(word)?,
            "delay" | "latency" => {
                self.latency = Some(words.nanos(word)?);
                self.jitter = optional(words, |words| words.nanos(word))?.or(self.jitter);
                self.delay_correlation =
                    optional(words, |words| words.percent(word))?.or(self.delay_correlation);
            }
            "distribution" => self.distribution = named_distribution(words)?,
            "loss" | "drop" => self.read_loss(words, word)?,
            "ecn" => self.ecn = true,
            "corrupt" => self.corrupt = Some(correlated(words, word)?),
            "duplicate" => self.duplicate = correlated(words, word)?,
            "reorder" => self.reorder = Some(correlated(words, word)?),
            "gap" => self.gap = words.number(word)?,
            "rate" => self.rate = Some(Shaper::read(words)?),
            "slot" => self.slot = Some(Slot::read(words)?),
            "seed" => self.seed = Some(words.number(word)?),
            other => return Err(words.unknown(other)),
        }
        Ok(())
    }

    /// `loss [random] P [CORRELATION]`, `loss state P13 …` or `loss gemodel P …`.
    fn read_loss(&mut self, words: &mut Words, word: &str) -> Result<()> {
        if words.number_follows() || words.skip("random") {
            self.loss = correlated(words, word)?;
            return Ok(());
        }
        let name = words.value(word)?;
        let mut given = Vec::new();
        while words.number_follows() && given.len() < 5 {
            given.push(words.percent(name)?);
        }
        let or = |at: usize, default: u32| given.get(at).copied().unwrap_or(default);
        let first = given.first().copied();
        self.model = match (name, first) {
            ("state", Some(p13)) => {
                let (p31, p32, p23, p14) = (or(1, CERTAIN - p13), or(2, 0), or(3, CERTAIN), or(4, 0));
                Some((LOSS_STATES, vec![p13, p31, p32, p14, p23]))
            }
            ("gemodel", Some(p)) if given.len() < 5 => {
                // The word is 1-h, the kernel takes h; without the word tc sends 0.
                let survives = given.get(2).map_or(0, |lost| CERTAIN - lost);
                Some((LOSS_GILBERT_ELLIOTT, vec![p, or(1, CERTAIN - p), survives, or(3, 0)]))
            }
            _ => return Err(words.fault(
                "'loss' takes 'random P', 'state P13 [P31 [P32 [P23 [P14]]]]' or 'gemodel P [R [1-H [1-K]]]'",
            )),
        };
        Ok(())
    }

    fn check(&mut self, words: &Words) -> Result<()> {
        let delayed = self.latency.is_some_and(|latency| latency > 0);
        match self.reorder {
            Some((probability, _)) if probability > 0 => {
                if !delayed {
                    return Err(words.fault("'reorder' needs a 'delay'"));
                }
                self.gap = self.gap.max(1);
            }
            _ if self.gap > 0 => return Err(words.fault("'gap' needs a 'reorder' probability")),
            _ => {}
        }
        if self.ecn && self.loss.0 == 0 && self.model.is_none() {
            return Err(words.fault("'ecn' needs a 'loss': it marks what would be lost"));
        }
        if self.distribution.is_some() && !(delayed && self.jitter.is_some_and(|jitter| jitter > 0)) {
            return Err(words.fault("'distribution' needs a 'delay' with jitter"));
        }
        Ok(())
    }

    fn options(&self) -> Attributes {
        let mut options = Attributes::new();
        let fields = [0, self.limit, self.loss.0, self.gap, self.duplicate.0, 0];
        options.raw(&fields.map(u32::to_ne_bytes).concat());
        for (kind, time) in [(LATENCY64, self.latency), (JITTER64, self.jitter)] {
            if let Some(time) = time {
                options.u64(kind, time as u64);
            }
        }
        self.probabilities(&mut options);
        if let Some(slot) = &self.slot {
            options.put(SLOT, &slot.bytes());
        }
        if let Some((kind, probabilities)) = &self.model {
            options.nest(LOSS | NESTED, |inner| {
                inner.put(*kind, &words_of(probabilities));
            });
        }
        if let Some(rate) = &self.rate {
            rate.put(&mut options);
        }
        if let Some(seed) = self.seed {
            options.u64(PRNG_SEED, seed);
        }
        let slot_table = self.slot.as_ref().and_then(|slot| slot.distribution.as_ref());
        for (kind, table) in [(DELAY_DIST, self.distribution.as_ref()), (SLOT_DIST, slot_table)] {
            if let Some(table) = table {
                options.put(kind, &table.iter().flat_map(|entry| entry.to_ne_bytes()).collect::<Vec<u8>>());
            }
        }
        options
    }

    fn probabilities(&self, options: &mut Attributes) {
        let others = [self.reorder, self.corrupt].map(|pair| pair.and_then(|(_, correlation)| correlation));
        let own = [self.delay_correlation, self.loss.1, self.duplicate.1];
        if own.iter().chain(&others).any(Option::is_some) {
            options.put(CORR, &words_of(&own.map(Option::unwrap_or_default)));
        }
        put_pair(options, REORDER, self.reorder);
        if self.ecn {
            options.u32(ECN, 1);
        }
        put_pair(options, CORRUPT, self.corrupt);
    }
}

fn put_pair(options: &mut Attributes, kind: u16, pair: Option<Correlated>) {
    if let Some((probability, correlation)) = pair {
        options.put(kind, &words_of(&[probability, correlation.unwrap_or(0)]));
    }
}

fn words_of(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

impl Shaper {
    /// `rate RATE [PACKETOVERHEAD [CELLSIZE [CELLOVERHEAD]]]`.
    fn read(words: &mut Words) -> Result<Self> {
        let mut rate = Self { bytes: words.rate("rate")?, ..Self::default() };
        if words.signed_number_follows() {
            rate.packet_overhead = words.integer("rate")?;
        }
        rate.cell_size = optional(words, |words| words.number("rate"))?.unwrap_or(0);
        if words.signed_number_follows() {
            rate.cell_overhead = words.integer("rate")?;
        }
        Ok(rate)
    }

    fn put(&self, options: &mut Attributes) {
        let narrow = u32::try_from(self.bytes);
        if narrow.is_err() {
            options.u64(RATE64, self.bytes);
        }
        let fields = [
            narrow.unwrap_or(u32::MAX),
            self.packet_overhead as u32,
            self.cell_size,
            self.cell_overhead as u32,
        ];
        options.put(RATE, &words_of(&fields));
    }
}

impl Slot {
    /// `slot MIN [MAX]` or `slot distribution NAME DELAY JITTER`, then `[packets N] [bytes N]`.
    fn read(words: &mut Words) -> Result<Self> {
        let mut slot = Self::default();
        if words.skip("distribution") {
            slot.distribution = named_distribution(words)?;
            (slot.delay, slot.jitter) = (words.nanos("slot delay")?, words.nanos("slot jitter")?);
            if slot.jitter == 0 {
                return Err(words.fault("a slot's jitter must be above 0"));
            }
        } else {
            slot.shortest = words.nanos("slot")?;
            slot.longest = optional(words, |words| words.nanos("slot"))?.unwrap_or(slot.shortest);
            if slot.longest < slot.shortest {
                return Err(words.fault("a slot's longest delay is below its shortest"));
            }
        }
        if words.skip("packets") {
            slot.packets = words.integer("packets")?;
        }
        if words.skip("bytes") {
            slot.bytes = words.size("bytes")?;
        }
        Ok(slot)
    }

    /// `struct tc_netem_slot`.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.shortest, self.longest].map(i64::to_ne_bytes).concat();
        bytes.extend(self.packets.to_ne_bytes());
        bytes.extend(self.bytes.to_ne_bytes());
        bytes.extend([self.delay, self.jitter].map(i64::to_ne_bytes).concat());
        bytes
    }
}
