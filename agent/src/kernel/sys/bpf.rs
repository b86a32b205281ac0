//! `bpf(2)`: maps and programs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;
use super::limits::allow_locked_memory;

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;

/// What a map is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    Ring = 27,
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

#[repr(C)]
struct Element {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
}

fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: `attributes` is a whole structure of the command, valid for its size; the pointers in it outlive the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>() as libc::c_ulong)
    };
    check(result as libc::c_int)
}

/// Kernels before 5.11 count maps and programs against the memory that a process may lock, and its default holds few: what
/// is refused is tried once more without that limit.
fn make<T>(command: libc::c_long, attributes: &mut T) -> io::Result<libc::c_int> {
    match bpf(command, attributes) {
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) => {
            allow_locked_memory().map_err(|_| cause)?;
            bpf(command, attributes)
        }
        other => other,
    }
}

/// An owned file descriptor that `bpf(2)` just gave.
fn owned(fd: libc::c_int) -> OwnedFd {
    // SAFETY: the descriptor is new and nobody else's.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn address<T>(data: &[T]) -> u64 {
    data.as_ptr() as u64
}

/// A map in the kernel with keys and values of fixed size.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl Map {
    pub fn create(kind: MapKind, key_size: usize, value_size: usize, max_entries: usize) -> io::Result<Self> {
        let mut attributes = MapCreate {
            kind: kind as u32,
            key_size: key_size as u32,
            value_size: value_size as u32,
            max_entries: max_entries as u32,
            flags: 0,
        };
        let fd = owned(make(BPF_MAP_CREATE, &mut attributes)?);
        Ok(Self { fd, key_size, value_size })
    }

    /// Its descriptor, for what maps it into memory.
    #[must_use]
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Its descriptor as instructions name it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.fd.as_raw_fd() as u64
    }

    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.fits(key, value)?;
        bpf(BPF_MAP_UPDATE_ELEM, &mut self.element(key, address(value))).map(drop)
    }

    pub fn get(&self, key: &[u8], value: &mut [u8]) -> io::Result<()> {
        self.fits(key, value)?;
        let at = value.as_mut_ptr() as u64;
        bpf(BPF_MAP_LOOKUP_ELEM, &mut self.element(key, at)).map(drop)
    }

    fn element(&self, key: &[u8], value: u64) -> Element {
        Element { map: self.fd.as_raw_fd() as u32, pad: 0, key: address(key), value, flags: 0 }
    }

    /// The kernel trusts the sizes: check them here.
    fn fits(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        if key.len() == self.key_size && value.len() == self.value_size {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "a key or value is not of its map's size"))
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Loads a traffic-control program of 8-byte instructions; `log` gets the verifier's words when it is not empty.
pub fn load_classifier(instructions: &[u64], license: &CStr, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attributes = ProgramLoad {
        kind: BPF_PROG_TYPE_SCHED_CLS,
        count: instructions.len() as u32,
        instructions: address(instructions),
        license: license.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
    };
    make(BPF_PROG_LOAD, &mut attributes).map(owned)
}
