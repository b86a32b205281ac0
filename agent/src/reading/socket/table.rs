//! A node's table of TCP sockets: gone through whole, or asked for those that were seen there.

use super::{CONG, INFO, SKMEMINFO, VEGASINFO};
use crate::error::Result;
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::netns::Nodes;

pub(in crate::reading) const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Every state but `TIME_WAIT`, `CLOSE`, `LISTEN` and the two of half-open requests: those have no `tcp_info`.
pub(in crate::reading) const STATES: u32 =
    (1 << 1) | (1 << 2) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9) | (1 << 11);

/// `struct inet_diag_sockid`: as long in a request as in an answer, where it begins at 4.
const NAME: usize = 48;

/// The sockets of one family.
#[derive(Debug)]
pub(super) struct Table {
    socket: Socket,
    family: u8,
    all: Message,
    /// Requests for those that counted when they were last seen.
    known: Vec<Message>,
}

impl Table {
    pub fn open(nodes: &Nodes, node: &str, family: u8) -> Result<Self> {
        let socket = Socket::for_dumps_in(nodes, node, libc::NETLINK_SOCK_DIAG)?;
        // A name of zeros is that of all.
        Ok(Self { socket, family, all: request(family, &[0; NAME]), known: Vec::new() })
    }

    /// What [`Self::go_through`] will ask for.
    pub fn dump(&mut self) -> (&mut Socket, &Message) {
        (&mut self.socket, &self.all)
    }

    /// Gives `keep` all sockets; it says which of them count.
    pub fn go_through(&mut self, mut keep: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let mut outcome = Ok(true);
        self.socket.dump(&self.all, |payload| {
            if outcome.is_ok() {
                outcome = keep(payload);
            }
        })?;
        outcome.map(drop)
    }

    /// The same; those that count can be asked for from now on.
    pub fn go_through_and_note(&mut self, mut keep: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let (family, mut known) = (self.family, Vec::new());
        self.go_through(|payload| {
            let counts = keep(payload)?;
            known.extend(payload.get(4..4 + NAME).filter(|_| counts).map(|name| request(family, name)));
            Ok(counts)
        })?;
        self.known = known;
        Ok(())
    }

    /// Gives `keep` those that counted; who is gone is asked for no more.
    pub fn ask_known(&mut self, mut keep: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let (mut outcome, mut there) = (Ok(true), vec![false; self.known.len()]);
        self.socket.ask_each(&self.known, |number, payload| {
            // Asked by its name one answers in any state.
            let is_open = payload.get(1).is_some_and(|state| STATES >> state & 1 == 1);
            if outcome.is_ok() && is_open {
                outcome = keep(payload);
                there[number] = true;
            }
        })?;
        let mut there = there.into_iter();
        self.known.retain(|_| there.next().unwrap_or(false));
        outcome.map(drop)
    }
}

/// `struct inet_diag_req_v2`: family, protocol, extensions, padding, states, then the socket's name.
fn request(family: u8, name: &[u8]) -> Message {
    let wanted = [INFO, VEGASINFO, CONG, SKMEMINFO].iter().fold(0_u8, |bits, kind| bits | 1 << (kind - 1));
    let mut header = vec![family, libc::IPPROTO_TCP as u8, wanted, 0];
    header.extend(STATES.to_ne_bytes());
    header.extend(name);
    Message::new("list TCP sockets", SOCK_DIAG_BY_FAMILY, 0, &header)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::reading::socket::ports;

    #[test]
    fn the_request_is_an_inet_diag_req_v2() {
        let bytes = request(2, &[0; NAME]).body.bytes().to_vec();
        assert_eq!(bytes.len(), 56);
        assert_eq!(bytes[..4], [2, 6, 0b100_1110, 0]);
    }

    fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let one = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        (one, listener.accept().expect("its other end").0)
    }

    #[test]
    fn who_was_seen_is_asked_for_by_name_until_it_is_gone() {
        let nodes = Nodes::only("here").expect("a node");
        let mut table = Table::open(&nodes, "here", libc::AF_INET as u8).expect("a table");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let mut pairs: Vec<_> = (0..100).map(|_| connected(&listener)).collect();
        let seen = |payload: &[u8], found: &mut Vec<Vec<u8>>| {
            let ours = ports(payload).is_some_and(|(own, peer)| own == port || peer == port);
            found.extend(ours.then(|| payload[4..52].to_vec()));
            Ok(ours)
        };
        let (mut whole, mut known, mut left) = (Vec::new(), Vec::new(), Vec::new());
        table.go_through_and_note(|payload| seen(payload, &mut whole)).expect("gone through");
        assert_eq!(whole.len(), 200);
        table.ask_known(|payload| seen(payload, &mut known)).expect("asked");
        assert_eq!(known, whole);
        // A reset takes both ends at once; a new connection is not asked for.
        let gone = pairs.pop().expect("a pair");
        crate::kernel::sys::socket::reset_on_close(&gone.0);
        drop(gone);
        let _new = connected(&listener);
        table.ask_known(|payload| seen(payload, &mut left)).expect("asked");
        assert_eq!(left.len(), 198);
    }
}
