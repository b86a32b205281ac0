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
    /// The names of those that counted when they were last seen.
    known: Vec<[u8; NAME]>,
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

    /// Gives `keep` all sockets; it says which of them count, and those can be asked for from now on.
    pub fn go_through(&mut self, keep: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        self.known.clear();
        let mut seen = Seen { keep, known: &mut self.known, outcome: Ok(()) };
        self.socket.dump(&self.all, |payload| seen.add(payload))?;
        seen.outcome
    }

    /// Gives `keep` those that counted; who is gone is asked for no more.
    pub fn ask_known(&mut self, keep: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let requests: Vec<_> = self.known.drain(..).map(|name| request(self.family, &name)).collect();
        let mut seen = Seen { keep, known: &mut self.known, outcome: Ok(()) };
        self.socket.ask_each(&requests, |payload| {
            // Asked by its name one answers in any state.
            if payload.get(1).is_some_and(|state| STATES >> state & 1 == 1) {
                seen.add(payload);
            }
        })?;
        seen.outcome
    }
}

/// What comes of the sockets of one reading.
struct Seen<'a, K> {
    keep: K,
    known: &'a mut Vec<[u8; NAME]>,
    outcome: Result<()>,
}

impl<K: FnMut(&[u8]) -> Result<bool>> Seen<'_, K> {
    fn add(&mut self, payload: &[u8]) {
        if self.outcome.is_err() {
            return;
        }
        match (self.keep)(payload) {
            Ok(true) => self.known.extend(payload.get(4..).and_then(|rest| rest.first_chunk())),
            Ok(false) => {}
            Err(error) => self.outcome = Err(error),
        }
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
        table.go_through(|payload| seen(payload, &mut whole)).expect("gone through");
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
