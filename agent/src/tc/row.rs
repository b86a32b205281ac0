//! What the kernel tells about its qdiscs.

use super::{tcmsg, Device, Place, TCA_KIND, TCA_OPTIONS};
use crate::error::Result;
use crate::kernel::netlink::{attribute, u32_at, u64_at, Message, Socket};

/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;
const TCA_XSTATS: u16 = 4;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;

/// One qdisc with its counters (`struct gnet_stats_basic`, `struct gnet_stats_queue`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row<'a> {
    pub ifindex: u32,
    pub handle: u32,
    pub parent: u32,
    pub kind: &'a str,
    pub bytes: u64,
    pub packets: u64,
    pub qlen: u32,
    pub backlog: u32,
    pub drops: u32,
    pub requeues: u32,
    pub overlimits: u32,
    /// The kind's own statistics, as the kernel lays them out.
    pub xstats: &'a [u8],
    /// `TCA_OPTIONS` as the kernel reads it back.
    pub options: &'a [u8],
}

impl<'a> Row<'a> {
    /// Reads the payload of an `RTM_NEWQDISC` (or `RTM_NEWTCLASS`) message; `None` when it is torn.
    #[must_use]
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let attributes = told(payload)?;
        let kind = attribute(attributes, TCA_KIND)?;
        let stats = attribute(attributes, TCA_STATS2).unwrap_or_default();
        let basic = attribute(stats, TCA_STATS_BASIC).unwrap_or_default();
        let queue = attribute(stats, TCA_STATS_QUEUE).unwrap_or_default();
        let queue_field = |index: usize| u32_at(queue, 4 * index).unwrap_or(0);
        let packets = attribute(stats, TCA_STATS_PKT64).and_then(|value| u64_at(value, 0));
        Some(Self {
            ifindex: u32_at(payload, 4)?,
            handle: u32_at(payload, 8)?,
            parent: u32_at(payload, 12)?,
            kind: std::str::from_utf8(kind.strip_suffix(&[0]).unwrap_or(kind)).ok()?,
            bytes: u64_at(basic, 0).unwrap_or(0),
            packets: packets.unwrap_or_else(|| u32_at(basic, 8).unwrap_or(0).into()),
            qlen: queue_field(0),
            backlog: queue_field(1),
            drops: queue_field(2),
            requeues: queue_field(3),
            overlimits: queue_field(4),
            xstats: attribute(stats, TCA_STATS_APP).or(attribute(attributes, TCA_XSTATS)).unwrap_or_default(),
            options: attribute(attributes, TCA_OPTIONS).unwrap_or_default(),
        })
    }
}

/// A request for what there is of a device, or, of filters, of what hangs at one place of it. Where `ifindex` is zero:
/// of all devices.
pub(crate) fn list(what: impl Into<String>, kind: u16, ifindex: u32, parent: u32) -> Message {
    let device = Device { name: "", ifindex };
    let mut message = tcmsg(what.into(), kind, &device, &Place { parent, handle: 0 }, 0);
    message.flags = 0;
    message
}

/// The attributes in a message of the kernel about a qdisc, a class or a filter.
pub(crate) fn told(payload: &[u8]) -> Option<&[u8]> {
    payload.get(TCMSG..)
}

/// Visits every qdisc of the socket's namespace.
pub fn dump(socket: &mut Socket, mut visit: impl FnMut(&Row)) -> Result<()> {
    socket.dump(&list("list qdiscs", libc::RTM_GETQDISC, 0, 0), |payload| {
        if let Some(row) = Row::parse(payload) {
            visit(&row);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    fn sample() -> Vec<u8> {
        let mut body = Attributes::new();
        let mut header = vec![0; 4];
        for field in [100_u32, 0x10000, 0xffff_ffff, 2] {
            header.extend(field.to_ne_bytes());
        }
        body.raw(&header).text(TCA_KIND, "tbf").put(TCA_OPTIONS, &[1, 2, 3, 4]).nest(TCA_STATS2, |stats| {
            let mut basic = 3000_u64.to_ne_bytes().to_vec();
            basic.extend(2_u64.to_ne_bytes());
            stats.put(TCA_STATS_BASIC, &basic).put(TCA_STATS_APP, &[9, 9]);
            let queue: Vec<u8> =
                [1_u32, 1514, 7, 5, 6].iter().flat_map(|field| field.to_ne_bytes()).collect();
            stats.put(TCA_STATS_QUEUE, &queue);
        });
        body.bytes().to_vec()
    }

    #[test]
    fn counters_are_where_the_kernel_puts_them() {
        let bytes = sample();
        let row = Row::parse(&bytes).expect("a whole row");
        assert_eq!((row.ifindex, row.handle, row.parent, row.kind), (100, 0x10000, 0xffff_ffff, "tbf"));
        assert_eq!((row.bytes, row.packets), (3000, 2));
        assert_eq!((row.qlen, row.backlog, row.drops, row.requeues, row.overlimits), (1, 1514, 7, 5, 6));
        assert_eq!((row.xstats, row.options), (&[9, 9][..], &[1, 2, 3, 4][..]));
    }

    #[test]
    fn a_torn_row_is_no_row_and_no_panic() {
        let bytes = sample();
        for end in 0..bytes.len() {
            if let Some(row) = Row::parse(&bytes[..end]) {
                assert_eq!(row.kind, "tbf");
            }
        }
        assert_eq!(Row::parse(&bytes[..TCMSG]), None);
    }
}
