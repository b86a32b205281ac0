//! `stab`: the size table that makes any qdisc count other sizes than the packet's own (`tc-stab(8)`).

use super::rate::LinkLayer;
use super::words::Words;
use crate::error::Result;
use crate::kernel::netlink::Attributes;

pub const TAKES: &[&str] = &["overhead", "mpu", "mtu", "tsize", "linklayer"];

const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;
const DEFAULT_MTU: u32 = 2047;
const DEFAULT_CELLS: u32 = 512;
/// What fits an attribute.
const MOST_CELLS: u32 = 16_384;

#[derive(Default)]
struct Table {
    link_layer: Option<LinkLayer>,
    overhead: i32,
    mpu: u32,
    mtu: u32,
    cells: u32,
}

/// Reads the words after `stab` and leaves the first one that is not its own.
pub fn encode(words: &mut Words) -> Result<Attributes> {
    let mut table = Table::default();
    while let Some(word) = words.peek().filter(|word| TAKES.contains(word)) {
        words.take();
        match word {
            "overhead" => table.overhead = words.integer(word)?,
            "mpu" => table.mpu = words.number(word)?,
            "mtu" => table.mtu = words.number(word)?,
            "tsize" => table.cells = words.number(word)?,
            _ => table.link_layer = Some(LinkLayer::read(words)?),
        }
    }
    if table.cells > MOST_CELLS {
        return Err(words.fault(format_args!("stab: 'tsize {}' is more than {MOST_CELLS}", table.cells)));
    }
    Ok(table.encode())
}

impl Table {
    fn encode(mut self) -> Attributes {
        let mut options = Attributes::new();
        if self.link_layer != Some(LinkLayer::Atm) && self.mpu == 0 {
            (self.mtu, self.cells) = (0, 0);
            options.put(TCA_STAB_BASE, &self.spec(0, 0, 0));
            return options;
        }
        self.mtu = if self.mtu == 0 { DEFAULT_MTU } else { self.mtu };
        self.cells = if self.cells == 0 { DEFAULT_CELLS } else { self.cells };
        let cell_log = (0..31_u8).find(|shift| self.mtu >> shift < self.cells).unwrap_or(31);
        let layer = self.link_layer.unwrap_or_default();
        let size = |cell: u32| layer.wire_size((cell + 1).wrapping_mul(1 << cell_log), self.mpu);
        let fits = |shift: &u8| (0..self.cells).all(|cell| u16::try_from(size(cell) >> shift).is_ok());
        let size_log = (0..16_u8).find(fits).unwrap_or(16);
        options.put(TCA_STAB_BASE, &self.spec(cell_log, size_log, -1));
        let data: Vec<u8> =
            (0..self.cells).flat_map(|cell| ((size(cell) >> size_log) as u16).to_ne_bytes()).collect();
        options.put(TCA_STAB_DATA, &data);
        options
    }

    /// `struct tc_sizespec`.
    fn spec(&self, cell_log: u8, size_log: u8, cell_align: i16) -> Vec<u8> {
        let mut bytes = vec![cell_log, size_log];
        bytes.extend(cell_align.to_ne_bytes());
        bytes.extend(self.overhead.to_ne_bytes());
        for field in [self.link_layer.map_or(0, |layer| layer as u32), self.mpu, self.mtu, self.cells] {
            bytes.extend(field.to_ne_bytes());
        }
        bytes
    }
}
