//! Rates as the older qdiscs take them: a `struct tc_ratespec` and a table of transmission times.
//!
//! Kernels since 3.8 look at the rate alone, but still insist on the table.

use super::units::transmit_ticks;
use super::words::Words;
use crate::error::Result;

const CELLS: u32 = 256;
const DEFAULT_MTU: u32 = 2047;
const ATM_CELL: u32 = 53;
const ATM_CELL_PAYLOAD: u32 = 48;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkLayer {
    #[default]
    Ethernet = 1,
    Atm = 2,
}

impl LinkLayer {
    pub fn read(words: &mut Words) -> Result<Self> {
        match words.value("linklayer")? {
            "ethernet" => Ok(Self::Ethernet),
            "atm" | "adsl" => Ok(Self::Atm),
            other => {
                Err(words
                    .fault(format_args!("link layer '{other}' is not known; ethernet, atm and adsl are")))
            }
        }
    }

    /// Bytes on the wire of a packet of `size`, at least `mpu`: ATM fills whole cells.
    #[must_use]
    pub fn wire_size(self, size: u32, mpu: u32) -> u32 {
        let size = size.max(mpu);
        match self {
            Self::Ethernet => size,
            Self::Atm => size.div_ceil(ATM_CELL_PAYLOAD).wrapping_mul(ATM_CELL),
        }
    }
}

/// What a rate is made of before it is encoded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rate {
    /// Bytes a second.
    pub bytes: u64,
    pub mpu: u16,
    pub overhead: u16,
    pub link_layer: LinkLayer,
    /// Largest packet; 0 for the default.
    pub mtu: u32,
    /// Given cell size, as a power of two.
    pub cell_log: Option<u8>,
}

impl Rate {
    /// The rate where 32 bits must do; the full one goes beside it.
    #[must_use]
    pub fn saturated(&self) -> u32 {
        u32::try_from(self.bytes).unwrap_or(u32::MAX)
    }

    /// The full rate, when it needs more than 32 bits.
    #[must_use]
    pub fn wide(&self) -> Option<u64> {
        (self.bytes > u64::from(u32::MAX)).then_some(self.bytes)
    }

    fn cell_log(&self) -> u8 {
        let mtu = if self.mtu == 0 { DEFAULT_MTU } else { self.mtu };
        self.cell_log.unwrap_or_else(|| (0..32).find(|shift| mtu >> shift < CELLS).unwrap_or(0))
    }

    /// `struct tc_ratespec`.
    #[must_use]
    pub fn spec(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[0] = self.cell_log();
        bytes[1] = self.link_layer as u8;
        bytes[2..4].copy_from_slice(&self.overhead.to_ne_bytes());
        bytes[4..6].copy_from_slice(&(-1_i16).to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.mpu.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.saturated().to_ne_bytes());
        bytes
    }

    /// Ticks that 1, 2, … 256 cells take at `rate`.
    #[must_use]
    pub fn table(&self, rate: u64) -> Vec<u8> {
        let log = self.cell_log();
        // Enormous cells wrap around, as in tc: kernels do not look at the table.
        let size = |cell: u32| self.link_layer.wire_size(cell.wrapping_mul(1 << log), u32::from(self.mpu));
        (1..=CELLS).flat_map(|cell| transmit_ticks(rate, size(cell).into()).to_ne_bytes()).collect()
    }
}
