//! Files beyond what the standard library does with them: pipes, waiting, locks, and which of them are open.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags};

use super::limits::most_open_files;
use super::time::{monotonic_ns, timespec};
use super::visit::{Number, Results, Visit};

/// A pipe that holds at least `size` bytes: its reading and its writing end.
pub fn pipe(size: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::pipe::fcntl_setpipe_size(&to, size)?;
    Ok((from, to))
}

/// Moves at most `length` bytes from a file into a pipe without copying.
pub fn splice(from: &impl AsFd, to: &impl AsFd, length: usize) -> io::Result<usize> {
    Ok(rustix::pipe::splice(from, None, to, None, length, SpliceFlags::empty())?)
}

/// Writes out what this kernel still holds of a file, and lets go of its pages. A virtual kernel's memory is the host's, which clears
/// each page that is touched for the first time.
pub fn leave_memory(file: &File) {
    const ALL: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let number = file.as_raw_fd() as u64;
    let mut visit = Visit::new();
    // SAFETY: no memory is passed.
    unsafe {
        visit.call(libc::SYS_sync_file_range, &[number, 0, 0, u64::from(ALL)]);
        visit.call(libc::SYS_fadvise64, &[number, 0, 0, libc::POSIX_FADV_DONTNEED as u64]);
    }
    // What does not leave stays until the end, when all is written.
    drop(visit.carry_out());
}

pub fn read(from: &impl AsFd, data: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from, data)?)
}

/// What usual files of `/proc` have at most.
const USUAL: usize = 8192;

/// The text of a file whose length nobody knows beforehand, as those of `/proc` are, in few visits to the kernel: the standard
/// library begins with pieces of 32 bytes.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = Text::of(path);
    let mut visit = Visit::new();
    let asked = text.ask(&mut visit);
    let results = visit.carry_out()?;
    text.read(asked, &results)
}

/// A text that is read by the calls of a list.
#[derive(Debug)]
pub struct Text {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The calls that read a text.
#[derive(Debug, Clone, Copy)]
pub struct Asked([Number; 2]);

impl Text {
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> Self {
        // The byte behind is for who looks whether there is more.
        Self { path: path.as_ref().to_owned(), bytes: vec![0; USUAL + 1] }
    }

    /// Puts the calls into a list.
    pub fn ask<'a>(&'a mut self, visit: &mut Visit<'a>) -> Asked {
        let file = visit.open(&self.path, libc::O_RDONLY);
        let (usual, behind) = self.bytes.split_at_mut(USUAL);
        let asked = [visit.read(file, usual), visit.read(file, behind)];
        visit.close(file);
        Asked(asked)
    }

    /// What was read. A text that is longer than usual is read once more, by the namespaces that this thread is in now.
    ///
    /// # Errors
    /// Why it cannot be read; `InvalidData` where it is no text.
    pub fn read(self, asked: Asked, results: &Results) -> io::Result<String> {
        let path = self.path.clone();
        self.read_usual(asked, results)?.map_or_else(|| long_text(&path), Ok)
    }

