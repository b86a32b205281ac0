//! Netlink: messages out, acknowledgements and dumps in (RFC 3549, `Documentation/userspace-api/netlink`).
//!
//! A socket belongs for good to the namespace it was opened in, so one opened inside a node can be used from anywhere.

mod attributes;
mod dump;
mod each;
mod heard;
mod reply;
mod room;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{Context, Error, Result};
use crate::kernel::netns::Nodes;
use crate::kernel::sys::socket;
use crate::kernel::sys::visit::{Number, Results, Visit};

pub use attributes::{attribute, attributes, u16_at, u32_at, u64_at, Attributes};
use dump::Fetched;
pub use dump::{fetch, AHEAD};
pub use reply::Refusal;
use reply::{refusal, replies};
use room::Room;

const HEADER: usize = 16;
/// What one `send` may carry: half of the default send buffer.
const BATCH: usize = 1 << 16;
/// Parts of a dump taken by one call, the end included; the kernel makes a part up to as large as the buffer it goes to.
const PARTS: usize = 8;
const PART: usize = 1 << 15;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NETLINK_CAP_ACK: i32 = 10;
const NETLINK_EXT_ACK: i32 = 11;

pub const CREATE: u16 = 0x400;
pub const EXCL: u16 = 0x200;
pub const REPLACE: u16 = 0x100;

/// A request: what it does in words, its type, its fixed header and its attributes.
#[derive(Debug, Clone)]
pub struct Message {
    what: String,
    kind: u16,
    /// [`CREATE`], [`EXCL`], [`REPLACE`].
    pub flags: u16,
    /// Family header followed by attributes.
    pub body: Attributes,
}

impl Message {
    /// `what` begins the text of an error (`"add address 10.0.0.1/24 to eth0"`); `header` is the family's structure.
    #[must_use]
    pub fn new(what: impl Into<String>, kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut body = Attributes::new();
        body.raw(header);
        Self { what: what.into(), kind, flags, body }
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> u16 {
        self.kind
    }

    /// The same request of another type.
    #[must_use]
    pub fn of_kind(self, kind: u16) -> Self {
        Self { kind, ..self }
    }

    /// The same request by other words.
    #[must_use]
    pub fn called(self, what: impl Into<String>) -> Self {
        Self { what: what.into(), ..self }
    }

    fn append_to(&self, buffer: &mut Vec<u8>, flags: u16, sequence: u32) {
        let length = HEADER + self.body.bytes().len();
        buffer.extend_from_slice(&(length as u32).to_ne_bytes());
        buffer.extend_from_slice(&self.kind.to_ne_bytes());
        buffer.extend_from_slice(&(self.flags | NLM_F_REQUEST | flags).to_ne_bytes());
        buffer.extend_from_slice(&sequence.to_ne_bytes());
        buffer.extend_from_slice(&0_u32.to_ne_bytes());
        buffer.extend_from_slice(self.body.bytes());
    }
}

/// A netlink socket of the namespace it was opened in.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Room,
    /// Dumps that [`fetch`] has begun, the earliest first.
    fetched: VecDeque<Fetched>,
    /// What the last dump came to, in bytes; none: more than is fetched at once, or there was none.
    last_dump: Option<usize>,
}

/// The calls of a list that open a socket.
#[derive(Debug)]
pub struct Opening {
    protocol: i32,
    socket: Number,
    options: [Number; 2],
}

impl Opening {
    /// Puts the calls for a socket like [`Socket::route`]'s into a list.
    pub fn route(visit: &mut Visit<'_>) -> Self {
        Self::ask(visit, libc::SOCK_RAW, libc::NETLINK_ROUTE)
    }

    fn ask(visit: &mut Visit<'_>, kind: i32, protocol: i32) -> Self {
        const ON: &i32 = &1;
        let socket = visit.socket(libc::AF_NETLINK, kind, protocol);
        let options = [NETLINK_CAP_ACK, NETLINK_EXT_ACK]
            .map(|option| visit.set_option(socket, libc::SOL_NETLINK, option, ON));
        Self { protocol, socket, options }
    }

