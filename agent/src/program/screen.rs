//! The terminal of a program at which a person sits: a pair of the guest's, and the turns in which the launcher carries
//! keys and output, and holds virtual time to the clock on the wall.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::error::{Context, Error, Result};
use crate::kernel::sys::{mounts, terminal, time};
use crate::turn::{Answer, Asked, ANSWERED, ASKED, FOLDER, SAID};

/// What terminals need: the folder of their names, and devices by major and minor number.
const NAMES: &str = "/dev/pts";
const DEVICES: [(&str, (u32, u32)); 2] = [("/dev/ptmx", (5, 2)), ("/dev/tty", (5, 0))];

/// The folder of turns below `out`, where a person sits at a terminal.
pub(super) fn asked_for(out: &std::path::Path) -> Option<PathBuf> {
    Some(out.join(FOLDER)).filter(|folder| folder.is_dir())
}

/// Gives a virtual kernel terminals.
///
/// # Errors
/// A kernel without them.
pub(super) fn furnish() -> Result<()> {
    fs::create_dir_all(NAMES).context(format_args!("make {NAMES}"))?;
    mounts::mount("none", NAMES, "devpts", "mode=620,ptmxmode=666").map_err(|cause| {
        Error::system("give the shell a terminal: this kernel has none", &cause)
            .hint("an older Rush Hour built it: `rushhour kernel build` its source again")
    })?;
    for (path, numbers) in DEVICES {
        mounts::character_device(path.as_ref(), numbers).context(format_args!("make {path}"))?;
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct Screen {
    folder: PathBuf,
    keys: OwnedFd,
    turn: u64,
    /// When the next turn is due, on `CLOCK_MONOTONIC`.
    due_ns: i64,
    size: terminal::Size,
    said: Vec<u8>,
    /// Keys that the terminal did not take yet.
    typed: Vec<u8>,
}

impl Screen {
    /// A new terminal, of the size of the person's; and the program's end of it.
    pub fn open(folder: PathBuf) -> io::Result<(Self, OwnedFd)> {
        let (keys, program) = terminal::pair()?;
        let (said, typed) = (Vec::new(), Vec::new());
        let mut screen = Self { folder, keys, turn: 0, due_ns: 0, size: (0, 0), said, typed };
        screen.turn(false)?;
        Ok((screen, program))
    }

    /// The end by which the program's output is read.
    pub fn output(&self) -> io::Result<OwnedFd> {
        self.keys.try_clone()
    }

    pub fn due_ns(&self) -> i64 {
        self.due_ns
    }

    pub fn show(&mut self, text: &[u8]) {
        self.said.extend_from_slice(text);
    }

    /// Has a turn if one is due, or there is something to show.
    pub fn turn_if_due(&mut self) -> io::Result<()> {
        if self.said.is_empty() && time::monotonic_ns() < self.due_ns {
            return Ok(());
        }
        self.turn(false)
    }

    /// Shows what was printed, and takes what was typed. It returns when the clock on the wall is as far as this one.
    pub fn turn(&mut self, last: bool) -> io::Result<()> {
        let t_ns = time::monotonic_ns();
        self.turn += 1;
        fs::write(self.folder.join(SAID), &self.said)?;
        self.said.clear();
        let asked = Asked { turn: self.turn, t_ns, room: self.typed.is_empty(), last };
        let mut file = File::create(self.folder.join(ASKED))?;
        file.write_all(&serde_json::to_vec(&asked)?)?;
        // Here it waits. Nobody's clock goes on meanwhile.
        file.sync_data()?;
        // Opened for each turn: what the host wrote since would not be seen otherwise.
        let whole = fs::read(self.folder.join(ANSWERED))?;
        let (answer, keys) = Answer::read(&whole)
            .filter(|(answer, _)| answer.turn == self.turn)
            .ok_or_else(|| io::Error::other("nobody answers at the terminal"))?;
        self.due_ns = t_ns + answer.pace_ns;
        self.typed.extend_from_slice(keys);
        let size = (answer.rows, answer.columns);
        if size != self.size && answer.rows > 0 {
            self.size = size;
            terminal::resize(&self.keys, size)?;
        }
        if !self.typed.is_empty() {
            let taken = terminal::press(&self.keys, &self.typed)?;
            self.typed.drain(..taken);
        }
        Ok(())
    }
}
