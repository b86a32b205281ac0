//! What was changed, on disk before it happens: lines of JSON in `/run/rushhour`, one file for each keeper.
//!
//! The first line says whose it is, then each change has a line with its value before, and one when it is done or undone.
//! A journal is locked as long as its keeper lives; one that is not is an orphan, whose changes are to be undone,
//! unless it says `kept`. `/run` is empty after a restart, and so are the settings.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use super::{error, namespaces};
use crate::error::{Context, Error, Result};
use crate::kernel::sys::{self, files};

const FOLDER: &str = "/run/rushhour";
const FORMAT: &str = "rushhour-journal/1";

/// Whose journal it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    format: String,
    boot_id: String,
    /// The network namespace, by its cookie, which is never given again, and by its inode, which can be looked for.
    pub netns: u64,
    inode: u64,
    pub pid: u32,
    /// Seconds since 1970.
    pub since: i64,
    /// Who asked for the changes, in words.
    pub who: String,
}

/// A change and what was there before.
#[derive(Debug, Clone)]
pub struct Entry {
    pub change: Value,
    pub before: Value,
    /// What was read afterwards; `None` as long as that is not known.
    pub after: Option<Value>,
    pub undone: bool,
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    pub header: Header,
    pub entries: Vec<Entry>,
    pub kept: bool,
    /// Whether this process has the lock.
    owned: bool,
}

/// All journals of this host: while it is there, nobody else looks at them or begins one.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
    _lock: File,
}

fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

impl Shelf {
    /// Waits for its turn.
    pub fn open() -> Result<Self> {
        loop {
            // Nobody else may open it: who holds a lock on it keeps all others waiting.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(FOLDER);
            made.map_err(|cause| forbidden("make", &cause))?;
            let folder = match File::open(FOLDER) {
                Ok(folder) => folder,
                // Another one has removed it in between.
                Err(cause) if cause.kind() == ErrorKind::NotFound => continue,
                Err(cause) => return Err(forbidden("open", &cause)),
            };
            files::lock(&folder, true).context(format_args!("lock {FOLDER}"))?;
            // Another one may have removed it in between.
            let same = |one: &fs::Metadata, other: &fs::Metadata| one.ino() == other.ino();
            if let (Ok(mine), Ok(there)) = (folder.metadata(), fs::metadata(FOLDER)) {
                if same(&mine, &there) {
                    return Ok(Self { folder: PathBuf::from(FOLDER), _lock: folder });
                }
            }
        }
    }

    /// A new journal, locked by this process.
    pub fn begin(&self, netns: u64, who: &str) -> Result<Journal> {
        let header = Header {
            format: FORMAT.to_owned(),
            boot_id: boot_id(),
            netns,
            inode: namespaces::here(),
            pid: std::process::id(),
            since: sys::time::realtime_ns() / 1_000_000_000,
            who: who.chars().filter(|letter| !letter.is_control()).take(200).collect(),
        };
        let name = format!("settings-{}-{}.journal", header.pid, sys::time::monotonic_ns());
        let path = self.folder.join(name);
        let file = File::options().append(true).create_new(true).open(&path);
        let file = file.context(format_args!("write {}", path.display()))?;
        files::lock(&file, false).context(format_args!("lock {}", path.display()))?;
        let mut journal = Journal { path, file, header, entries: Vec::new(), kept: false, owned: true };
        journal.line(&json!(journal.header))?;
        Ok(journal)
    }

    /// Every journal of this boot, and of a namespace that may still be there, with whether its keeper lives, the oldest first; those nobody lives for are locked now.
    pub fn all(&self) -> Vec<(Journal, bool)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let journals = entries.filter(|path| path.extension().is_some_and(|end| end == "journal"));
        let mut found: Vec<(Journal, bool)> = journals.filter_map(Self::read).collect();
        found.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        found.sort_by_key(|(journal, _)| journal.header.since);
        found
    }

    fn read(path: PathBuf) -> Option<(Journal, bool)> {
        let mut file = File::options().read(true).append(true).open(&path).ok()?;
        let alive = !files::lock(&file, false).ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let mut journal = parse(path, file, &text)?;
        let header = &journal.header;
        if header.boot_id != boot_id() || !alive && namespaces::is_gone(header.inode) {
            let _ = fs::remove_file(&journal.path);
            return None;
        }
        journal.owned = !alive;
        Some((journal, alive))
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // Only when nothing is in it.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the folder if nothing is in it and nobody looks at it, who would do so later.
pub fn tidy() {
    let Ok(folder) = File::open(FOLDER) else { return };
    if files::lock(&folder, false).is_ok_and(|locked| locked) {
        let _ = fs::remove_dir(FOLDER);
    }
}

fn forbidden(what: &str, cause: &std::io::Error) -> Error {
    error(format!("{what} {FOLDER}: {cause}"))
        .hint("Settings are changed, and what was changed is listed, by root only; or let the inventory say sudo = true.")
}

/// A journal from its lines; what a kill tore off at the end is not there.
fn parse(path: PathBuf, file: File, text: &str) -> Option<Journal> {
    let mut lines = text.lines();
    let header: Header =
        serde_json::from_str(lines.next()?).ok().filter(|header: &Header| header.format == FORMAT)?;
    let mut journal = Journal { path, file, header, entries: Vec::new(), kept: false, owned: false };
    for line in lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        journal.replay(&line);
    }
    Some(journal)
}

