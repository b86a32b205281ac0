//! Files as memory that the kernel can take back at any time: it knows where to read them again.

use std::fs::File;
use std::io;
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
        // SAFETY: a new mapping at an address of the kernel's choice.
        let begin = unsafe { libc::mmap(ptr::null_mut(), length, read, private, file.as_raw_fd(), 0) };
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
