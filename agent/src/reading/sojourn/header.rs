//! A packet's first bytes, as they are on both sides of a queue: what tells it from all others, and whose it is.

use crate::plan::FIRST_PORT;

use super::program::KEPT;

const ETHERNET: usize = 14;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const IPV6_HEADER: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Requests and answers of both kinds.
const ECHO: [(u8, u8); 4] = [(ICMP, 8), (ICMP, 0), (ICMP6, 128), (ICMP6, 129)];
const OFFSET_OF_FRAGMENT: u16 = 0x1fff;

/// A packet of no flow.
pub(super) const NOBODY: u32 = u32::MAX;
/// With the data, and with what answers them.
pub(super) const DATA: u8 = 0;
pub(super) const ANSWERS: u8 = 1;

/// Without what a queue may change: the two ECN bits, and the checksums that go with them or are filled in late.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Header([u8; KEPT]);

impl Header {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut kept = [0; KEPT];
        let length = bytes.len().min(KEPT);
        kept[..length].copy_from_slice(&bytes[..length]);
        let mut header = Self(kept);
        match header.word(12) {
            IPV4 => {
                header.0[ETHERNET + 1] &= !3;
                header.0[ETHERNET + 10..ETHERNET + 12].fill(0);
            }
            IPV6 => header.0[ETHERNET + 1] &= !0x30,
            _ => {}
        }
        if let Some((protocol, at)) = header.transport() {
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

    fn word(&self, at: usize) -> u16 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// The protocol above IP and where it begins; `None` in what is no first fragment of IP.
    fn transport(&self) -> Option<(u8, usize)> {
        match self.word(12) {
            IPV4 if self.word(ETHERNET + 6) & OFFSET_OF_FRAGMENT == 0 => {
                Some((self.0[ETHERNET + 9], ETHERNET + 4 * usize::from(self.0[ETHERNET] & 15)))
            }
            IPV6 => Some((self.0[ETHERNET + 6], ETHERNET + IPV6_HEADER)),
            _ => None,
        }
    }

    /// The flow's number, below `flows`, and its side; [`NOBODY`]'s where it is of none.
    pub(super) fn flow(&self, flows: u32) -> (u32, u8) {
        let Some((protocol, at)) = self.transport() else { return (NOBODY, DATA) };
        let numbered = |word: u16, first: u16| {
            let number = u32::from(word.checked_sub(first)?);
            (number < flows).then_some(number)
        };
        let found = match protocol {
            TCP | UDP => {
                let [from, to] = [self.word(at), self.word(at + 2)].map(|port| numbered(port, FIRST_PORT));
                to.map(|number| (number, DATA)).or(from.map(|number| (number, ANSWERS)))
            }
            _ => {
                let kind = self.0.get(at).copied().unwrap_or(0);
                let echo = ECHO.iter().position(|known| *known == (protocol, kind));
                echo.and_then(|which| Some((numbered(self.word(at + 4), 0)?, (which & 1) as u8)))
            }
        };
        found.unwrap_or((NOBODY, DATA))
    }
}

#[cfg(test)]
mod tests {
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
    fn a_ping_is_in_its_identifier() {
        let request = Header::of(&ipv4(ICMP, 0, 0, &[8, 0, 1, 1, 0, 3, 0, 0]));
        let answer = Header::of(&ipv4(ICMP, 0, 0, &[0, 0, 1, 1, 0, 3, 0, 0]));
        assert_eq!((request.flow(4), answer.flow(4)), ((3, DATA), (3, ANSWERS)));
        let unreachable = Header::of(&ipv4(ICMP, 0, 0, &[3, 3, 1, 1, 0, 3, 0, 0]));
        assert_eq!(unreachable.flow(4), (NOBODY, DATA));
    }
}
