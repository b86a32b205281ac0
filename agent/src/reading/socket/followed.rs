//! Sockets that no flow of the plan names: whose sides they are, and their last words.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::error::Result;
use crate::kernel::netns::Nodes;
use crate::plan::Plan;
use crate::reading::found::gone::Gone;
use crate::reading::found::{open, At, End, Info, Owner, Protocol, Shared, Way};

use super::CC_NAME;

/// What is known beside the dumps.
#[derive(Debug)]
pub(super) struct Followed {
    book: Shared,
    gone: Gone,
    /// The congestion control of each side when it was last seen: last words do not name it.
    names: BTreeMap<(u32, u8), Vec<u8>>,
    last_ns: i64,
}

/// The last words of a socket, and when they were true.
pub(super) struct Last {
    pub at: At,
    pub at_ns: i64,
    pub payload: Vec<u8>,
}

impl Followed {
    pub fn open(plan: &Plan, nodes: &Nodes, book: &Shared) -> Result<Self> {
        let (book, gone) = (book.clone(), Gone::listen(plan, nodes)?);
        Ok(Self { book, gone, names: BTreeMap::new(), last_ns: i64::MIN })
    }

    /// The flows that a socket is a side of, with that side: those of what it sends (0) and of what it receives (1).
    pub fn sides(&self, payload: &[u8], info: &[u8], now_ns: i64) -> Vec<(u32, u8)> {
        let owner = way(payload).map(|way| open(&self.book).owner(Protocol::Tcp, way, now_ns));
        match owner.filter(|_| !info.is_empty()) {
            Some(Owner::Planned { flow, side }) => vec![(flow, side)],
            Some(Owner::Found(at)) => self.sides_of(at, info),
            Some(Owner::Nobody) | None => Vec::new(),
        }
    }

    /// Likewise of a socket that is known.
    pub fn sides_of(&self, at: At, info: &[u8]) -> Vec<(u32, u8)> {
        let mut book = open(&self.book);
        let told = book.told(at, &Info::read(info));
        let sides = [(book.flow(at), 0), (book.flow(at.back()), 1)];
        sides.into_iter().zip(told).filter_map(|(side, is_one)| is_one.then_some(side)).collect()
    }

    /// Whether a connection that came after that time has a socket here that was not seen.
    pub fn awaits_sockets(&self, since_ns: i64) -> bool {
        open(&self.book).awaits_sockets(since_ns)
    }

    /// Notes the congestion control of a side, or gives the one that was noted.
    pub fn name(&mut self, side: (u32, u8), name: &[u8]) -> Vec<u8> {
        if name.is_empty() {
            return self.names.get(&side).cloned().unwrap_or_default();
        }
        let known = self.names.entry(side).or_default();
        if known != name {
            *known = name[..name.len().min(CC_NAME)].to_vec();
        }
        known.clone()
    }

    /// The last words since the last call, in the order in which the sockets were closed, none before that call.
    pub fn last_words(&mut self, now_ns: i64, duration_ns: i64) -> Result<Vec<Last>> {
        let Self { book, gone, last_ns, .. } = self;
        let mut found = Vec::new();
        let mut book = open(book);
        book.lost += gone.read(|payload| {
            // Of a connection within one node, or of a flow of the plan, nothing is known here.
            let last = way(payload).and_then(|way| book.last_words(way));
            if let Some((at, closed_ns)) = last.filter(|(_, at_ns)| *at_ns <= duration_ns) {
                found.push(Last { at, at_ns: closed_ns.clamp(*last_ns, now_ns), payload: payload.to_vec() });
            }
        })?;
        found.sort_by_key(|last| last.at_ns);
        *last_ns = now_ns;
        Ok(found)
    }
}

/// From the socket to the other end, of a `struct inet_diag_msg`.
fn way(payload: &[u8]) -> Option<Way> {
    let port = |at: usize| Some(u16::from_be_bytes(*payload.get(at..)?.first_chunk()?));
    let address = |at: usize| {
        let v4: [u8; 4] = *payload.get(at..)?.first_chunk()?;
        let v6: [u8; 16] = *payload.get(at..)?.first_chunk()?;
        let is_4 = i32::from(*payload.first()?) == libc::AF_INET;
        Some(if is_4 { IpAddr::from(v4) } else { IpAddr::from(v6) })
    };
    let from = End::new(address(8)?, port(4)?);
    Some(Way { from, to: End::new(address(24)?, port(6)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_names_both_its_ends() {
        let mut payload = vec![0; 72];
        payload[0] = libc::AF_INET as u8;
        payload[4..8].copy_from_slice(&[0x9c, 0x40, 0, 80]);
        payload[8..12].copy_from_slice(&[10, 0, 0, 1]);
        payload[24..28].copy_from_slice(&[10, 0, 0, 2]);
        let told = way(&payload).expect("a way");
        assert_eq!((told.from.port, told.to.port), (40_000, 80));
        assert_eq!(told.to.address, IpAddr::from([10, 0, 0, 2]));
        payload[0] = libc::AF_INET6 as u8;
        payload[8..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
        assert_eq!(way(&payload).expect("a way").from.address, IpAddr::from([10, 0, 0, 1]));
        assert_eq!(way(&payload[..30]), None);
    }
}
