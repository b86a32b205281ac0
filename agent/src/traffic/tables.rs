//! The raw tables that flows fill themselves: `udp`, `ping` and `transaction`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use crate::error::Result;
use crate::plan::Kind;
use crate::record::table::TableWriter;

/// One arrival, echo or transaction. `u32` flow, `u32` number, and two stamps since the start in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub flow: u32,
    pub seq: u32,
    pub first_ns: i64,
    pub second_ns: i64,
}

const ROW_BYTES: usize = 24;

/// The tables of a run, each only where the plan has such a flow.
#[derive(Debug)]
pub(super) struct Tables {
    pub udp: Table,
    pub ping: Table,
    pub transaction: Table,
}

/// One table that many threads append to.
#[derive(Debug)]
pub(super) struct Table(Mutex<Option<TableWriter>>);

impl Tables {
    pub fn create(raw: &Path, kinds: &[Kind]) -> Result<Self> {
        let table = |name: &str, stamps: [&str; 2]| -> Result<Table> {
            let wanted = kinds.iter().any(|kind| kind.table() == Some(name));
            let writer = wanted.then(|| create(raw, name, stamps)).transpose()?;
            Ok(Table(Mutex::new(writer)))
        };
        Ok(Self {
            udp: table("udp", ["tx_ns", "rx_ns"])?,
            ping: table("ping", ["tx_ns", "rx_ns"])?,
            transaction: table("transaction", ["start_ns", "end_ns"])?,
        })
    }

    pub fn flush(&self) -> Result<()> {
        [&self.udp, &self.ping, &self.transaction]
            .into_iter()
            .try_for_each(|table| table.with(TableWriter::flush))
    }
}

fn create(raw: &Path, name: &str, [first, second]: [&str; 2]) -> Result<TableWriter> {
    let columns = [("flow", "<u4"), ("seq", "<u4"), (first, "<i8"), (second, "<i8")];
    TableWriter::create(
        raw,
        name,
        &columns.map(|(name, kind)| (name, kind.to_owned())),
        ROW_BYTES,
        &json!({}),
    )
}

impl Table {
    pub fn append(&self, rows: &[Row]) -> Result<()> {
        self.with(|writer| {
            for row in rows {
                let buffer = writer.row();
                buffer.extend_from_slice(&row.flow.to_le_bytes());
                buffer.extend_from_slice(&row.seq.to_le_bytes());
                buffer.extend_from_slice(&row.first_ns.to_le_bytes());
                buffer.extend_from_slice(&row.second_ns.to_le_bytes());
                writer.written()?;
            }
            Ok(())
        })
    }

    fn with(&self, work: impl FnOnce(&mut TableWriter) -> Result<()>) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(Ok(()), work)
    }
}
