//! Room for messages. A socket that is closed leaves its own to the next one: in a virtual kernel it costs the host five visits to
//! give memory back and to get some.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{PART, PARTS};
use crate::kernel::sys::mapped::Blank;

/// More are given back.
const MOST_SPARE: usize = 64;

static SPARE: Mutex<Vec<Blank>> = Mutex::new(Vec::new());

/// What a socket receives into.
#[derive(Debug)]
pub(super) struct Room(ManuallyDrop<Blank>);

impl Room {
    /// # Errors
    /// No memory.
    pub fn take() -> io::Result<Self> {
        let spare = spare().pop();
        spare.map_or_else(|| Blank::new(PARTS * PART), Ok).map(|blank| Self(ManuallyDrop::new(blank)))
    }
}

fn spare() -> MutexGuard<'static, Vec<Blank>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more, and it is taken once.
        let blank = unsafe { ManuallyDrop::take(&mut self.0) };
        let mut spare = spare();
        if spare.len() < MOST_SPARE {
            spare.push(blank);
        }
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
