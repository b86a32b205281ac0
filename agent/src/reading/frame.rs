//! The first bytes of an Ethernet frame: what IP carries in it, and between whom.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::reading::found::{End, Way};

pub(super) const ETHERNET: usize = 14;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const IPV6_HEADER: usize = 40;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const OFFSET_OF_FRAGMENT: u16 = 0x1fff;

/// What is not there is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a>(pub &'a [u8]);

impl Frame<'_> {
    pub fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    pub fn word(self, at: usize) -> u16 {
        self.0.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// What Ethernet says that it carries.
    pub fn kind(self) -> u16 {
        self.word(12)
    }

    /// The protocol above IP and where it begins; `None` in what is no first fragment of IP.
    pub fn transport(self) -> Option<(u8, usize)> {
        match self.kind() {
            IPV4 if self.word(ETHERNET + 6) & OFFSET_OF_FRAGMENT == 0 => {
                Some((self.byte(ETHERNET + 9), ETHERNET + 4 * usize::from(self.byte(ETHERNET) & 15)))
            }
            IPV6 => Some((self.byte(ETHERNET + 6), ETHERNET + IPV6_HEADER)),
            _ => None,
        }
    }

    /// Of IP with TCP or UDP, which begins at `at`: who sends it to whom.
    pub fn way(self, at: usize) -> Option<Way> {
        let address = |v4: usize, v6: usize| {
            let octets = |at: usize| self.0.get(ETHERNET + at..);
            Some(if self.kind() == IPV4 {
                IpAddr::from(Ipv4Addr::from(*octets(v4)?.first_chunk::<4>()?))
            } else {
                IpAddr::from(Ipv6Addr::from(*octets(v6)?.first_chunk::<16>()?))
            })
        };
        let from = End::new(address(12, 8)?, self.word(at));
        Some(Way { from, to: End::new(address(16, 24)?, self.word(at + 2)) })
    }
}
