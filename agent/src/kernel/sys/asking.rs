//! System calls of another process that wait for this one's answer: `seccomp_unotify(2)`.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use super::check;

/// A call that waits, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking(u64);

/// Takes the call that waits; `None`: its process is gone meanwhile.
pub fn take(listener: &OwnedFd) -> io::Result<Option<Asking>> {
    // SAFETY: plain numbers, which the kernel wants to be zero and fills.
    let answer = unsafe {
        let mut call: libc::seccomp_notif = mem::zeroed();
        check(libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call))
            .map(|_| call.id)
    };
    match answer {
        Ok(id) => Ok(Some(Asking(id))),
        Err(cause) if [Some(libc::ENOENT), Some(libc::EINTR)].contains(&cause.raw_os_error()) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Lets a call return as one that succeeded, without having been made. One whose process is gone is no harm.
pub fn succeed(listener: &OwnedFd, asking: Asking) {
    let answer = libc::seccomp_notif_resp { id: asking.0, val: 0, error: 0, flags: 0 };
    // SAFETY: the structure lives through the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
}

/// Two ends, by which a process hands an open file to another.
pub fn hand_over() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

pub fn send_file(to: &OwnedFd, file: &OwnedFd) -> io::Result<()> {
    use std::os::fd::AsFd;
    let files = [file.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut room);
    beside.push(SendAncillaryMessage::ScmRights(&files));
    rustix::net::sendmsg(to, &[IoSlice::new(b"f")], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The file that the other end has sent; `None`: it sent none.
pub fn receive_file(from: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0_u8; 1];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    match rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut beside, flags) {
        Ok(_) => {}
        Err(rustix::io::Errno::AGAIN) => return Ok(None),
        Err(cause) => return Err(cause.into()),
    }
    Ok(beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    }))
}
