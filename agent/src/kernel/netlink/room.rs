//! Room for messages. A socket that is closed leaves its own to the next one, and more is asked of the kernel for many at once: in a
//! virtual kernel it costs the host five visits to give memory back and to get some. Room that nobody writes to costs nothing.

use std::io;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{PART, PARTS};
use crate::kernel::sys::mapped::blank;

const ROOM: usize = PARTS * PART;
const AT_ONCE: usize = 32;

/// What no socket has now. It is never given back: as much as all had at once that were open together.
static SPARE: Mutex<Vec<&'static mut [u8]>> = Mutex::new(Vec::new());

/// What a socket receives into.
#[derive(Debug)]
pub(super) struct Room(&'static mut [u8]);

impl Room {
    /// # Errors
    /// No memory.
    pub fn take() -> io::Result<Self> {
        let mut spare = spare();
        if spare.is_empty() {
            spare.extend(blank(AT_ONCE * ROOM)?.chunks_exact_mut(ROOM).rev());
        }
        Ok(Self(spare.pop().unwrap_or_default()))
    }
}

fn spare() -> MutexGuard<'static, Vec<&'static mut [u8]>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Room {
    fn drop(&mut self) {
        spare().push(mem::take(&mut self.0));
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_has_room_of_its_own() {
        let mut rooms: Vec<Room> = (0..=2 * AT_ONCE).map(|_| Room::take().expect("memory")).collect();
        for (number, room) in rooms.iter_mut().enumerate() {
            assert_eq!(room.len(), ROOM);
            room.fill(number as u8);
        }
        assert!(rooms.iter().enumerate().all(|(number, room)| room.iter().all(|byte| *byte == number as u8)));
    }
}
