//! What comes back over netlink: messages, and the kernel's refusals in its own words.

use std::io;

use crate::error::Error;

use super::attributes::{attribute, u16_at, u32_at, ALIGN};
use super::{HEADER, NLMSG_ERROR};

const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// A message that came back, without its header.
pub(super) struct Reply<'a> {
    pub kind: u16,
    flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

impl Reply<'_> {
    /// The failure an `NLMSG_ERROR` (or the end of a dump) carries: errno and the kernel's own words.
    pub fn failure(&self) -> Option<(io::Error, String)> {
        let errno = u32_at(self.payload, 0)? as i32;
        if errno == 0 {
            return None;
        }
        let echoed = match self.kind {
            NLMSG_ERROR if self.flags & NLM_F_CAPPED == 0 => u32_at(self.payload, 4)? as usize,
            NLMSG_ERROR => HEADER,
            _ => 0,
        };
        let words = (self.flags & NLM_F_ACK_TLVS != 0)
            .then(|| self.payload.get(4 + echoed.next_multiple_of(ALIGN)..))
            .flatten()
            .and_then(|tlvs| attribute(tlvs, NLMSGERR_ATTR_MSG))
            .map(|text| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
            .unwrap_or_default();
        Some((io::Error::from_raw_os_error(-errno), words))
    }
}

pub(super) fn replies(mut bytes: &[u8]) -> impl Iterator<Item = Reply<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let reply = Reply {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            payload: bytes.get(HEADER..length)?,
        };
        bytes = bytes.get(length.next_multiple_of(ALIGN)..).unwrap_or(&[]);
        Some(reply)
    })
}

/// A request that the kernel refused.
#[derive(Debug)]
pub struct Refusal {
    /// Which message of the batch.
    pub index: usize,
    pub errno: i32,
    pub error: Error,
}

pub(super) fn refusal(what: &str, index: usize, (cause, words): (io::Error, String)) -> Refusal {
    let separator = if words.is_empty() { "" } else { ": " };
    let error = Error::new("topology", format!("{what}: {cause}{separator}{words}"));
    Refusal { index, errno: cause.raw_os_error().unwrap_or(0), error }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

#[cfg(test)]
mod tests {
    use super::super::Attributes;
    use super::*;

    #[test]
    fn a_refusal_carries_the_kernels_words() {
        let mut payload = (-libc::EINVAL).to_ne_bytes().to_vec();
        payload.extend([0_u8; HEADER]);
        let mut words = Attributes::new();
        words.text(NLMSGERR_ATTR_MSG, "no such thing");
        payload.extend(words.bytes());
        let reply =
            Reply { kind: NLMSG_ERROR, flags: NLM_F_CAPPED | NLM_F_ACK_TLVS, sequence: 1, payload: &payload };
        let refused = refusal("add a thing", 0, reply.failure().expect("a failure"));
        assert_eq!(refused.errno, libc::EINVAL);
        assert_eq!(refused.error.message, "add a thing: Invalid argument (os error 22): no such thing");
    }
}
