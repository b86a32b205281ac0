//! `bpf(2)`: maps and programs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;
use super::limits::allow_locked_memory;
use super::visit::{Number, Visit};

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

/// A map's kind, the sizes of its keys and values in bytes, and how many there are.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub kind: MapKind,
    pub key_size: usize,
    pub value_size: usize,
    pub max_entries: usize,
}

impl Shape {
    /// One value, whose key is [`ONLY`].
    #[must_use]
    pub fn of_one(value_size: usize) -> Self {
        Self { kind: MapKind::Array, key_size: ONLY.len(), value_size, max_entries: 1 }
    }
}

/// The key of an array's first value.
const ONLY: &[u8] = &[0; 4];

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

impl MapCreate {
    fn of(shape: &Shape) -> Self {
        Self {
            kind: shape.kind as u32,
            key_size: shape.key_size as u32,
            value_size: shape.value_size as u32,
            max_entries: shape.max_entries as u32,
            flags: 0,
        }
    }
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

/// One command with each of these attributes, by one visit to the kernel; gives what came of each.
fn visit<T>(command: libc::c_long, attributes: &mut [T]) -> io::Result<Vec<io::Result<usize>>> {
    let mut visit = Visit::new();
    let ask = attributes.iter_mut().map(|one| {
        let words = [command as u64, std::ptr::from_mut(one) as u64, size_of::<T>() as u64];
        // SAFETY: as in `bpf`; they outlive the list.
        unsafe { visit.call(libc::SYS_bpf, &words) }
    });
    let asked: Vec<Number> = ask.collect();
    let results = visit.carry_out()?;
    Ok(asked.into_iter().map(|call| results.of(call)).collect())
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
    pub fn create(shape: Shape) -> io::Result<Self> {
        make(BPF_MAP_CREATE, &mut MapCreate::of(&shape)).map(|fd| Self::of(owned(fd), &shape))
    }

    /// Several maps by one visit to the kernel. One that is refused is asked for once more by itself.
    ///
    /// # Errors
    /// Why the first that cannot be had is refused, and its number.
    pub fn create_all(shapes: &[Shape]) -> Result<Vec<Self>, (usize, io::Error)> {
        let mut orders: Vec<MapCreate> = shapes.iter().map(MapCreate::of).collect();
        let made = visit(BPF_MAP_CREATE, &mut orders).map_err(|cause| (0, cause))?;
        // All of them first: those behind one that is refused have to be closed, too.
        let made: Vec<_> = made.into_iter().map(|fd| fd.map(|fd| owned(fd as libc::c_int))).collect();
        let all = made.into_iter().zip(shapes).enumerate().map(|(number, (fd, shape))| {
            let map = fd.map(|fd| Self::of(fd, shape)).or_else(|_| Self::create(*shape));
            map.map_err(|cause| (number, cause))
        });
        all.collect()
    }

    fn of(fd: OwnedFd, shape: &Shape) -> Self {
        Self { fd, key_size: shape.key_size, value_size: shape.value_size }
    }

    /// The only value of each of these arrays becomes what stands beside it, by one visit to the kernel.
    pub fn set_each(values: &[(&Self, &[u8])]) -> io::Result<()> {
        let orders = values.iter().map(|(map, value)| {
            map.fits(ONLY, value)?;
            Ok(map.element(ONLY, address(value)))
        });
        let mut orders: Vec<Element> = orders.collect::<io::Result<_>>()?;
        visit(BPF_MAP_UPDATE_ELEM, &mut orders)?.into_iter().try_for_each(|set| set.map(drop))
    }

    /// The only value of each of these arrays, by one visit to the kernel.
    pub fn get_each(values: &mut [(&Self, &mut [u8])]) -> io::Result<()> {
        let orders = values.iter_mut().map(|(map, value)| {
            map.fits(ONLY, value)?;
            Ok(map.element(ONLY, value.as_mut_ptr() as u64))
        });
        let mut orders: Vec<Element> = orders.collect::<io::Result<_>>()?;
        visit(BPF_MAP_LOOKUP_ELEM, &mut orders)?.into_iter().try_for_each(|got| got.map(drop))
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
