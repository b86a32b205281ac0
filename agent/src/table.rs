//! Raw tables: a JSON header, then rows of a fixed stride (`docs/record-format.md`).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::{json, Value};

use crate::error::{Context, Result};

const MAGIC: &[u8; 8] = b"RUSHRAW1";
const ALIGN: usize = 64;
const BUFFER: usize = 1 << 18;

/// Collects rows and writes them in large pieces: a system call inside a virtual kernel costs more than a thousand rows.
#[derive(Debug)]
pub struct TableWriter {
    file: File,
    buffer: Vec<u8>,
    stride: usize,
}

impl TableWriter {
    /// `columns` are names with numpy type strings, packed without gaps; `stride` is their total size in bytes.
    pub fn create(
        folder: &Path,
        table: &str,
        columns: &[(&str, String)],
        stride: usize,
        notes: &Value,
    ) -> Result<Self> {
        let path = folder.join(format!("{table}.rh"));
        let file = File::create(&path).context(format_args!("create {}", path.display()))?;
        let header = json!({"table": table, "version": 1, "columns": columns, "notes": notes}).to_string();
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&(header.len() as u32).to_le_bytes());
        buffer.extend_from_slice(header.as_bytes());
        buffer.resize(buffer.len().next_multiple_of(ALIGN), 0);
        Ok(Self { file, buffer, stride })
    }

    /// The buffer to append exactly one row to; call [`Self::written`] afterwards.
    pub fn row(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Bytes of one row.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Ends a row; writes the buffer when it is nearly full.
    pub fn written(&mut self) -> Result<()> {
        if self.buffer.len() + self.stride > BUFFER {
            return self.flush();
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_all(&self.buffer).context("write a raw table")?;
            self.buffer.clear();
        }
        Ok(())
    }
}
