//! Many system calls by one visit to the kernel, where it takes a list of them (`lab/kernel/host/calls.c`): a virtual kernel charges
//! the host for each visit, far more than for what most calls do in it.
//!
//! The calls are carried out one after the other, each as if asked for alone, at the same virtual time. Any other kernel is
//! asked for each alone. Calls that a signal interrupts are begun again.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use super::check;
use super::machine::owns_kernel;
use super::options::Plain;

const RUSHHOUR_VISIT: libc::c_int = 0x5255_5349;
/// What stands for a result as long as there is none.
const NONE: i64 = -(libc::ECANCELED as i64);

/// `struct call` of `lab/kernel/host/calls.c`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Call {
    number: i32,
    after: i32,
    arguments: [u64; 6],
    least: i64,
    result: i64,
}

/// A call of a list: by this its result is found, and the file that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(usize);

/// A file that is open already, or that an earlier call of the list opens.
#[derive(Debug, Clone, Copy)]
pub enum On<'a> {
    Open(BorrowedFd<'a>),
    Opened(Number),
}

impl<'a> From<BorrowedFd<'a>> for On<'a> {
    fn from(file: BorrowedFd<'a>) -> Self {
        Self::Open(file)
    }
}

impl From<Number> for On<'_> {
    fn from(call: Number) -> Self {
        Self::Opened(call)
    }
}

/// An instant of a clock, where the kernel reads or writes it.
#[derive(Debug, Clone, Copy)]
pub struct Moment(libc::timespec);

impl Moment {
    #[must_use]
    pub fn of(ns: i64) -> Self {
        let at = super::time::timespec(ns);
        Self(libc::timespec { tv_sec: at.tv_sec, tv_nsec: at.tv_nsec })
    }

    #[must_use]
    pub fn ns(&self) -> i64 {
        self.0.tv_sec * 1_000_000_000 + self.0.tv_nsec
    }
}

