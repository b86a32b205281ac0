//! Dumps: all objects of a kind, of one socket or of several together, now or at instants to come.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use super::reply::{refusal, replies};
use super::{Message, Socket, NLMSG_DONE, NLMSG_ERROR, NLM_F_DUMP, PART, PARTS};
use crate::error::{Context, Result};
use crate::kernel::sys::socket;
use crate::kernel::sys::together::{Step, Together};
use crate::kernel::sys::visit::Visit;

/// Parts of a dump that are fetched together with others: of most all, the end included.
const FETCHED: usize = 2;
/// So many dumps of one socket are fetched by one visit at most: those that its buffer has room for.
pub const AHEAD: usize = PARTS / FETCHED;
/// A dump no larger than this does not outgrow the parts that are fetched within a few readings.
const SMALL: usize = PART / 2;

/// A dump that was begun: the answers' number, where its parts lie in the buffer, and their lengths.
#[derive(Debug)]
pub(super) struct Fetched {
    sequence: u32,
    first: usize,
    sizes: Vec<usize>,
}

impl Socket {
    /// The next request, for a dump.
    fn next_dump(&mut self, message: &Message) -> Vec<u8> {
        self.sequence += 1;
        let mut data = Vec::new();
        message.append_to(&mut data, NLM_F_DUMP, self.sequence);
        data
    }

    /// Whether dumps like the last one may be fetched [`AHEAD`].
    #[must_use]
    pub fn dumps_are_small(&self) -> bool {
        self.last_dump.is_some_and(|bytes| bytes <= SMALL)
    }

    /// Asks for all objects of a kind; `visit` gets each one's payload (fixed header, then attributes).
    pub fn dump(&mut self, message: &Message, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut request = self.fetched.is_empty().then(|| self.next_dump(message));
        let asked = Fetched { sequence: self.sequence, first: 0, sizes: Vec::new() };
        let mut found = self.fetched.pop_front().unwrap_or(asked);
        self.last_dump = request.is_none().then(|| found.sizes.iter().sum());
        loop {
            if found.sizes.is_empty() {
                let mut visit = Visit::new();
                if let Some(request) = &request {
                    visit.send(self.fd.as_fd(), request);
                    visit.needed();
                }
                let parts = socket::receive_ready_after(visit, &self.fd, &mut self.buffer, PART);
                (found.first, found.sizes) = (0, parts.context(&message.what)?);
                (request, self.last_dump) = (None, None);
            }
            let parts = self
                .buffer
                .chunks_exact(PART)
                .skip(found.first)
                .zip(found.sizes.drain(..))
                .flat_map(|(part, size)| replies(&part[..size]));
            for reply in parts.filter(|reply| reply.sequence == found.sequence) {
                if reply.kind != NLMSG_ERROR && reply.kind != NLMSG_DONE {
                    visit(reply.payload);
                    continue;
                }
                return match reply.failure() {
                    Some(failure) => Err(refusal(&message.what, 0, failure).error),
                    None => Ok(()),
                };
            }
        }
    }
}

/// Begins dumps by one visit: [`Socket::dump`] of the same message then finds what has come, once for each turn. A turn is calls,
/// then steps, then all of the dumps. There are [`AHEAD`] at most, and more than one only where every dump
/// [is small](Socket::dumps_are_small): the kernel makes one dump of a socket at a time.
///
/// # Errors
/// A step or a request that the kernel refuses.
pub fn fetch<'a>(
    together: &mut Together,
    turns: Vec<(Visit<'a>, Vec<Step<'a>>)>,
    mut dumps: Vec<(&'a mut Socket, &'a Message)>,
) -> Result<()> {
    let ask = |(socket, order): &mut (&mut Socket, &Message)| {
        let requests = turns.iter().map(|_| {
            let request = socket.next_dump(order);
            (socket.sequence, request)
        });
        requests.collect()
    };
    let requests: Vec<Vec<(u32, Vec<u8>)>> = dumps.iter_mut().map(ask).collect();
    let begin: Vec<usize> = turns.iter().map(|(_, steps)| steps.len()).collect();
    let (visits, mut steps): (Vec<Visit<'_>>, Vec<Vec<Step<'_>>>) = turns.into_iter().unzip();
    let mut found: Vec<(&mut VecDeque<Fetched>, &str)> = Vec::with_capacity(dumps.len());
    for ((socket, order), requests) in dumps.iter_mut().zip(&requests) {
        let Socket { fd, buffer, fetched, .. } = &mut **socket;
        let fd = &*fd;
        let mut parts = buffer.chunks_exact_mut(PART);
        for (steps, (_, request)) in steps.iter_mut().zip(requests) {
            steps.push(Step::Write(fd.as_fd(), request));
            steps.extend(parts.by_ref().take(FETCHED).map(|part| Step::Read(fd.as_fd(), part)));
        }
        found.push((fetched, &order.what));
    }
    let turns = visits.into_iter().zip(steps.iter_mut().map(Vec::as_mut_slice)).collect();
    let results = together.carry_out_in_turn(turns).context("read all at once")?;
    for (turn, (results, begin)) in results.into_iter().zip(begin).enumerate() {
        let mut results = results.into_iter();
        for result in results.by_ref().take(begin) {
            result.context("write beside what is read")?;
        }
        for ((fetched, what), requests) in found.iter_mut().zip(&requests) {
            results.next().transpose().context(&**what)?;
            let parts: Vec<_> = results.by_ref().take(FETCHED).collect();
            // One that had all in its first part has no second.
            let sizes = parts.into_iter().map_while(io::Result::ok).collect();
            fetched.push_back(Fetched { sequence: requests[turn].0, first: turn * FETCHED, sizes });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::u32_at;

    #[test]
    fn dumps_that_are_fetched_together_are_those_asked_for_alone() {
        Together::both().iter_mut().for_each(fetch_and_ask);
    }

    fn fetch_and_ask(together: &mut Together) {
        let orders = [
            Message::new("list links", libc::RTM_GETLINK, 0, &[0; 16]),
            Message::new("list addresses", libc::RTM_GETADDR, 0, &[0; 8]),
        ];
        let mut sockets = [(); 2].map(|()| Socket::for_dumps(libc::NETLINK_ROUTE).expect("a socket"));
        // Fetched for so many turns, then asked for; gives the last.
        let mut kinds = |turns: usize| {
            if turns > 0 {
                let turns = (0..turns).map(|_| (Visit::new(), Vec::new())).collect();
                fetch(together, turns, sockets.iter_mut().zip(&orders).collect()).expect("fetched");
            }
            let mut seen = Vec::new();
            for (socket, order) in sockets.iter_mut().zip(&orders) {
                socket.dump(order, |payload| seen.push(u32_at(payload, 4))).expect("a dump");
            }
            seen
        };
        let alone = kinds(0);
        assert!(!alone.is_empty());
        for turns in [1, 1, AHEAD, 0, 0, 0, 0, 0, 2, 0, 0, 1] {
            assert_eq!(kinds(turns), alone, "{turns}");
        }
    }
}
