//! Raw tables: a JSON header, then rows of a fixed stride (`docs/record-format.md`).

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{json, Value};

use crate::error::{Context, Error, Result};
use crate::kernel::sys::mapped::Mapped;
use crate::kernel::sys::{files, machine};

const MAGIC: &[u8; 8] = b"RUSHRAW1";
const ALIGN: usize = 64;
const BUFFER: usize = 1 << 18;
/// What a buffer begins with: many tables have a header and a few rows.
const FIRST: usize = 1 << 14;
/// So much of a buffer is made ready before rows come to it.
const READY: usize = 1 << 15;
/// So much of a table stays in memory.
const KEPT: usize = 1 << 20;

/// Puts the rows of a table, which begin with a stamp in nanoseconds (`i64`), into the order of time. Equal stamps stay as
/// they are. The table is not read into memory, however large it is: that takes a number for each row.
///
/// # Errors
/// A file that cannot be read or written, or that is no table.
pub fn sort_by_time(folder: &Path, table: &str) -> Result<()> {
    let path = folder.join(format!("{table}.rh"));
    let bytes = File::open(&path).and_then(|file| Mapped::new(&file));
    let bytes = bytes.context(format_args!("read {}", path.display()))?;
    let torn = || Error::new("system", format!("{} is not a raw table", path.display()));
    let (begin, stride) = shape(&bytes).ok_or_else(torn)?;
    let row = |number: usize| &bytes[begin + number * stride..][..stride];
    let stamp = |number: usize| row(number).first_chunk().map_or(0, |stamp| i64::from_le_bytes(*stamp));
    let count = (bytes.len() - begin) / stride;
    if (0..count).is_sorted_by_key(stamp) {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|number| (stamp(*number), *number));
    // Under another name first: whatever happens, one of them is whole.
    let part = folder.join(format!("{table}.rh.part"));
    let written = File::create(&part).and_then(|file| {
        let mut to = BufWriter::with_capacity(BUFFER, file);
        to.write_all(&bytes[..begin])?;
        order.iter().try_for_each(|number| to.write_all(row(*number)))?;
        to.flush()?;
        fs::rename(&part, &path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&part))).context(format_args!("write {}", path.display()))
}

/// Where the rows of a table begin, and how long each is.
fn shape(bytes: &[u8]) -> Option<(usize, usize)> {
    let length = u32::from_le_bytes(*bytes.get(MAGIC.len()..)?.first_chunk()?) as usize;
    let text = bytes.get(MAGIC.len() + 4..)?.get(..length)?;
    let header: Value = serde_json::from_slice(text).ok()?;
    let begin = (MAGIC.len() + 4 + length).next_multiple_of(ALIGN);
    let sizes = header["columns"].as_array()?.iter().map(|column| size(column[1].as_str()?));
    let stride = sizes.sum::<Option<usize>>()?;
    (begin <= bytes.len() && stride >= 8).then_some((begin, stride))
}

/// Bytes of a numpy type (`<u4`, `S16`, `u1`).
fn size(kind: &str) -> Option<usize> {
    kind.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}

/// Collects rows and writes them in large pieces: a system call inside a virtual kernel costs more than a thousand rows.
#[derive(Debug)]
pub struct TableWriter {
    file: File,
    buffer: Vec<u8>,
    stride: usize,
    /// How far pages of the buffer are at hand.
    ready: usize,
    /// Bytes that have been written and not left memory.
    kept: usize,
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
        let mut buffer = Vec::with_capacity(FIRST);
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&(header.len() as u32).to_le_bytes());
        buffer.extend_from_slice(header.as_bytes());
        buffer.resize(buffer.len().next_multiple_of(ALIGN), 0);
        Ok(Self { file, buffer, stride, ready: FIRST, kept: 0 })
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
            self.kept += self.buffer.len();
            self.flush()?;
            if self.kept >= KEPT && machine::owns_kernel() {
                files::leave_memory(&self.file);
                self.kept = 0;
            }
            return Ok(());
        }
        if self.buffer.len() + self.stride > self.ready {
            self.make_ready();
        }
        Ok(())
    }

    /// Room for more rows, its pages at hand.
    fn make_ready(&mut self) {
        let begun = self.buffer.len();
        self.ready = begun + READY;
        if self.buffer.capacity() >= BUFFER {
            let next = self.buffer.spare_capacity_mut();
            machine::have_ready(&next[..READY.min(next.len())]);
            return;
        }
        let mut whole: Vec<u8> = Vec::with_capacity(BUFFER.max(self.ready));
        machine::have_ready(&whole.spare_capacity_mut()[..self.ready]);
        whole.extend_from_slice(&self.buffer);
        self.buffer = whole;
    }

    pub fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_all(&self.buffer).context("write a raw table")?;
            self.buffer.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_all_its_rows_however_many_they_are() {
        let folder = std::env::temp_dir().join(format!("table-rows-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        // None; within what a buffer begins with; beyond; beyond what is made ready; several buffers.
        for rows in [0, 3, FIRST / 24 + 1, (FIRST + READY) / 24 + 1, 3 * BUFFER / 24] {
            let columns = [("t_ns", "<i8".to_owned()), ("more", "V16".to_owned())];
            let mut table = TableWriter::create(&folder, "t", &columns, 24, &json!({})).expect("a table");
            for row in 0..rows {
                table.row().extend((row as u64).to_le_bytes());
                table.row().extend([row as u8; 16]);
                table.written().expect("written");
            }
            table.flush().expect("written");
            let bytes = fs::read(folder.join("t.rh")).expect("a file");
            let (begin, stride) = shape(&bytes).expect("a shape");
            assert_eq!((stride, bytes.len()), (24, begin + 24 * rows));
            for (number, row) in bytes[begin..].chunks_exact(24).enumerate() {
                assert_eq!(row[..8], (number as u64).to_le_bytes());
                assert_eq!(row[8..], [number as u8; 16]);
            }
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn rows_of_several_cpus_come_into_the_order_of_time() {
        let folder = std::env::temp_dir().join(format!("table-test-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let columns = [("t_ns", "<i8".to_owned()), ("cpu", "u1".to_owned())];
        let mut table = TableWriter::create(&folder, "t", &columns, 9, &json!({})).expect("a table");
        let rows = [(5_i64, 0_u8), (-3, 0), (5, 1), (4, 1)];
        for (stamp, cpu) in rows {
            table.row().extend(stamp.to_le_bytes());
            table.row().push(cpu);
            table.written().expect("written");
        }
        table.flush().expect("written");
        let before = fs::read(folder.join("t.rh")).expect("a file");
        sort_by_time(&folder, "t").expect("sorted");
        let after = fs::read(folder.join("t.rh")).expect("a file");
        let (begin, stride) = shape(&after).expect("a shape");
        assert_eq!((before.len(), &before[..begin], stride), (after.len(), &after[..begin], 9));
        let found: Vec<(i64, u8)> = after[begin..]
            .chunks_exact(9)
            .map(|row| (i64::from_le_bytes(*row.first_chunk().expect("8 bytes")), row[8]))
            .collect();
        assert_eq!(found, [(-3, 0), (4, 1), (5, 0), (5, 1)]);
        fs::write(folder.join("t.rh"), b"RUSHRAW1").expect("written");
        assert!(sort_by_time(&folder, "t").is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