/// A list of calls. What they read and write is borrowed until they have been carried out.
#[derive(Debug, Default)]
pub struct Visit<'a> {
    calls: Vec<Call>,
    /// Which calls open files.
    opens: Vec<bool>,
    paths: Vec<CString>,
    /// The first call that cannot be asked for, and why.
    broken: Option<io::Error>,
    alone: bool,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a> Visit<'a> {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As any kernel is asked that takes no lists.
    #[cfg(test)]
    #[must_use]
    pub fn alone() -> Self {
        Self { alone: true, ..Self::default() }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The last call is needed: if it fails, those behind it are not carried out.
    pub fn needed(&mut self) {
        self.needed_to_give(0);
    }

    /// The same if it gives less than this.
    pub fn needed_to_give(&mut self, least: usize) {
        if let Some(call) = self.calls.last_mut() {
            call.least = least as i64;
        }
    }

    fn add(&mut self, number: libc::c_long, file: Option<On<'a>>, rest: &[u64]) -> Number {
        let mut arguments = [0; 6];
        let begin = usize::from(file.is_some());
        arguments[begin..begin + rest.len()].copy_from_slice(rest);
        let mut after = -1;
        match file {
            Some(On::Open(file)) => arguments[0] = file.as_raw_fd() as u64,
            Some(On::Opened(Number(call))) => after = call as i32,
            None => {}
        }
        self.calls.push(Call { number: number as i32, after, arguments, least: i64::MIN, result: NONE });
        self.opens.push(false);
        Number(self.calls.len() - 1)
    }

    fn opening(&mut self, call: Number) -> Number {
        self.opens[call.0] = true;
        call
    }

    /// A file by its path; `flags` are those of open(2).
    pub fn open(&mut self, path: &Path, flags: libc::c_int) -> Number {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_else(|_| {
            self.broken = Some(io::Error::new(io::ErrorKind::InvalidInput, "a path holds a null byte"));
            CString::default()
        });
        let arguments =
            [libc::AT_FDCWD as u64, path.as_ptr() as u64, (flags | libc::O_CLOEXEC) as u64, 0o666];
        self.paths.push(path);
        let call = self.add(libc::SYS_openat, None, &arguments);
        self.opening(call)
    }

    pub fn read(&mut self, file: impl Into<On<'a>>, buffer: &'a mut [u8]) -> Number {
        let arguments = [buffer.as_mut_ptr() as u64, buffer.len() as u64];
        self.add(libc::SYS_read, Some(file.into()), &arguments)
    }

    pub fn write(&mut self, file: impl Into<On<'a>>, bytes: &'a [u8]) -> Number {
        self.add(libc::SYS_write, Some(file.into()), &[bytes.as_ptr() as u64, bytes.len() as u64])
    }

    /// From the file's begin on.
    pub fn write_at_begin(&mut self, file: impl Into<On<'a>>, bytes: &'a [u8]) -> Number {
        self.add(libc::SYS_pwrite64, Some(file.into()), &[bytes.as_ptr() as u64, bytes.len() as u64, 0])
    }

    /// Closes what an earlier call opened.
    pub fn close(&mut self, file: Number) -> Number {
        self.opens[file.0] = false;
        self.add(libc::SYS_close, Some(On::Opened(file)), &[])
    }

    pub fn socket(&mut self, family: i32, kind: i32, protocol: i32) -> Number {
        let kind = kind | libc::SOCK_CLOEXEC;
        let call = self.add(libc::SYS_socket, None, &[family as u64, kind as u64, protocol as u64]);
        self.opening(call)
    }

    pub fn set_option<T: Plain>(
        &mut self,
        socket: impl Into<On<'a>>,
        level: i32,
        option: i32,
        value: &'a T,
    ) -> Number {
        let at = std::ptr::from_ref(value) as u64;
        let arguments = [level as u64, option as u64, at, size_of::<T>() as u64];
        self.add(libc::SYS_setsockopt, Some(socket.into()), &arguments)
    }

    /// Sends on a socket that is connected, or that needs no address.
    pub fn send(&mut self, socket: impl Into<On<'a>>, bytes: &'a [u8]) -> Number {
        let arguments = [bytes.as_ptr() as u64, bytes.len() as u64, libc::MSG_NOSIGNAL as u64, 0, 0];
        self.add(libc::SYS_sendto, Some(socket.into()), &arguments)
    }

    /// Takes what has come; it waits, unless the socket does not.
    pub fn receive(&mut self, socket: impl Into<On<'a>>, buffer: &'a mut [u8]) -> Number {
        let arguments = [buffer.as_mut_ptr() as u64, buffer.len() as u64, 0, 0, 0];
        self.add(libc::SYS_recvfrom, Some(socket.into()), &arguments)
    }

    /// See [`super::socket::discard`].
    pub fn discard(&mut self, socket: impl Into<On<'a>>, length: usize) -> Number {
        let flags = libc::MSG_TRUNC | libc::MSG_WAITALL;
        self.add(libc::SYS_recvfrom, Some(socket.into()), &[0, length as u64, flags as u64, 0, 0])
    }

    /// This thread, into a network namespace.
    pub fn enter_netns(&mut self, netns: impl Into<On<'a>>) -> Number {
        self.add(libc::SYS_setns, Some(netns.into()), &[libc::CLONE_NEWNET as u64])
    }

    /// This thread, into new namespaces.
    pub fn unshare(&mut self, flags: i32) -> Number {
        self.add(libc::SYS_unshare, None, &[flags as u64])
    }

    /// Waits until an instant of `CLOCK_MONOTONIC`.
    pub fn sleep_until(&mut self, at: &'a Moment) -> Number {
        let at = &raw const at.0 as u64;
        let arguments = [libc::CLOCK_MONOTONIC as u64, libc::TIMER_ABSTIME as u64, at, 0];
        self.add(libc::SYS_clock_nanosleep, None, &arguments)
    }

    /// Reads `CLOCK_MONOTONIC`.
    pub fn clock(&mut self, now: &'a mut Moment) -> Number {
        self.add(libc::SYS_clock_gettime, None, &[libc::CLOCK_MONOTONIC as u64, &raw mut now.0 as u64])
    }

    /// Puts the calls of another list behind these.
    pub fn append(&mut self, other: Self) {
        let behind = self.calls.len() as i32;
        self.calls.extend(other.calls.into_iter().map(|call| Call {
            after: if call.after < 0 { call.after } else { call.after + behind },
            ..call
        }));
        self.opens.extend(other.opens);
        self.paths.extend(other.paths);
        self.broken = self.broken.take().or(other.broken);
        self.alone |= other.alone;
    }

    /// # Safety
    /// What the arguments lead to is the call's own for as long as the list is borrowed, and it is none that changes what registers mean.
    pub(super) unsafe fn call(&mut self, number: libc::c_long, arguments: &[u64]) -> Number {
        self.add(number, None, arguments)
    }

    /// Carries the calls out and says what came of each.
    ///
    /// # Errors
    /// A call that cannot be asked for, before any is carried out.
    pub fn carry_out(self) -> io::Result<Results> {
        let Self { mut calls, opens, paths, broken, alone, .. } = self;
        if let Some(broken) = broken {
            return Err(broken);
        }
        if alone || calls.len() < 2 || !takes_lists() {
            one_by_one(&mut calls);
        } else {
            together(&mut calls)?;
        }
        drop(paths);
        let all = calls.iter().zip(opens);
        let done = all
            .map(|(call, opens)| Done {
                result: call.result,
                short: call.result < call.least,
                // SAFETY: the call has made this file, and nothing else has its number.
                file: (opens && call.result >= 0)
                    .then(|| unsafe { OwnedFd::from_raw_fd(call.result as libc::c_int) }),
            })
            .collect();
        Ok(Results(done))
    }
}

