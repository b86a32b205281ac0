//! Single objects, asked for by name, many at once.

use std::io;
use std::mem;
use std::os::fd::AsFd;

use super::reply::{refusal, replies};
use super::{Message, Socket, NLMSG_ERROR, PART};
use crate::error::{Context, Result};
use crate::kernel::sys::socket;
use crate::kernel::sys::visit::Visit;

/// So many answers find room in a receive buffer of the size that sockets begin with (`net.core.rmem_default`).
const AT_ONCE: usize = 64;

impl Socket {
    /// Asks for one object by each message. `visit` gets the payload of each that is there (fixed header, then attributes); who is
    /// not there (`ENOENT`), or is another by now (`ESTALE`), is left out.
    ///
    /// # Errors
    /// Another refusal.
    pub fn ask_each(&mut self, messages: &[Message], mut visit: impl FnMut(&[u8])) -> Result<()> {
        messages.chunks(AT_ONCE).try_for_each(|some| self.ask_some(some, &mut visit))
    }

    fn ask_some(&mut self, messages: &[Message], mut visit: impl FnMut(&[u8])) -> Result<()> {
        let first = self.sequence + 1;
        let mut requests = Vec::new();
        for message in messages {
            self.sequence += 1;
            message.append_to(&mut requests, 0, self.sequence);
        }
        let mut calls = Visit::new();
        calls.send(self.fd.as_fd(), &requests);
        calls.needed();
        let mut open = messages.len();
        while open > 0 {
            let sizes = socket::receive_ready_after(mem::take(&mut calls), &self.fd, &mut self.buffer, PART);
            let sizes = sizes.context(&messages[0].what)?;
            let parts = self.buffer.chunks_exact(PART).zip(sizes);
            for reply in parts.flat_map(|(part, size)| replies(&part[..size])) {
                let number = reply.sequence.checked_sub(first).map(|number| number as usize);
                let Some((number, message)) = number.and_then(|at| Some((at, messages.get(at)?))) else {
                    continue;
                };
                open -= 1;
                match reply.failure().filter(|_| reply.kind == NLMSG_ERROR) {
                    None => visit(reply.payload),
                    Some((cause, _)) if is_gone(&cause) => {}
                    Some(failure) => return Err(refusal(&message.what, number, failure).error),
                }
            }
        }
        Ok(())
    }
}

fn is_gone(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::ENOENT | libc::ESTALE))
}
