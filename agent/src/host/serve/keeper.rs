//! Who stays behind when the agent is killed: a process that holds the other end of a pipe, and removes what was told to it
//! once that pipe is closed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use crate::kernel::leftover::Leftover;
use crate::kernel::sys::{self, process};

const PIPE_BYTES: usize = 1 << 16;

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
            return Err(io::Error::other(format!("this agent does not make {}", path.display())));
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
