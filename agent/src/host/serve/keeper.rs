//! Who stays behind when the agent is killed: a process that holds the other end of a pipe, and removes what was told to it
//! once that pipe is closed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::kernel::sys::{self, process};

/// A folder of trace events is busy until the last reader of its ring is gone.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(100);
const PIPE_BYTES: usize = 1 << 16;

/// Something that must not outlive the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// A folder with all that is in it.
    Folder(PathBuf),
    /// A folder that the kernel fills and empties itself (an instance of the tracer).
    Instance(PathBuf),
}

impl Leftover {
    fn line(&self) -> String {
        let (word, path) = match self {
            Self::Folder(path) => ("folder", path),
            Self::Instance(path) => ("instance", path),
        };
        format!("{word} {}\n", path.display())
    }

    /// A path of our own making: absolute, without `..`, on one line, and ours by its last name.
    fn is_ours(path: &Path) -> bool {
        let named = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("rushhour"));
        let plain = path.components().all(|part| part != Component::ParentDir);
        named && plain && path.is_absolute() && !path.as_os_str().as_bytes().contains(&b'\n')
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, path) = line.split_once(' ')?;
        let path = Some(PathBuf::from(path)).filter(|path| Self::is_ours(path))?;
        match word {
            "folder" => Some(Self::Folder(path)),
            "instance" => Some(Self::Instance(path)),
            _ => None,
        }
    }

    /// Removes it; nothing there is nothing to do.
    pub fn remove(&self) -> io::Result<()> {
        let attempt = || match self {
            Self::Folder(path) => fs::remove_dir_all(path),
            Self::Instance(path) => fs::remove_dir(path),
        };
        let mut outcome = attempt();
        for _ in 0..TRIES {
            match &outcome {
                Err(cause) if cause.raw_os_error() == Some(libc::EBUSY) => thread::sleep(BETWEEN),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
                _ => return outcome,
            }
            outcome = attempt();
        }
        outcome
    }
}

/// The agent's side of the pipe.
#[derive(Debug)]
pub struct Keeper {
    to: Mutex<File>,
    kept: Mutex<Vec<Leftover>>,
}

impl Keeper {
    /// Starts the process. Call it before the first thread.
    pub fn start() -> io::Result<Self> {
        let (from, to) = sys::files::pipe(PIPE_BYTES)?;
        process::spawn_apart(&from, || keep(&from))?;
        Ok(Self { to: Mutex::new(File::from(to)), kept: Mutex::default() })
    }

    /// From now on this is removed at the end, whatever the end is. Call it before the thing is made.
    pub fn keep(&self, leftover: Leftover) -> io::Result<()> {
        let (Leftover::Folder(path) | Leftover::Instance(path)) = &leftover;
        if !Leftover::is_ours(path) {
            return Err(io::Error::other(format!("{} is not a path that this agent makes", path.display())));
        }
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(leftover.line().as_bytes())?;
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(leftover);
        Ok(())
    }

    /// Removes everything now, the newest first.
    pub fn clean(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for leftover in kept.iter().rev() {
            if let Err(cause) = leftover.remove() {
                eprintln!("rushhour-agent: remove {leftover:?}: {cause}");
            }
        }
    }
}

fn keep(from: &OwnedFd) {
    let mut told = String::new();
    let Ok(mut from) = from.try_clone().map(File::from) else { return };
    // The end of the pipe is the end of the agent.
    let _whatever_came = from.read_to_string(&mut told);
    for leftover in told.lines().rev().filter_map(Leftover::parse) {
        let _nobody_hears = leftover.remove();
    }
}

/// What this process calls something that others can see: numbers of processes mean something in their namespace only, and
/// containers may share a folder.
#[must_use]
pub fn own_name(prefix: &str) -> String {
    format!("{prefix}{}-{}", namespace(), std::process::id())
}

/// The namespace of process numbers.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

/// Removes what processes that are no more have left in a folder, under names of [`own_name`].
pub fn sweep(folder: &Path, prefix: &str, leftover: fn(PathBuf) -> Leftover) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix)?.split_once('-'));
        let whose = rest.and_then(|(space, pid)| Some((space.parse().ok()?, pid.parse().ok()?)));
        let mine = entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == process::user());
        if mine && whose.is_some_and(|(space, pid)| is_dead(space, pid)) {
            let _next_time = leftover(entry.path()).remove();
        }
    }
}

/// Whether a process is known to be gone. Of another namespace that is known where all can be seen, and when nobody is left
/// in that one (a container that was killed).
fn is_dead(space: u64, pid: i32) -> bool {
    /// Of the machine's first one (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`).
    const FIRST: u64 = 0xEFFF_FFFC;
    if space == namespace() {
        return pid > 0 && !process::lives(pid);
    }
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let lives_there = |entry: fs::DirEntry| {
        fs::metadata(entry.path().join("ns/pid")).is_ok_and(|about| about.ino() == space)
    };
    namespace() == FIRST && process::is_root() && !processes.flatten().any(lives_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let paths = ["/tmp/a b/rushhour-agent-1", "/sys/rushhour-2"].map(PathBuf::from);
        for leftover in [Leftover::Folder(paths[0].clone()), Leftover::Instance(paths[1].clone())] {
            assert_eq!(Leftover::parse(leftover.line().trim_end()), Some(leftover));
        }
        for path in ["/tmp", "/tmp/rushhour-1/..", "/a/../rushhour-1", "rushhour-1", "/"] {
            assert_eq!(Leftover::parse(&format!("folder {path}")), None, "{path}");
        }
        assert!(!Leftover::is_ours(Path::new("/x\nfolder /home/rushhour-1")));
        assert_eq!(Leftover::parse("file /etc/passwd"), None);
    }

    #[test]
    fn only_what_dead_processes_left_is_swept() {
        let folder = std::env::temp_dir().join(format!("sweep-test-{}", std::process::id()));
        let own = own_name("x-");
        // Process numbers end at 2^22.
        let dead = format!("x-{}-99999999", namespace());
        // Nobody lives in this one; but only who sees all processes can know.
        let foreign = "x-1-99999999".to_owned();
        for name in [&own, &dead, &foreign, "x-", "x-abc", "y-99999999"] {
            fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        sweep(&folder, "x-", Leftover::Folder);
        let mut left: Vec<String> = fs::read_dir(&folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        left.retain(|name| *name != foreign);
        left.sort();
        let mut expected = vec![own, "x-".to_owned(), "x-abc".to_owned(), "y-99999999".to_owned()];
        expected.sort();
        assert_eq!(left, expected);
        Leftover::Folder(folder.clone()).remove().expect("removed");
        assert!(!folder.exists());
        Leftover::Folder(folder).remove().expect("nothing to do");
    }
}
