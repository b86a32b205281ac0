//! A packet's first bytes, as they are on both sides of a queue: what tells it from all others, and whose it is.

use crate::plan::FIRST_PORT;
use crate::reading::found::{Protocol, Way};
use crate::reading::frame::{Frame, ETHERNET, IPV4, IPV6, IPV6_HEADER, TCP, UDP};

use super::KEPT;

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Requests and answers of both kinds.
const ECHO: [(u8, u8); 4] = [(ICMP, 8), (ICMP, 0), (ICMP6, 128), (ICMP6, 129)];

/// A packet of no flow.
pub(super) const NOBODY: u32 = u32::MAX;
/// With the data, and with what answers them.
pub(super) const DATA: u8 = 0;
pub(super) const ANSWERS: u8 = 1;

/// What a packet says of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passenger {
    pub protocol: Protocol,
    pub way: Way,
    /// Of TCP: whether it carries payload.
    pub payload: bool,
}

/// Without what a queue may change: the two ECN bits, and the checksums that go with them or are filled in late.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Header([u8; KEPT]);

impl Header {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut kept = [0; KEPT];
        let length = bytes.len().min(KEPT);
        kept[..length].copy_from_slice(&bytes[..length]);
        let mut header = Self(kept);
        match header.frame().kind() {
            IPV4 => {
                header.0[ETHERNET + 1] &= !3;
                header.0[ETHERNET + 10..ETHERNET + 12].fill(0);
            }
            IPV6 => header.0[ETHERNET + 1] &= !0x30,
            _ => {}
        }
        if let Some((protocol, at)) = header.frame().transport() {
            let checksum = match protocol {
                TCP => Some(at + 16),
                UDP => Some(at + 6),
                _ => None,
            };
            if let Some(field) = checksum.and_then(|at| header.0.get_mut(at..at + 2)) {
                field.fill(0);
            }
        }
        header
    }

    const fn frame(&self) -> Frame<'_> {
        Frame(&self.0)
    }

    /// Of TCP and UDP: who sends it to whom, and whether there is something in it.
    pub(super) fn passenger(&self) -> Option<Passenger> {
        let frame = self.frame();
        let (number, at) = frame.transport()?;
        let protocol = match number {
            TCP => Protocol::Tcp,
            UDP => Protocol::Udp,
            _ => return None,
        };
        let way = frame.way(at)?;
        // What IP says that it carries, and how much of that is TCP's own.
        let whole = if frame.kind() == IPV4 {
            usize::from(frame.word(ETHERNET + 2))
        } else {
            usize::from(frame.word(ETHERNET + 4)) + IPV6_HEADER
        };
        let own = at - ETHERNET + 4 * usize::from(self.0.get(at + 12)? >> 4);
        Some(Passenger { protocol, way, payload: whole > own })
    }

    /// The flow's number, below `flows`, and its side; [`NOBODY`]'s where it is of none.
    pub(super) fn flow(&self, flows: u32) -> (u32, u8) {
        let frame = self.frame();
        let Some((protocol, at)) = frame.transport() else { return (NOBODY, DATA) };
        let numbered = |word: u16, first: u16| {
            let number = u32::from(word.checked_sub(first)?);
            (number < flows).then_some(number)
        };
        let found = match protocol {
            TCP | UDP => {
                let [from, to] = [frame.word(at), frame.word(at + 2)].map(|port| numbered(port, FIRST_PORT));
                to.map(|number| (number, DATA)).or(from.map(|number| (number, ANSWERS)))
            }
            _ => {
                let kind = frame.byte(at);
                let echo = ECHO.iter().position(|known| *known == (protocol, kind));
                echo.and_then(|which| Some((numbered(frame.word(at + 4), 0)?, (which & 1) as u8)))
            }
        };
        found.unwrap_or((NOBODY, DATA))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn ipv4(protocol: u8, tos: u8, checksum: u8, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend([8, 0, 0x45, tos, 0, 60, 0, 9, 0x40, 0, 64, protocol, checksum, checksum]);
        packet.extend([10, 0, 0, 1, 10, 0, 2, 2]);
        packet.extend(transport);
        packet
    }

    #[test]
    fn a_mark_on_the_way_makes_no_other_packet() {
        let tcp = [0x80, 0xe8, 0x13, 0x8a, 0, 0, 0, 1];
        let sent = Header::of(&ipv4(TCP, 2, 7, &tcp));
        assert_eq!(sent, Header::of(&ipv4(TCP, 3, 8, &tcp)));
        assert_ne!(sent, Header::of(&ipv4(TCP, 2, 7, &[0x80, 0xe8, 0x13, 0x8a, 0, 0, 0, 2])));
        let mut six = vec![0; 12];
        six.extend([0x86, 0xdd, 0x60, 0x20, 0, 0, 0, 8, UDP, 64]);
        let mut marked = six.clone();
        marked[15] = 0x30;
        assert_eq!(Header::of(&six), Header::of(&marked));
    }

    #[test]
    fn the_flow_is_in_the_ports() {
        let data = Header::of(&ipv4(TCP, 0, 0, &[0x80, 0xe8, 0x13, 0x8a]));
        assert_eq!((data.flow(2), data.flow(1)), ((1, DATA), (NOBODY, DATA)));
        let answer = Header::of(&ipv4(TCP, 0, 0, &[0x13, 0x89, 0x80, 0xe8]));
        assert_eq!(answer.flow(1), (0, ANSWERS));
        let mut fragment = ipv4(UDP, 0, 0, &[0x80, 0xe8, 0x13, 0x89]);
        fragment[21] = 9;
        assert_eq!(Header::of(&fragment).flow(1), (NOBODY, DATA));
        assert_eq!(Header::of(&[]).flow(1), (NOBODY, DATA));
    }

    #[test]
    fn a_packet_says_who_sends_it_to_whom_and_whether_something_is_in_it() {
        let mut tcp = vec![0x80, 0xe8, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0xa0];
        tcp.resize(40, 0);
        // 60 bytes of IP: 20 of its own, 40 of TCP.
        let empty = Header::of(&ipv4(TCP, 0, 0, &tcp)).passenger().expect("a packet of TCP");
        assert_eq!((empty.protocol, empty.payload, empty.way.to.port), (Protocol::Tcp, false, 80));
        assert_eq!(empty.way.from.address, IpAddr::from([10, 0, 0, 1]));
        tcp[12] = 0x80;
        assert!(Header::of(&ipv4(TCP, 0, 0, &tcp)).passenger().expect("a packet of TCP").payload);
        assert_eq!(Header::of(&ipv4(ICMP, 0, 0, &tcp)).passenger(), None);
    }

    #[test]
    fn a_ping_is_in_its_identifier() {
        let request = Header::of(&ipv4(ICMP, 0, 0, &[8, 0, 1, 1, 0, 3, 0, 0]));
        let answer = Header::of(&ipv4(ICMP, 0, 0, &[0, 0, 1, 1, 0, 3, 0, 0]));
        assert_eq!((request.flow(4), answer.flow(4)), ((3, DATA), (3, ANSWERS)));
        let unreachable = Header::of(&ipv4(ICMP, 0, 0, &[3, 3, 1, 1, 0, 3, 0, 0]));
        assert_eq!(unreachable.flow(4), (NOBODY, DATA));
    }
}