/// Whether this kernel takes lists of calls.
fn takes_lists() -> bool {
    static TAKES: OnceLock<bool> = OnceLock::new();
    *TAKES.get_or_init(|| {
        // SAFETY: an empty list.
        owns_kernel() && unsafe { libc::prctl(RUSHHOUR_VISIT, 0, 0, 0, 0) } == 0
    })
}

fn together(calls: &mut [Call]) -> io::Result<()> {
    let mut done = 0;
    while done < calls.len() {
        // SAFETY: the list lives through the call; what it leads to is borrowed by whoever made it.
        let now =
            check(unsafe { libc::prctl(RUSHHOUR_VISIT, calls.as_mut_ptr(), calls.len(), done, 0) })? as usize;
        if now > 0 && calls[now - 1].result < calls[now - 1].least {
            break;
        }
        done = now;
    }
    Ok(())
}

fn one_by_one(calls: &mut [Call]) {
    for number in 0..calls.len() {
        let Call { number: of, after, mut arguments, least, .. } = calls[number];
        let before = usize::try_from(after).ok().map(|after| calls[after].result);
        let result = match before {
            Some(failed) if failed < 0 => failed,
            _ => {
                arguments[0] = before.map_or(arguments[0], |result| result as u64);
                alone(of.into(), arguments)
            }
        };
        calls[number].result = result;
        if result < least {
            return;
        }
    }
}

fn alone(number: libc::c_long, with: [u64; 6]) -> i64 {
    loop {
        // SAFETY: what the arguments lead to is borrowed by whoever made the list.
        match check(unsafe { libc::syscall(number, with[0], with[1], with[2], with[3], with[4], with[5]) }) {
            Ok(result) => return result,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return -i64::from(cause.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

#[derive(Debug)]
struct Done {
    result: i64,
    short: bool,
    file: Option<OwnedFd>,
}

/// What came of the calls of a list. Files that nobody takes are closed with it.
#[derive(Debug)]
pub struct Results(Vec<Done>);

fn outcome(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

impl Results {
    /// What a call gave.
    ///
    /// # Errors
    /// Why it failed; `ECANCELED`: one that it needs had failed.
    pub fn of(&self, call: Number) -> io::Result<usize> {
        outcome(self.0[call.0].result)
    }

    /// The first call that was needed and failed, if there is one.
    ///
    /// # Errors
    /// Why it failed.
    pub fn check(&self) -> io::Result<()> {
        let failed = self.0.iter().find(|done| done.short && done.result < 0);
        failed.map_or(Ok(()), |done| outcome(done.result).map(drop))
    }

    /// The file that a call has opened, once.
    ///
    /// # Errors
    /// Why there is none.
    pub fn file(&mut self, call: Number) -> io::Result<File> {
        self.of(call)?;
        let file = self.0[call.0].file.take();
        file.map(File::from).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }
}

#[cfg(test)]
mod tests;
