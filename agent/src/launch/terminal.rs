//! The terminal of whoever started the launcher: its keys for the guest, the guest's output for it, in turns (`turn.rs`).
//!
//! Virtual time is held to the clock on the wall here: while a guest asks, it stands still, and it is answered when that clock is as
//! far. So time goes on as fast as a person expects, at most; a guest that has much to do takes longer.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::{guest, Options};
use crate::kernel::sys::asking::{self, Asking};
use crate::kernel::sys::terminal::{size, Raw};
use crate::kernel::sys::{files, process};
use crate::turn::{Answer, Asked, ANSWERED, ASKED, FOLDER, MOST_KEYS, MOST_SAID, SAID};

/// How long the clock on the wall goes on between two turns in which nothing happens.
const PACE: Duration = Duration::from_millis(20);
/// How far a guest may be behind and still catch up.
const BEHIND: Duration = Duration::from_millis(100);

/// What the command line says: the files of the terminal, and how much faster than the clock on the wall time may go on.
#[derive(Debug)]
pub struct Words {
    pub keys: i32,
    pub screen: i32,
    pub speed: f64,
}

impl Words {
    /// `KEYS,SCREEN,SPEED`.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("--terminal needs KEYS,SCREEN,SPEED, not {text:?}");
        let mut words = text.split(',');
        let mut next = || words.next().ok_or_else(wrong);
        let (keys, screen, speed) = (next()?, next()?, next()?);
        let number = |text: &str| text.parse::<i32>().ok().filter(|number| *number > 2).ok_or_else(wrong);
        let speed = speed.parse::<f64>().ok().filter(|speed| (1e-3..=1e6).contains(speed));
        Ok(Self { keys: number(keys)?, screen: number(screen)?, speed: speed.ok_or_else(wrong)? })
    }
}

/// A guest that asked and was not answered yet.
#[derive(Debug, Clone, Copy)]
struct Held {
    asking: Asking,
    asked: Asked,
    until: Instant,
}

/// Where both clocks stood at one instant.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    wall: Instant,
    guest_ns: i64,
}

pub struct Desk {
    keys: OwnedFd,
    screen: File,
    speed: f64,
    listener: OwnedFd,
    said: File,
    asked: File,
    answered: File,
    anchor: Option<Anchor>,
    held: Option<Held>,
    /// The last turn that was answered.
    done: u64,
    typed: Vec<u8>,
    raw: Option<Raw>,
}

/// Starts a guest of which a program has a terminal, and makes ready what serves it.
pub fn start(
    options: &Options,
    words: &Words,
    console: &File,
    warnings: &mut Vec<String>,
) -> io::Result<(Child, Desk)> {
    // The end of a guest has to be seen while its terminal is served; Linux before 5.3 cannot wait for both.
    process::open_process(process::my_pid())?;
    // Before anything is started: none of it shall have them.
    let (keys, screen) = (files::inherited(words.keys)?, files::inherited(words.screen)?);
    let turns = Files::create(&options.dir)?;
    let (listens, asks) = asking::hand_over()?;
    let keeper = guest::spawn(options, console, warnings, Some(asks))?;
    let listener = asking::receive_file(&listens)?
        .ok_or_else(|| io::Error::other("the guest did not say by what it asks"))?;
    Ok((keeper, Desk::new(keys, screen, words.speed, listener, turns)))
}

/// The files of turns, opened before there is a guest that could put something else in their places.
struct Files {
    said: File,
    asked: File,
    answered: File,
}

impl Files {
    fn create(dir: &Path) -> io::Result<Self> {
        let folder = dir.join("out").join(FOLDER);
        fs::create_dir(&folder)?;
        let file = |name| File::options().read(true).write(true).create_new(true).open(folder.join(name));
        Ok(Self { said: file(SAID)?, asked: file(ASKED)?, answered: file(ANSWERED)? })
    }
}

impl Desk {
    /// A desk with the terminal's two files, for the guest whose calls `listener` tells of.
    fn new(keys: OwnedFd, screen: OwnedFd, speed: f64, listener: OwnedFd, files: Files) -> Self {
        let Files { said, asked, answered } = files;
        Self {
            keys,
            screen: screen.into(),
            speed,
            listener,
            said,
            asked,
            answered,
            anchor: None,
            held: None,
            done: 0,
            typed: Vec::new(),
            raw: None,
        }
    }

