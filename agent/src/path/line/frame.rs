//! What a line knows of a frame: `struct virtio_net_hdr`, an Ethernet header, and what the network made of it.

use crate::kernel::sys::packet::{Arrival, OFFLOAD_HEADER};

const ETHERNET_HEADER: usize = 14;
/// Both hardware addresses, behind which a VLAN tag has its place.
const ADDRESSES: usize = 12;

// Offsets in `struct virtio_net_hdr`, and what stands there.
const FLAGS: usize = 0;
const GSO_TYPE: usize = 1;
const HEADER_LENGTH: usize = 2;
const GSO_SIZE: usize = 4;
const CSUM_START: usize = 6;
const CSUM_OFFSET: usize = 8;
const NEEDS_CSUM: u8 = 1;

/// An arrival as it goes on: with its VLAN tag in its place again.
pub fn whole(arrival: Arrival) -> (Vec<u8>, Option<i64>) {
    let Arrival { mut bytes, realtime_ns, tag } = arrival;
    if let Some(tag) = tag {
        bytes.splice(OFFLOAD_HEADER + ADDRESSES..OFFLOAD_HEADER + ADDRESSES, tag);
        for field in [HEADER_LENGTH, CSUM_START] {
            let moved = number(&bytes, field).wrapping_add(tag.len() as u16);
            bytes[field..field + 2].copy_from_slice(&moved.to_ne_bytes());
        }
    }
    (bytes, realtime_ns)
}

/// A frame for many, such as a neighbour's question.
pub fn is_to_many(bytes: &[u8]) -> bool {
    bytes.get(OFFLOAD_HEADER).is_some_and(|first| first & 1 == 1)
}

/// Bytes of the largest packet, without its Ethernet header, that a cable would see of this frame.
pub fn packet_size(bytes: &[u8]) -> usize {
    let all = bytes.len().saturating_sub(OFFLOAD_HEADER + ETHERNET_HEADER);
    if !is_super(bytes) {
        return all;
    }
    let headers = usize::from(number(bytes, HEADER_LENGTH)).saturating_sub(ETHERNET_HEADER);
    (headers + usize::from(number(bytes, GSO_SIZE))).min(all)
}

/// Bytes that a cable carries of this frame, as a queue counts them: of a super-frame each segment has its headers.
pub fn sent_size(bytes: &[u8]) -> usize {
    let all = bytes.len().saturating_sub(OFFLOAD_HEADER);
    let segment = usize::from(number(bytes, GSO_SIZE));
    if !is_super(bytes) || segment == 0 {
        return all;
    }
    let headers = usize::from(number(bytes, HEADER_LENGTH)).min(all);
    all + (all - headers).div_ceil(segment).saturating_sub(1) * headers
}

fn is_super(bytes: &[u8]) -> bool {
    bytes.get(GSO_TYPE).is_some_and(|kind| *kind != 0)
}

/// Turns one bit over behind the Ethernet header, chosen by `dice`, as a bad cable does: the checksum stays what it was.
/// Says whether it did; a super-frame has no checksums yet that could tell.
pub fn corrupt(bytes: &mut [u8], dice: u64) -> bool {
    let room = bytes.len().saturating_sub(OFFLOAD_HEADER + ETHERNET_HEADER);
    if room == 0 || is_super(bytes) {
        return false;
    }
    complete_checksum(bytes);
    let bit = (dice >> 3) as usize % room;
    bytes[OFFLOAD_HEADER + ETHERNET_HEADER + bit] ^= 1 << (dice & 7);
    true
}

/// Writes the checksum that the sender left to its device (RFC 1071).
fn complete_checksum(bytes: &mut [u8]) {
    if bytes[FLAGS] & NEEDS_CSUM == 0 {
        return;
    }
    let start = OFFLOAD_HEADER + usize::from(number(bytes, CSUM_START));
    let place = start + usize::from(number(bytes, CSUM_OFFSET));
    if place + 2 > bytes.len() {
        return;
    }
    let sum: u64 = bytes[start..]
        .chunks(2)
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    let folded = (0..3).fold(sum, |sum, _| (sum & 0xffff) + (sum >> 16));
    bytes[place..place + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    bytes[..OFFLOAD_HEADER].fill(0);
}

/// A field of `struct virtio_net_hdr`, which is in the machine's own order for packet sockets.
fn number(bytes: &[u8], offset: usize) -> u16 {
    bytes.get(offset..offset + 2).map_or(0, |pair| u16::from_ne_bytes([pair[0], pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of IPv4 and UDP whose checksum is the device's to write.
    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; OFFLOAD_HEADER];
        bytes[FLAGS] = NEEDS_CSUM;
        bytes[CSUM_START..][..2].copy_from_slice(&34_u16.to_ne_bytes());
        bytes[CSUM_OFFSET..][..2].copy_from_slice(&6_u16.to_ne_bytes());
        bytes.extend([0; ETHERNET_HEADER + 20 + 6]);
        // RFC 768's pseudo header for 10.0.0.1 → 10.0.0.2, 8 + 4 bytes of UDP: 0x0a00+1 + 0x0a00+2 + 17 + 12.
        bytes.extend((0x0a00_u16 + 1 + 0x0a00 + 2 + 17 + 12).to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn the_checksum_is_the_internet_checksum() {
        let mut bytes = frame(&[0x12, 0x34, 0x56, 0x78]);
        complete_checksum(&mut bytes);
        // 0x1420 of the pseudo header (its length field counts again in the header, here 0) + 0x1234 + 0x5678 = 0x7ccc.
        assert_eq!(bytes[50..52], (!0x7ccc_u16).to_be_bytes());
        assert!(bytes[..OFFLOAD_HEADER].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn corruption_is_one_bit_behind_the_ethernet_header() {
        let clean = {
            let mut bytes = frame(&[1, 2, 3, 4]);
            complete_checksum(&mut bytes);
            bytes
        };
        for dice in [0, 7, 12_345, u64::MAX] {
            let mut bytes = frame(&[1, 2, 3, 4]);
            assert!(corrupt(&mut bytes, dice));
            let bits: u32 = bytes.iter().zip(&clean).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!((bits, &bytes[..24]), (1, &clean[..24]));
        }
    }

    #[test]
    fn a_super_frame_is_as_large_as_its_segments() {
        let mut bytes = vec![0; OFFLOAD_HEADER + ETHERNET_HEADER + 40 + 14_480];
        assert_eq!(packet_size(&bytes), 14_520);
        bytes[GSO_TYPE] = 1;
        bytes[HEADER_LENGTH..][..2].copy_from_slice(&54_u16.to_ne_bytes());
        bytes[GSO_SIZE..][..2].copy_from_slice(&1448_u16.to_ne_bytes());
        assert_eq!(packet_size(&bytes), 1488);
        assert!(!corrupt(&mut bytes, 1));
    }

    #[test]
    fn a_tag_goes_back_to_where_it_was() {
        let bytes = (0..60).collect();
        let arrival = Arrival { bytes, realtime_ns: Some(5), tag: Some([0x81, 0, 0, 7]) };
        let (bytes, stamp) = whole(arrival);
        assert_eq!((bytes.len(), stamp), (64, Some(5)));
        assert_eq!(bytes[20..28], [20, 21, 0x81, 0, 0, 7, 22, 23]);
        assert_eq!(bytes[CSUM_START], 6 + 4);
    }
}
