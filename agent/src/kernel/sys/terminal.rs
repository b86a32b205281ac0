//! Terminals: a new one for a program, and the one at which a person sits.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::stdio::stdin;
use rustix::termios::Winsize;

use super::check;

/// Rows and columns.
pub type Size = (u16, u16);

/// A new terminal: the end that keys go to and output comes from, of which no call waits, and the end that a program has.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let keys = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&keys, true)?;
    rustix::pty::unlockpt(&keys)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let screen = rustix::pty::ioctl_tiocgptpeer(&keys, flags)?;
    Ok((keys, screen))
}

/// Makes the standard input, a terminal, that of this session: its keys send signals to the session's processes.
pub fn control_by_input() -> io::Result<()> {
    Ok(rustix::process::ioctl_tiocsctty(stdin())?)
}

/// How large a terminal is; `None`: it does not know.
#[must_use]
pub fn size(terminal: &OwnedFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Tells a terminal how large it is, and with it the programs in the foreground.
pub fn resize(terminal: &OwnedFd, (rows, columns): Size) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

/// Writes as many keys as the terminal takes now.
pub fn press(terminal: &OwnedFd, keys: &[u8]) -> io::Result<usize> {
    match rustix::io::write(terminal, keys) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}

/// A terminal that hands on every key as it is; what it did before it does again when this is dropped.
pub struct Raw {
    terminal: OwnedFd,
    before: libc::termios,
}

impl Raw {
    pub fn begin(terminal: &OwnedFd) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        // SAFETY: plain numbers, which the calls fill and read. The C library's own calls: what was read is put back to the bit.
        let before = unsafe {
            let mut mode: libc::termios = mem::zeroed();
            check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut mode))?;
            let mut raw = mode;
            libc::cfmakeraw(&raw mut raw);
            check(libc::tcsetattr(terminal.as_raw_fd(), libc::TCSADRAIN, &raw const raw))?;
            mode
        };
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        // SAFETY: the mode lives through the call.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSANOW, &raw const self.before) };
    }
}
