//! A BPF ring buffer: a program writes records, the agent reads them without a system call
//! (`Documentation/bpf/ringbuf.rst`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::machine::page_size;

/// In a record's length: it is being written; it was given up.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Length, then where it lies; what follows is the record, filled up to a multiple of it.
const HEADER: usize = 8;

/// The reader's side: the page with its own position, then the page with the writer's, then the data twice in a row, so
/// that no record is torn at the end.
#[derive(Debug)]
pub struct Ring {
    own: *mut libc::c_void,
    theirs: *mut libc::c_void,
    size: usize,
}

// SAFETY: the mappings belong to this value alone and stay until it goes; whoever holds it is the only reader.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of `size` bytes that a map of kind `Ring` is.
    ///
    /// # Errors
    /// What `mmap` refuses.
    pub fn map(fd: &OwnedFd, size: usize) -> io::Result<Self> {
        let own = mapping(fd, page_size(), libc::PROT_READ | libc::PROT_WRITE, 0)?;
        let theirs = mapping(fd, page_size() + 2 * size, libc::PROT_READ, page_size());
        match theirs {
            Ok(theirs) => Ok(Self { own, theirs, size }),
            Err(cause) => {
                // SAFETY: this mapping was made above and nobody has its address.
                unsafe { libc::munmap(own, page_size()) };
                Err(cause)
            }
        }
    }

    /// Gives every record that is whole to `take`, in the order in which they were begun.
    ///
    /// # Errors
    /// The first of `take`, after which the rest stays for the next call.
    pub fn drain<E>(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        // SAFETY: both positions are aligned words at the beginning of mapped pages.
        let (own, theirs) =
            unsafe { (&*self.own.cast::<AtomicU64>(), &*self.theirs.cast_const().cast::<AtomicU64>()) };
        let mut at = own.load(Ordering::Relaxed);
        while at < theirs.load(Ordering::Acquire) {
            let offset = page_size() + (at as usize & (self.size - 1));
            // SAFETY: positions are multiples of 8 within the ring, and the data are mapped twice.
            let length = unsafe { &*self.theirs.cast_const().byte_add(offset).cast::<AtomicU32>() };
            let length = length.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: a record that is not busy stays as it is until our own position passes it; it is no longer than the
                // ring, which is mapped twice in a row.
                take(unsafe {
                    std::slice::from_raw_parts(
                        self.theirs.cast_const().byte_add(offset + HEADER).cast(),
                        bytes.min(self.size),
                    )
                })?;
            }
            at += (bytes + HEADER).next_multiple_of(HEADER) as u64;
            own.store(at, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: both mappings were made by `map`, are this long, and nobody else has their addresses.
        unsafe {
            libc::munmap(self.own, page_size());
            libc::munmap(self.theirs, page_size() + 2 * self.size);
        }
    }
}

fn mapping(fd: &OwnedFd, length: usize, rights: libc::c_int, offset: usize) -> io::Result<*mut libc::c_void> {
    let at = offset as libc::off_t;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), length, rights, libc::MAP_SHARED, fd.as_raw_fd(), at) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(address)
}