impl Journal {
    fn replay(&mut self, line: &Value) {
        if let Some(change) = line.get("change") {
            let (change, before) = (change.clone(), line["before"].clone());
            self.entries.push(Entry { change, before, after: None, undone: false });
        }
        let number = |name: &str| line.get(name).and_then(Value::as_u64).map(|number| number as usize);
        if let Some(entry) = number("done").and_then(|number| self.entries.get_mut(number)) {
            entry.after = Some(line["after"].clone());
        }
        if let Some(entry) = number("undone").and_then(|number| self.entries.get_mut(number)) {
            entry.undone = true;
        }
        if let Some(kept) = line.get("kept").and_then(Value::as_bool) {
            self.kept = kept;
        }
    }

    /// Writes a line in one piece and takes it as read.
    fn line(&mut self, line: &Value) -> Result<()> {
        let text = format!("{line}\n");
        self.file.write_all(text.as_bytes()).context(format_args!("write {}", self.path.display()))?;
        self.replay(line);
        Ok(())
    }

    /// Says what is about to be changed; gives its number.
    pub fn intend(&mut self, change: &Value, before: &Value) -> Result<usize> {
        self.line(&json!({ "change": change, "before": before }))?;
        Ok(self.entries.len() - 1)
    }

    pub fn done(&mut self, number: usize, after: &Value) -> Result<()> {
        self.line(&json!({ "done": number, "after": after }))
    }

    /// Says that a change is undone. Failing to write that is no reason to leave others in place.
    pub fn undone(&mut self, number: usize) {
        if self.line(&json!({ "undone": number })).is_err() {
            self.entries[number].undone = true;
        }
    }

    /// The journal of a process that is dying: its files are closed one after the other, and this one may be the last.
    pub fn take_over(self) -> Result<Option<Self>> {
        files::lock(&self.file, true).context(format_args!("lock {}", self.path.display()))?;
        let path = self.path.clone();
        drop(self);
        Ok(Shelf::read(path).map(|(journal, _)| journal))
    }

    /// From here on nobody undoes it without being asked to.
    pub fn keep(&mut self) -> Result<()> {
        self.line(&json!({ "kept": true }))
    }

    /// Changes that still stand.
    pub fn standing(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.undone)
    }
}

impl Drop for Journal {
    /// Removes the file when no change stands any more.
    fn drop(&mut self) {
        if self.owned && self.standing().next().is_none() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(lines: &str) -> Option<Journal> {
        let file = File::open("/dev/null").expect("a file");
        parse(PathBuf::from("/nowhere"), file, lines)
    }

    const HEAD: &str = r#"{"format":"rushhour-journal/1","boot_id":"b","netns":1,"inode":2,"pid":7,"since":9,"who":"a test"}"#;

    #[test]
    fn a_journal_is_read_as_far_as_it_was_written() {
        let lines = format!(
            "{HEAD}\n{}\n{}\n{}\n{}",
            r#"{"change":{"kind":"mtu"},"before":1}"#,
            r#"{"done":0,"after":2}"#,
            r#"{"change":{"kind":"ring"},"before":3}"#,
            r#"{"done":1,"aft"#
        );
        let journal = journal(&lines).expect("a journal");
        assert_eq!(journal.entries.len(), 2);
        assert_eq!(journal.entries[0].after, Some(json!(2)));
        assert_eq!(journal.entries[1].after, None);
        assert_eq!(journal.standing().count(), 2);
    }

    #[test]
    fn what_is_undone_stands_no_more() {
        let lines =
            format!("{HEAD}\n{}\n{{\"undone\":0}}\n{{\"kept\":true}}\n", r#"{"change":{},"before":1}"#);
        let journal = journal(&lines).expect("a journal");
        assert!(journal.kept);
        assert_eq!(journal.standing().count(), 0);
    }

    #[test]
    fn other_files_are_no_journals() {
        assert!(journal("").is_none());
        assert!(journal("{}").is_none());
        assert!(journal(&HEAD.replace("/1", "/2")).is_none());
    }
}