    /// The same; nothing where the text is longer than usual.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_usual(self, Asked([usual, behind]): Asked, results: &Results) -> io::Result<Option<String>> {
        let Self { mut bytes, .. } = self;
        let length = results.of(usual)?;
        if results.of(behind)? > 0 {
            return Ok(None);
        }
        bytes.truncate(length);
        String::from_utf8(bytes).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

fn long_text(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let (mut bytes, mut length) = (vec![0; 8 * USUAL], 0);
    loop {
        match read(&file, &mut bytes[length..]) {
            Ok(0) => break,
            Ok(some) => length += some,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Writes into a file that is there, as the switches of `/proc` and `/sys` are, in one visit to the kernel.
///
/// # Errors
/// Why it cannot be opened, or does not take the value; `WriteZero` where it takes a part of it.
pub fn write_text(path: &Path, value: &str) -> io::Result<()> {
    let mut visit = Visit::new();
    let asked = ask_to_write(&mut visit, path, value);
    wrote(visit.carry_out()?.of(asked)?, value)
}

/// Puts the calls of [`write_text`] into a list; [`wrote`] says of what the one that is given gave whether all went well.
pub fn ask_to_write<'a>(visit: &mut Visit<'a>, path: &Path, value: &'a str) -> Number {
    let file = visit.open(path, libc::O_WRONLY | libc::O_TRUNC);
    let written = visit.write(file, value.as_bytes());
    visit.close(file);
    written
}

/// See [`ask_to_write`].
pub fn wrote(size: usize, value: &str) -> io::Result<()> {
    if size < value.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

pub fn open_nonblocking(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Waits until a file can be read or has hung up, or `until_ns` of `CLOCK_MONOTONIC` has come; says which files can.
pub fn wait(files: &[BorrowedFd<'_>], until_ns: Option<i64>) -> io::Result<Vec<bool>> {
    let mut list: Vec<PollFd<'_>> = files.iter().copied().map(entry).collect();
    poll(&mut list, until_ns.map(|until| timespec((until - monotonic_ns()).max(0))).as_ref())?;
    Ok(list.iter().map(is_ready).collect())
}

/// Waits until one of these files can be read or has hung up, at most so long; says which can.
pub fn readable<const N: usize>(files: [BorrowedFd<'_>; N], wait_ns: i64) -> io::Result<[bool; N]> {
    let mut list = files.map(entry);
    poll(&mut list, Some(&timespec(wait_ns.max(0))))?;
    Ok(list.each_ref().map(is_ready))
}

/// A signal ends the wait, and nothing is ready then.
fn poll(list: &mut [PollFd<'_>], limit: Option<&Timespec>) -> io::Result<()> {
    match rustix::event::poll(list, limit) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

fn entry(file: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(file, PollFlags::IN)
}

fn is_ready(entry: &PollFd<'_>) -> bool {
    !entry.revents().is_empty()
}

/// Locks an open file against other openings of it; false if another one has it and `wait` is not wanted.
pub fn lock(file: &impl AsFd, wait: bool) -> io::Result<bool> {
    let how = if wait { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
    loop {
        match rustix::fs::flock(file, how) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
}

/// A file that whoever started this process left open for it under this number. What this process starts does not get it.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the file is only looked at; where nothing is open under the number, that is the error.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    let mine = rustix::io::fcntl_dupfd_cloexec(there, 3)?;
    // SAFETY: nobody else in this process knows of the number.
    unsafe { libc::close(number) };
    Ok(mine)
}

/// Puts `by` in the place of the standard input and gives what was there.
pub fn take_input(by: &impl AsFd) -> io::Result<OwnedFd> {
    let taken = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(by)?;
    Ok(taken)
}

/// Puts `by` in the place of the standard output and gives what was there.
pub fn take_output(by: &impl AsFd) -> io::Result<OwnedFd> {
    let taken = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(by)?;
    Ok(taken)
}

/// Puts `by` in the place of all three standard files.
pub fn replace_standard(by: &impl AsFd) -> io::Result<()> {
    rustix::stdio::dup2_stdin(by)?;
    rustix::stdio::dup2_stdout(by)?;
    Ok(rustix::stdio::dup2_stderr(by)?)
}

/// Closes all files but the standard ones and `kept`, or all without exception; what stayed open would keep others waiting for
/// this process, or this one for itself. Call it where nothing that is open will be used again.
pub fn close_but(kept: Option<BorrowedFd<'_>>) {
    let (first, kept) = kept.map_or((0, -1), |kept| (3, kept.as_raw_fd()));
    let range = |first: RawFd, last: libc::c_uint| {
        // SAFETY: touches no memory; nothing in this process uses those files any more.
        first as libc::c_uint > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    let below = kept < first || range(first, kept as libc::c_uint - 1);
    if below && range(first.max(kept + 1), libc::c_uint::MAX) {
        return;
    }
    // Linux before 5.9, or a filter that does not know the call.
    for number in open_files().into_iter().filter(|number| *number >= first && *number != kept) {
        // SAFETY: as above; closing what is not open only fails.
        unsafe { libc::close(number) };
    }
}

/// The files that this process has open; where nothing tells that, all that it could have.
fn open_files() -> Vec<RawFd> {
    /// A file may have been opened when the limit was higher than it is now.
    const USUAL: u64 = 1 << 16;
    const MOST: u64 = 1 << 20;
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        return entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    }
    (0..most_open_files().unwrap_or(MOST).clamp(USUAL, MOST) as RawFd).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_whole_however_long_it_is() {
        let path = std::env::temp_dir().join(format!("rushhour-text-{}", std::process::id()));
        for length in [0, 1, 8191, 8192, 8193, 100_000] {
            let text = "x".repeat(length);
            std::fs::write(&path, &text).expect("written");
            assert!(read_text(&path).expect("read") == text, "{length}");
        }
        std::fs::write(&path, [0xff]).expect("written");
        assert_eq!(read_text(&path).map_err(|cause| cause.kind()), Err(io::ErrorKind::InvalidData));
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(read_text(&path).map_err(|cause| cause.kind()), Err(io::ErrorKind::NotFound));
        assert!(read_text("/proc/self/status").is_ok_and(|text| text.starts_with("Name:")));
    }
}
