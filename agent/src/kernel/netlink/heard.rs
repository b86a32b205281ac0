//! What the kernel says unasked to those who listen to a group.

use std::io;

use super::reply::replies;
use super::{Socket, PART};
use crate::error::{Context, Result};
use crate::kernel::sys::options::set_option;
use crate::kernel::sys::socket;

/// Room for what is said between two visits.
const ROOM: i32 = 32 << 20;

impl Socket {
    /// A socket that listens to groups of a family.
    ///
    /// # Errors
    /// A kernel without such a group.
    pub fn listening(protocol: i32, groups: &[u32]) -> Result<Self> {
        let listener = Self::for_dumps(protocol)?;
        let bits = groups.iter().fold(0, |bits, group| bits | 1 << (group - 1));
        socket::join_groups(&listener.fd, bits)
            .context(format_args!("listen to groups {groups:?} of netlink family {protocol}"))?;
        // Less without the right to more.
        let _ = set_option(&listener.fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ROOM);
        Ok(listener)
    }

    /// Gives `visit` the payload of each message that has come; gives whether all found room.
    pub fn heard(&mut self, mut visit: impl FnMut(&[u8])) -> Result<bool> {
        let mut whole = true;
        loop {
            match socket::receive_ready(&self.fd, &mut self.buffer, PART) {
                Ok(sizes) => {
                    let parts = self.buffer.chunks_exact(PART).zip(sizes);
                    for reply in parts.flat_map(|(part, size)| replies(&part[..size])) {
                        visit(reply.payload);
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(whole),
                Err(cause) if cause.raw_os_error() == Some(libc::ENOBUFS) => whole = false,
                Err(cause) => return Err(cause).context("hear what netlink says"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_heard_where_nobody_speaks() {
        let mut listener = Socket::listening(libc::NETLINK_ROUTE, &[1, 5]).expect("a listener");
        let mut heard = 0;
        // Others on this machine may change links and addresses meanwhile.
        assert!(listener.heard(|_| heard += 1).expect("no failure"));
    }
}