    /// The socket, when they have been carried out.
    pub fn socket(self, results: &mut Results) -> Result<Socket> {
        let fd = results.file(self.socket);
        let fd = fd.context(format_args!("open a netlink socket (protocol {})", self.protocol))?;
        for option in self.options {
            results.of(option).context("ask netlink for error texts")?;
        }
        let buffer = Room::take().context("make room for netlink messages")?;
        Ok(Socket { fd: fd.into(), sequence: 0, buffer, fetched: VecDeque::new(), last_dump: None })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// A socket for links, addresses, routes and traffic control.
    pub fn route() -> Result<Self> {
        Self::open(libc::NETLINK_ROUTE)
    }

    /// A socket of another netlink family, such as `NETLINK_SOCK_DIAG`.
    pub fn open(protocol: i32) -> Result<Self> {
        Self::of_kind(libc::SOCK_RAW, protocol)
    }

    /// A socket for dumps only, which may be fetched together with others. It does not wait: parts of a dump are there when they
    /// are asked for.
    pub fn for_dumps(protocol: i32) -> Result<Self> {
        Self::of_kind(libc::SOCK_RAW | libc::SOCK_NONBLOCK, protocol)
    }

    fn of_kind(kind: i32, protocol: i32) -> Result<Self> {
        let mut visit = Visit::new();
        let opening = Opening::ask(&mut visit, kind, protocol);
        opening.socket(&mut visit.carry_out().context("open a netlink socket")?)
    }

    /// [`Self::route`] in a node.
    pub fn route_in(nodes: &Nodes, node: &str) -> Result<Self> {
        Self::of_kind_in(nodes, node, libc::SOCK_RAW, libc::NETLINK_ROUTE)
    }

    /// [`Self::for_dumps`] in a node.
    pub fn for_dumps_in(nodes: &Nodes, node: &str, protocol: i32) -> Result<Self> {
        Self::of_kind_in(nodes, node, libc::SOCK_RAW | libc::SOCK_NONBLOCK, protocol)
    }

    fn of_kind_in(nodes: &Nodes, node: &str, kind: i32, protocol: i32) -> Result<Self> {
        let (opening, mut results) = nodes.visit(node, |visit| Opening::ask(visit, kind, protocol))?;
        opening.socket(&mut results)
    }

    /// Sends one request and waits for its acknowledgement.
    pub fn request(&mut self, message: &Message) -> Result<()> {
        Ok(self.batch(std::slice::from_ref(message))?)
    }

    /// Sends requests together and waits once; stops at the first failure.
    ///
    /// Only the last message of a piece asks for an acknowledgement: a failure is reported anyway, and in order. The
    /// requests after a failing one are executed nevertheless.
    pub fn batch(&mut self, messages: &[Message]) -> std::result::Result<(), Refusal> {
        let mut begin = 0;
        while begin < messages.len() {
            let mut size = 0;
            let fitting = messages[begin..].iter().take_while(|message| {
                size += HEADER + message.body.bytes().len();
                size <= BATCH
            });
            let end = begin + fitting.count().max(1);
            self.piece(&messages[begin..end])
                .map_err(|refusal| Refusal { index: refusal.index + begin, ..refusal })?;
            begin = end;
        }
        Ok(())
    }

    fn piece(&mut self, messages: &[Message]) -> std::result::Result<(), Refusal> {
        let first = self.sequence + 1;
        let last = self.sequence + messages.len() as u32;
        let mut data = Vec::new();
        for (message, sequence) in messages.iter().zip(first..) {
            message.append_to(&mut data, if sequence == last { NLM_F_ACK } else { 0 }, sequence);
        }
        self.sequence = last;
        let broken = |cause: io::Error| refusal(&messages[0].what, 0, (cause, String::new()));
        let mut size = self.send_and_receive(&data).map_err(broken)?;
        let mut failed = None;
        loop {
            for reply in replies(&self.buffer[..size]).filter(|reply| reply.kind == NLMSG_ERROR) {
                let Some(index) = reply.sequence.checked_sub(first).map(|index| index as usize) else {
                    continue;
                };
                if let (Some(failure), None) = (reply.failure(), &failed) {
                    failed = messages.get(index).map(|message| refusal(&message.what, index, failure));
                }
                if reply.sequence == last {
                    return failed.map_or(Ok(()), Err);
                }
            }
            size = socket::receive(&self.fd, &mut self.buffer).map_err(broken)?;
        }
    }

    /// Sends requests and waits for the first message that comes back, of so many bytes.
    fn send_and_receive(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut visit = Visit::new();
        visit.send(self.fd.as_fd(), data);
        visit.needed();
        let size = visit.receive(self.fd.as_fd(), &mut self.buffer);
        let results = visit.carry_out()?;
        results.check()?;
        results.of(size)
    }

    /// Asks for one object; `visit` gets the payload of each message that answers.
    pub fn ask(&mut self, message: &Message, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.sequence += 1;
        let mut data = Vec::new();
        message.append_to(&mut data, NLM_F_ACK, self.sequence);
        let mut size = self.send_and_receive(&data).context(&message.what)?;
        loop {
            for reply in replies(&self.buffer[..size]).filter(|reply| reply.sequence == self.sequence) {
                if reply.kind != NLMSG_ERROR {
                    visit(reply.payload);
                    continue;
                }
                return match reply.failure() {
                    Some(failure) => Err(refusal(&message.what, 0, failure).error),
                    None => Ok(()),
                };
            }
            size = socket::receive(&self.fd, &mut self.buffer).context(&message.what)?;
        }
    }

    /// The index of a device of this namespace.
    pub fn ifindex(&mut self, dev: &str) -> Result<u32> {
        let mut found = None;
        let order = Message::new("list devices", libc::RTM_GETLINK, 0, &[0; 16]);
        self.dump(&order, |payload| {
            let name =
                payload.get(16..).and_then(|rest| attribute(rest, libc::IFLA_IFNAME)).unwrap_or_default();
            if name.strip_suffix(&[0]) == Some(dev.as_bytes()) {
                found = u32_at(payload, 4);
            }
        })?;
        found.ok_or_else(|| Error::new("topology", format!("there is no device {dev:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_name() {
        let mut socket = Socket::route().expect("a socket");
        assert_eq!(socket.ifindex("lo").ok(), Some(1));
        assert!(socket.ifindex("no such").is_err());
    }

    #[test]
    fn the_links_of_a_namespace_can_be_dumped() {
        let mut socket = Socket::route().expect("a socket");
        let mut seen = 0;
        let links = Message::new("list links", libc::RTM_GETLINK, 0, &[0; 16]);
        socket.dump(&links, |payload| seen += usize::from(payload.len() > 16)).expect("a dump");
        assert!(seen > 0);
    }
}