    /// Whether the guest stands still because it was told to.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Serves the terminal until one of the others can be read, for about so long; says which. An error: the terminal is gone.
    pub fn wait(&mut self, others: [BorrowedFd<'_>; 2], limit: Duration) -> io::Result<[bool; 2]> {
        let until = Instant::now() + limit;
        loop {
            let now = Instant::now();
            if self.held.is_some_and(|held| held.until <= now) {
                self.answer()?;
            }
            let wake = self.held.map_or(until, |held| held.until.min(until));
            let left = wake.saturating_duration_since(Instant::now());
            // Before the guest asks, the terminal is not its own; keys for which there is no room wait there, as they would anywhere.
            let reads = self.raw.is_some() && self.typed.len() < MOST_KEYS;
            let keys = if reads { self.keys.as_fd() } else { self.listener.as_fd() };
            let files = [others[0], others[1], self.listener.as_fd(), keys];
            let [first, second, asks, types] = files::readable(files, left.as_nanos() as i64)?;
            if asks {
                self.listen()?;
            } else if types {
                self.read_keys()?;
            }
            if first || second || Instant::now() >= until {
                return Ok([first, second]);
            }
        }
    }

    /// The guest asks.
    fn listen(&mut self) -> io::Result<()> {
        let Some(asking) = asking::take(&self.listener)? else { return Ok(()) };
        let asked = serde_json::from_slice(&content(&self.asked)?).unwrap_or(Asked::default());
        if asked.turn != self.done + 1 {
            // It was another file that somebody wanted to be safe on the disk.
            asking::succeed(&self.listener, asking);
            return Ok(());
        }
        if self.raw.is_none() {
            self.raw = Some(Raw::begin(&self.keys)?);
        }
        self.screen.write_all(&content(&self.said)?)?;
        let until = self.due(asked.t_ns);
        self.held = Some(Held { asking, asked, until });
        if asked.last || (asked.room && !self.typed.is_empty()) || until <= Instant::now() {
            self.answer()?;
        }
        Ok(())
    }

    /// When the clock on the wall is as far as the guest's.
    fn due(&mut self, guest_ns: i64) -> Instant {
        let now = Instant::now();
        let anchor = *self.anchor.get_or_insert(Anchor { wall: now, guest_ns });
        let ahead = Duration::from_nanos((guest_ns - anchor.guest_ns).max(0) as u64);
        let due = anchor.wall + ahead.div_f64(self.speed);
        if due + BEHIND < now {
            self.anchor = Some(Anchor { wall: now, guest_ns });
        }
        due
    }

    fn read_keys(&mut self) -> io::Result<()> {
        let mut piece = vec![0; MOST_KEYS - self.typed.len()];
        match files::read(&self.keys, &mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(some) => self.typed.extend_from_slice(&piece[..some]),
            Err(cause) if [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].contains(&cause.kind()) => {
            }
            Err(cause) => return Err(cause),
        }
        if self.held.is_some_and(|held| held.asked.room) && !self.typed.is_empty() {
            self.answer()?;
        }
        Ok(())
    }

    /// Lets the guest go on.
    fn answer(&mut self) -> io::Result<()> {
        let Some(Held { asking, asked, .. }) = self.held.take() else { return Ok(()) };
        let (rows, columns) = size(&self.keys).unwrap_or_default();
        let pace_ns = PACE.mul_f64(self.speed).as_nanos() as i64;
        let answer = Answer { turn: asked.turn, pace_ns, rows, columns };
        let whole = answer.with(if asked.room { &self.typed } else { &[] });
        if asked.room {
            self.typed.clear();
        }
        self.answered.set_len(0)?;
        self.answered.write_all_at(&whole, 0)?;
        self.done = asked.turn;
        asking::succeed(&self.listener, asking);
        Ok(())
    }
}

/// The beginning of a file as it is now; a hostile guest could make it huge.
fn content(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().min(MOST_SAID);
    let mut whole = vec![0; length as usize];
    let mut read = 0;
    while read < whole.len() {
        match file.read_at(&mut whole[read..], read as u64)? {
            0 => break,
            some => read += some,
        }
    }
    whole.truncate(read);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_two_files_and_a_speed() {
        let words = Words::read("5,6,0.5").expect("valid");
        assert_eq!((words.keys, words.screen), (5, 6));
        assert!((words.speed - 0.5).abs() < f64::EPSILON);
        for wrong in ["", "5,6", "5,6,0", "5,6,nan", "0,1,1", "a,6,1", "5,6,1e9"] {
            assert!(Words::read(wrong).is_err(), "{wrong}");
        }
    }
}
