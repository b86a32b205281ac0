//! What the seeded elements have seen and dropped.

use std::path::Path;

use serde_json::json;

use super::columns;
use crate::error::Result;
use crate::path::{Topology, Wired};
use crate::record::table::TableWriter;

#[derive(Debug)]
pub struct Wires<'a> {
    topology: &'a Topology,
    table: Option<TableWriter>,
}

impl<'a> Wires<'a> {
    /// No table when the topology has no wire.
    pub fn open(topology: &'a Topology, raw: &Path) -> Result<Self> {
        let columns = columns(&[("t_ns", "<i8"), ("end", "<u4"), ("packets", "<u8"), ("lost", "<u8")]);
        let create = || TableWriter::create(raw, "wire", &columns, 28, &json!({}));
        let table = (!topology.wires().is_empty()).then(create).transpose()?;
        Ok(Self { topology, table })
    }

    pub fn read(&mut self, now_ns: i64) -> Result<()> {
        let Some(table) = &mut self.table else { return Ok(()) };
        let wires: Vec<&Wired> = self.topology.wires().iter().map(|(_, wired)| &**wired).collect();
        let counted = Wired::read_each(&wires)?;
        for ((end, _), (packets, lost)) in self.topology.wires().iter().zip(counted) {
            let row = table.row();
            row.extend(now_ns.to_le_bytes());
            row.extend(end.to_le_bytes());
            row.extend(packets.to_le_bytes());
            row.extend(lost.to_le_bytes());
            table.written()?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), TableWriter::flush)
    }
}
