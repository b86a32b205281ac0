//! Memory that is asked of the kernel by itself: files, which it can take back at any time, for it knows where to read them again; and
//! pages of which those cost nothing that nobody touches.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::ptr;

/// A file's bytes. Whoever maps one answers for nobody changing it meanwhile.
#[derive(Debug)]
pub struct Mapped {
    begin: *mut libc::c_void,
    length: usize,
}

impl Mapped {
    /// All of a file that has something in it.
    ///
    /// # Errors
    /// An empty file, or one that cannot be mapped.
    pub fn new(file: &File) -> io::Result<Self> {
        let length = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let (read, private) = (libc::PROT_READ, libc::MAP_PRIVATE);
        Self::map(length, read, private, file.as_raw_fd())
    }

    fn map(length: usize, allowed: libc::c_int, flags: libc::c_int, file: libc::c_int) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let begin = unsafe { libc::mmap(ptr::null_mut(), length, allowed, flags, file, 0) };
        if begin == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { begin, length })
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is as long, readable, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.begin.cast(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody borrows it any more.
        unsafe { libc::munmap(self.begin, self.length) };
    }
}

/// Zeros to be written over. An allocator would write them where it has used memory at hand.
#[derive(Debug)]
pub struct Blank(Mapped);

// SAFETY: the mapping belongs to whoever owns this, as a vector's memory does.
unsafe impl Send for Blank {}

impl Blank {
    /// At least one byte.
    ///
    /// # Errors
    /// No memory.
    pub fn new(length: usize) -> io::Result<Self> {
        let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        Mapped::map(length, both, flags, -1).map(Self)
    }

    /// For as long as this process lives.
    #[must_use]
    pub fn kept(self) -> &'static mut [u8] {
        let Mapped { begin, length } = *ManuallyDrop::new(self.0);
        // SAFETY: the mapping is as long, can be written to, is nobody else's, and nothing unmaps it any more.
        unsafe { std::slice::from_raw_parts_mut(begin.cast(), length) }
    }
}

impl Deref for Blank {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Blank {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is as long, can be written to, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.begin.cast(), self.0.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_memory_is_zeros_and_keeps_what_is_written() {
        let mut blank = Blank::new(3 << 12).expect("memory");
        assert!(blank.len() == 3 << 12 && blank.iter().all(|byte| *byte == 0));
        blank[1 << 12..].fill(7);
        let blank = std::thread::spawn(move || blank).join().expect("the same");
        assert!(
            blank[..1 << 12].iter().all(|byte| *byte == 0) && blank[1 << 12..].iter().all(|byte| *byte == 7)
        );
        assert_eq!(blank.kept()[1 << 12..], [7; 2 << 12]);
    }
}
