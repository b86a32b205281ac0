//! Memory that is asked of the kernel by itself: files, which it can take back at any time, for it knows where to read them again; and
//! pages of which those cost nothing that nobody touches.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
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

/// Zeros to be written over, at least one, for as long as this process lives. An allocator would write them where it has used memory at hand.
///
/// # Errors
/// No memory.
pub fn blank(length: usize) -> io::Result<&'static mut [u8]> {
    let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let whole = ManuallyDrop::new(Mapped::map(length, both, flags, -1)?);
    // SAFETY: the mapping is as long, can be written to, is nobody else's, and nothing unmaps it.
    Ok(unsafe { std::slice::from_raw_parts_mut(whole.begin.cast(), length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_memory_is_zeros_and_keeps_what_is_written() {
        let blank = blank(3 << 12).expect("memory");
        assert!(blank.len() == 3 << 12 && blank.iter().all(|byte| *byte == 0));
        blank[1 << 12..].fill(7);
        let blank = std::thread::spawn(move || blank).join().expect("the same");
        assert!(
            blank[..1 << 12].iter().all(|byte| *byte == 0) && blank[1 << 12..].iter().all(|byte| *byte == 7)
        );
    }
}
