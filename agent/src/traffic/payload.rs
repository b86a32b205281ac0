//! What flows carry: zeroes, or bytes that differ from place to place, so that a receiver knows each by where it arrives.

use std::sync::LazyLock;

use crate::kernel::sys::socket::Repeated;

/// The pattern's period, a prime: no segment, page, buffer or message is as long, nor some of them together by chance.
const PERIOD: usize = 65_521;

/// The most that is handed over at once.
pub(super) const LARGEST: usize = 1 << 20;

/// Never written to, so the kernel backs all of it with its one page of zeroes.
static ZEROES: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(vec![0; LARGEST]));

static PATTERN: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..PERIOD).map(scattered).collect::<Vec<u8>>().repeat(LARGEST.div_ceil(PERIOD) + 1));

/// A byte of the pattern: the multiplier of `SplitMix64` leaves no run of it like another.
fn scattered(place: usize) -> u8 {
    let mixed = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    Zeroes,
    Pattern,
}

impl Payload {
    pub const fn new(verified: bool) -> Self {
        if verified {
            Self::Pattern
        } else {
            Self::Zeroes
        }
    }

    /// The bytes from this place on, [`LARGEST`] at most.
    pub fn at(self, place: u64, size: usize) -> &'static [u8] {
        match self {
            Self::Zeroes => &ZEROES.once()[..size],
            Self::Pattern => {
                let from = (place % PERIOD as u64) as usize;
                &PATTERN[from..from + size]
            }
        }
    }

    /// The same [`LARGEST`] bytes over and over, where they are the same at every place.
    pub fn repeated(self) -> Option<&'static Repeated> {
        (self == Self::Zeroes).then(|| &*ZEROES)
    }

    /// The bytes behind the header of a datagram: of each number others.
    pub fn of_datagram(self, seq: u64, size: usize) -> &'static [u8] {
        self.at((seq % PERIOD as u64) * 8191, size)
    }
}

/// What a receiver has found of bytes that are not those that were sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Corrupted {
    pub bytes: u64,
    /// Where the first was: its place in the stream, or its datagram's number.
    pub first: Option<u64>,
}

impl Corrupted {
    /// Bytes of a stream that arrived at this place.
    pub fn look_at_stream(&mut self, place: u64, came: &[u8]) {
        for (piece, from) in came.chunks(LARGEST).zip((place..).step_by(LARGEST)) {
            let sent = Payload::Pattern.at(from, piece.len());
            if let Some(at) = first_other(piece, sent) {
                self.count(from + at as u64, piece, sent);
            }
        }
    }

    /// What came behind the header of a datagram.
    pub fn look_at_datagram(&mut self, seq: u64, came: &[u8]) {
        let sent = Payload::Pattern.of_datagram(seq, came.len());
        if came != sent {
            self.count(seq, came, sent);
        }
    }

    fn count(&mut self, place: u64, came: &[u8], sent: &[u8]) {
        self.bytes += came.iter().zip(sent).filter(|(came, sent)| came != sent).count() as u64;
        self.first.get_or_insert(place);
    }
}

fn first_other(came: &[u8], sent: &[u8]) -> Option<usize> {
    // Nearly always nothing: comparing all at once is many times faster than byte by byte.
    if came == sent {
        return None;
    }
    came.iter().zip(sent).position(|(came, sent)| came != sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_wherever_it_is_cut() {
        let mut wrong = Corrupted::default();
        let mut place = 0;
        for size in [1, 7, 1448, 65_521, LARGEST, 3] {
            wrong.look_at_stream(place, Payload::Pattern.at(place, size));
            place += size as u64;
        }
        assert_eq!(wrong, Corrupted::default());
    }

    #[test]
    fn a_byte_that_is_not_its_own_is_counted_where_it_stands() {
        let mut came = Payload::Pattern.at(1000, 500).to_vec();
        came[17] ^= 1;
        came[400] ^= 0x80;
        let mut wrong = Corrupted::default();
        wrong.look_at_stream(1000, &came);
        assert_eq!(wrong, Corrupted { bytes: 2, first: Some(1017) });
    }

    #[test]
    fn whatever_is_put_at_another_place_is_seen() {
        // What networks lose, repeat and cut: bytes, words, segments of both families, pages, bundles.
        for shift in [1, 4, 8, 1428, 1440, 1448, 1460, 4096, 32_768, 65_160, 65_536, 1 << 20] {
            let mut wrong = Corrupted::default();
            wrong.look_at_stream(0, Payload::Pattern.at(shift, 1000));
            assert!(wrong.bytes > 950, "{shift} bytes away {} of 1000 differ", wrong.bytes);
        }
    }

    #[test]
    fn datagrams_differ_by_their_number() {
        let mut wrong = Corrupted::default();
        for (seq, other) in [(0, 0), (7, 7), (u64::MAX, u64::MAX)] {
            wrong.look_at_datagram(seq, Payload::Pattern.of_datagram(other, 1448));
        }
        assert_eq!(wrong, Corrupted::default());
        wrong.look_at_datagram(8, Payload::Pattern.of_datagram(7, 1448));
        assert!(wrong.bytes > 1400 && wrong.first == Some(8));
    }
}
