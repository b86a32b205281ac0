//! Which packets the program tells of, and what they say.

use super::super::Way;
use crate::kernel::bpf::{Label, Program, Size, When, R0, R1, R6, R7};
use crate::reading::frame::{Frame, ETHERNET, IPV4, IPV6, UDP};
use crate::reading::passage::SKB_LEN;

/// Bytes of the shortest IPv4 and of UDP.
const SHORTEST: i32 = 28;
const UDP_HEADER: u16 = 8;
/// Where IPv4 and IPv6 name what they carry.
const PROTOCOL_4: i32 = ETHERNET as i32 + 9;
const PROTOCOL_6: i32 = ETHERNET as i32 + 6;
/// Offsets in `struct __sk_buff`; the number of segments, 0 of a plain packet, since Linux 5.1.
const SKB_PROTOCOL: i16 = 16;
pub(super) const SKB_SEGMENTS: i16 = 164;

/// Who sends it to whom, and how much.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Datagram {
    pub way: Way,
    pub payload: u16,
}

impl Datagram {
    /// `None` of all but the first fragment: of a datagram in pieces that one tells the whole length.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let frame = Frame(bytes);
        let (_, at) = frame.transport()?;
        Some(Self { way: frame.way(at)?, payload: frame.word(at + 4).saturating_sub(UDP_HEADER) })
    }
}

/// Goes to `done` with all but UDP.
pub(super) fn only_udp(code: &mut Program, done: Label) {
    let (six, wanted, udp) = (code.label(), code.label(), i32::from(UDP));
    code.load(Size::Word, R7, R6, SKB_LEN);
    // No packet of IP is shorter than what is looked at.
    code.jump_if(When::Below, R7, ETHERNET as i32 + SHORTEST, done);
    code.load(Size::Word, R1, R6, SKB_PROTOCOL);
    code.jump_if(When::Equal, R1, i32::from(IPV6.to_be()), six);
    code.jump_if(When::NotEqual, R1, i32::from(IPV4.to_be()), done);
    code.load_packet_byte(PROTOCOL_4).jump_if(When::Equal, R0, udp, wanted).jump(done);
    code.place(six).load_packet_byte(PROTOCOL_6).jump_if(When::NotEqual, R0, udp, done).place(wanted);
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::super::End;
    use super::*;

    fn read(packet: &[u8]) -> Option<Datagram> {
        let mut kept = packet.to_vec();
        kept.resize(88, 0);
        Datagram::read(&kept)
    }

    fn ipv4(fragment: [u8; 2]) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend([8, 0, 0x46, 0, 0, 60, 0, 9, fragment[0], fragment[1], 64, 17, 0, 0]);
        packet.extend([10, 0, 0, 1, 10, 0, 2, 2, 1, 1, 1, 1]);
        packet.extend([0x9c, 0x40, 0x01, 0xbb, 0, 108, 0, 0]);
        packet
    }

    fn end(address: &str, port: u16) -> End {
        End::new(address.parse().expect("an address"), port)
    }

    #[test]
    fn a_packet_tells_of_a_datagram() {
        let way = Way { from: end("10.0.0.1", 40_000), to: end("10.0.2.2", 443) };
        assert_eq!(read(&ipv4([0x20, 0])), Some(Datagram { way, payload: 100 }));
    }

    #[test]
    fn a_later_fragment_is_no_datagram() {
        assert_eq!(read(&ipv4([0, 185])), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn a_datagram_of_ipv6_is_told_too() {
        let mut packet = vec![0; 12];
        packet.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64]);
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([0x9c, 0x40, 0x01, 0xbb, 0, 8, 0, 0]);
        let datagram = read(&packet).expect("a datagram");
        assert_eq!((datagram.way.from.port, datagram.way.to.port, datagram.payload), (40_000, 443, 0));
        assert_eq!(datagram.way.to.address, IpAddr::from([0xfe_u8; 16]));
    }
}
