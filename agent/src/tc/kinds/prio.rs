//! `prio`, `multiq`, `drr` and `ets`: the plain classful schedulers (`tc-prio(8)`, `tc-drr(8)`, `tc-ets(8)`).

use crate::error::Result;
use crate::kernel::netlink::Attributes;
use crate::tc::kinds::Encoder;
use crate::tc::words::Words;
use crate::tc::{Options, NESTED};

const TAKES: &[&str] = &["bands", "priomap", "multiqueue"];
const ETS_TAKES: &[&str] = &["bands", "strict", "quanta", "priomap"];
const QUANTUM_TAKES: &[&str] = &["quantum"];

const PRIORITIES: usize = 16;
/// What the kernel's own priorities mean without a map (`prio2band` of `sch_generic.c`).
const DEFAULT_MAP: [u8; PRIORITIES] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
const DEFAULT_BANDS: u32 = 3;
const TCA_PRIO_MQ: u16 = 1;
const TCA_DRR_QUANTUM: u16 = 1;
const TCA_ETS_NBANDS: u16 = 1;
const TCA_ETS_NSTRICT: u16 = 2;
const TCA_ETS_QUANTA: u16 = 3;
const TCA_ETS_QUANTA_BAND: u16 = 4;
const TCA_ETS_PRIOMAP: u16 = 5;
const TCA_ETS_PRIOMAP_BAND: u16 = 6;

pub const QDISC: Encoder = Encoder { takes: TAKES, encode };

/// A `struct tc_prio_qopt`, followed by an attribute that may be empty.
fn encode(words: &mut Words) -> Result<Options> {
    let mut bands = DEFAULT_BANDS;
    let mut map = DEFAULT_MAP;
    let mut several = false;
    while let Some(word) = words.take() {
        match word {
            "bands" => bands = words.number(word)?,
            "multiqueue" => several = true,
            "priomap" => {
                let given = numbers(words, word)?;
                if given.len() > PRIORITIES || given.iter().any(|band| u32::from(*band) >= bands) {
                    return Err(words.fault("'priomap' takes up to 16 bands, each below 'bands'"));
                }
                map[..given.len()].copy_from_slice(&given);
            }
            other => return Err(words.unknown(other)),
        }
    }
    let mut options = Attributes::new();
    options.raw(&[&bands.to_ne_bytes()[..], &map].concat()).nest(crate::tc::TCA_OPTIONS, |inner| {
        if several {
            inner.put(TCA_PRIO_MQ, &[]);
        }
    });
    Ok(Some(options))
}

pub const MULTIQ: Encoder = Encoder { takes: &[], encode: encode_multiq };

/// A `struct tc_multiq_qopt`, which the kernel fills: as many bands as the device has queues.
fn encode_multiq(words: &mut Words) -> Result<Options> {
    words.take().map_or(Ok(()), |word| Err(words.unknown(word)))?;
    let mut options = Attributes::new();
    options.raw(&[0; 4]);
    Ok(Some(options))
}

/// All numbers that follow.
fn numbers<T: std::str::FromStr + TryFrom<u64>>(words: &mut Words, key: &str) -> Result<Vec<T>> {
    let mut found = vec![words.number(key)?];
    while words.number_follows() {
        found.push(words.number(key)?);
    }
    Ok(found)
}

pub const DRR_CLASS: Encoder = Encoder { takes: QUANTUM_TAKES, encode: drr_class };

fn drr_class(words: &mut Words) -> Result<Options> {
    quantum(words, TCA_DRR_QUANTUM)
}

pub const ETS_CLASS: Encoder = Encoder { takes: QUANTUM_TAKES, encode: ets_class };

fn ets_class(words: &mut Words) -> Result<Options> {
    quantum(words, TCA_ETS_QUANTA_BAND)
}

/// The bytes of a class's turn.
fn quantum(words: &mut Words, kind: u16) -> Result<Options> {
    let mut options = Attributes::new();
    while let Some(word) = words.take() {
        match word {
            "quantum" => options.u32(kind, words.size(word)?),
            other => return Err(words.unknown(other)),
        };
    }
    Ok(Some(options))
}

pub const ETS: Encoder = Encoder { takes: ETS_TAKES, encode: encode_ets };

fn encode_ets(words: &mut Words) -> Result<Options> {
    let (mut bands, mut strict): (u8, u8) = (0, 0);
    let (mut quanta, mut map): (Vec<u32>, Vec<u8>) = (Vec::new(), Vec::new());
    while let Some(word) = words.take() {
        match word {
            "bands" => bands = words.number(word)?,
            "strict" => strict = words.number(word)?,
            "quanta" => quanta = numbers(words, word)?,
            "priomap" => map = numbers(words, word)?,
            other => return Err(words.unknown(other)),
        }
    }
    if bands == 0 {
        bands = strict.saturating_add(quanta.len() as u8);
    }
    if bands == 0
        || usize::from(strict) + quanta.len() > usize::from(bands)
        || map.iter().any(|band| *band >= bands)
    {
        return Err(words.fault(
            "'bands' must be at least the strict ones and the quanta, and above every band of 'priomap'",
        ));
    }
    Ok(Some(ets_options(bands, strict, &quanta, &map)))
}

fn ets_options(bands: u8, strict: u8, quanta: &[u32], map: &[u8]) -> Attributes {
    let mut options = Attributes::new();
    options.u8(TCA_ETS_NBANDS, bands);
    if strict > 0 {
        options.u8(TCA_ETS_NSTRICT, strict);
    }
    if !quanta.is_empty() {
        options.nest(TCA_ETS_QUANTA | NESTED, |inner| {
            for quantum in quanta {
                inner.u32(TCA_ETS_QUANTA_BAND, *quantum);
            }
        });
    }
    if !map.is_empty() {
        options.nest(TCA_ETS_PRIOMAP | NESTED, |inner| {
            for band in map {
                inner.u8(TCA_ETS_PRIOMAP_BAND, *band);
            }
        });
    }
    options
}
