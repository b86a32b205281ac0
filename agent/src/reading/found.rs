//! Conversations that no flow of the plan names, each a flow for either direction (`docs/plan-format.md`, "Found sockets").
//!
//! Kernel events, socket dumps and stamps of packets name the two ends of what they tell; the book knows whose that is. Who sees a
//! conversation first enters it, and from then on all of them mean the same flow.

mod conversation;
pub mod datagrams;
pub mod gone;
mod told;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::plan::{Kind, Plan, FIRST_PORT, LAST_PORT};

use conversation::Conversation;
pub use conversation::{Info, Step};
pub use told::Told;

/// The book, as those have it who read at the same time.
pub type Shared = Arc<Mutex<Book>>;

/// Of what is not followed so many are told apart.
const MOST_BEYOND: usize = 1 << 16;
/// The connecting end's state before it is connected (`TCP_SYN_SENT` of `include/net/tcp_states.h`).
const SYN_SENT: i32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// One end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub address: IpAddr,
    pub port: u16,
}

impl End {
    /// IPv4 in the clothes of IPv6 is IPv4.
    #[must_use]
    pub fn new(address: IpAddr, port: u16) -> Self {
        Self { address: address.to_canonical(), port }
    }
}

/// A packet's way, or that of what a socket sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Way {
    pub from: End,
    pub to: End,
}

impl Way {
    fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A flow of the plan; the end that it comes from is the one that connects (0) or the other.
    Planned {
        flow: u32,
        side: u8,
    },
    Found(At),
    Nobody,
}

/// A conversation by its number, and one of its two directions: 0 is the one that was seen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    number: usize,
    way: usize,
}

impl At {
    #[must_use]
    pub fn back(self) -> Self {
        Self { way: 1 - self.way, ..self }
    }
}

/// A change of a TCP socket's state.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub t_ns: i64,
    /// What tells the socket from all others while it lives.
    pub socket: u64,
    pub way: Way,
    pub old: i32,
    pub new: i32,
    /// The process during which it happened.
    pub pid: i32,
}

/// A flow of the plan, as it is told from what is found.
#[derive(Debug)]
struct Planned {
    flow: u32,
    protocol: Protocol,
    from: IpAddr,
    to: IpAddr,
    /// See [`Plan::only_ports`].
    only: Option<u16>,
}

/// Who talks with whom.
#[derive(Debug)]
pub struct Book {
    first: u32,
    most: usize,
    duration_ns: i64,
    /// The node of each address.
    home: BTreeMap<IpAddr, String>,
    followed: BTreeSet<String>,
    /// By the number in the port that they go to.
    planned: BTreeMap<u32, Vec<Planned>>,
    conversations: Vec<Conversation>,
    /// The newest conversation of two ends, by the smaller one first.
    newest: HashMap<(Protocol, Way), usize>,
    /// Sockets that are connecting: since when, and by which process.
    connecting: HashMap<u64, (i64, i32)>,
    beyond: HashSet<(Protocol, Way)>,
    local: u64,
    /// Sockets whose last words found no room.
    pub lost: u64,
}

/// The book of a plan that has something to be found.
pub fn book(plan: &Plan) -> Result<Option<Shared>> {
    Ok(Book::of(plan)?.map(|book| Arc::new(Mutex::new(book))))
}

/// Opens the book.
pub fn open(shared: &Shared) -> MutexGuard<'_, Book> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Book {
    fn of(plan: &Plan) -> Result<Option<Self>> {
        let Some(asked) = &plan.found else { return Ok(None) };
        let only = plan.only_ports();
        let mut planned = BTreeMap::new();
        for flow in &plan.flows {
            // Of a connection of several paths each is known for itself.
            if matches!(flow.kind, Kind::Ping | Kind::Mptcp) {
                continue;
            }
            let protocol = if flow.is_tcp() { Protocol::Tcp } else { Protocol::Udp };
            let from = flow.source()?.to_canonical();
            let to = flow.destination()?.to_canonical();
            let only = only.get(&flow.id).copied();
            let own = Planned { flow: flow.id, protocol, from, to, only };
            planned.entry(flow.of.unwrap_or(flow.id)).or_insert_with(Vec::new).push(own);
        }
        Ok(Some(Self {
            first: asked.first,
            most: asked.most as usize,
            duration_ns: plan.duration_ns,
            home: plan.node_of_addresses()?,
            followed: asked.nodes.iter().cloned().collect(),
            planned,
            conversations: Vec::new(),
            newest: HashMap::new(),
            connecting: HashMap::new(),
            beyond: HashSet::new(),
            local: 0,
            lost: 0,
        }))
    }

    /// The flow's number.
    #[must_use]
    pub fn flow(&self, at: At) -> u32 {
        self.first + 2 * at.number as u32 + at.way as u32
    }

    /// The experiment ended before its time: what is open lasted until then.
    pub fn ended(&mut self, t_ns: i64) {
        self.duration_ns = self.duration_ns.min(t_ns);
    }

    /// Whose something is that goes this way, and was seen at that time; who is new is entered.
    pub fn owner(&mut self, protocol: Protocol, way: Way, t_ns: i64) -> Owner {
        if let Some((flow, side)) = self.flow_of_plan(protocol, way) {
            return Owner::Planned { flow, side };
        }
        let known = self.newest.get(&key(protocol, way)).copied();
        match known.or_else(|| self.enter(protocol, way, t_ns)) {
            Some(number) => Owner::Found(self.at(number, way)),
            None => Owner::Nobody,
        }
    }

    /// Whose last words come from the end of a TCP connection from which this way leads, and when that was closed: of several with
    /// the same ends the first that has not had its own.
    pub fn last_words(&mut self, way: Way) -> Option<(At, i64)> {
        let mut next = self.newest.get(&key(Protocol::Tcp, way)).copied();
        let mut found = None;
        while let Some(number) = next {
            let at = self.at(number, way);
            let conversation = &self.conversations[number];
            if conversation.halves[at.way].had_last_words {
                break;
            }
            found = conversation.halves[at.way].closed_ns.map(|at_ns| (at, at_ns)).or(found);
            next = conversation.previous;
        }
        let (at, at_ns) = found?;
        self.conversations[at.number].halves[at.way].had_last_words = true;
        Some((at, at_ns))
    }

    /// Notes a change of a socket's state. What happens after the experiment is no part of it.
    pub fn change(&mut self, change: Change) {
        let Change { t_ns, socket, way, old, new, pid } = change;
        if new == SYN_SENT {
            self.connecting.insert(socket, (t_ns, pid));
            return;
        }
        let opening = (old == SYN_SENT).then(|| self.connecting.remove(&socket)).flatten();
        // One that listens has no other end, one that never got a port no end at all.
        if way.to.port == 0 || way.from.port == 0 || t_ns > self.duration_ns {
            return;
        }
        let Some(step) = Step::of(old, new) else { return };
        if step == Step::Connected && self.is_local(way) {
            self.local += 1;
        }
        if self.flow_of_plan(Protocol::Tcp, way).is_some() {
            return;
        }
        let known = self.newest.get(&key(Protocol::Tcp, way)).copied();
        // The same two ends again: another connection.
        let known = known.filter(|number| {
            let at = self.at(*number, way);
            !(step.is_first() && self.conversations[*number].is_closed(at.way))
        });
        if let Some(number) = known.or_else(|| self.enter(Protocol::Tcp, way, t_ns)) {
            let at = self.at(number, way);
            self.conversations[number].step(at.way, step, t_ns, opening);
        }
    }

    /// Notes what the end of a direction has in flight when an acknowledgement reaches it; gives whether that says something about
    /// what it sends.
    pub fn acknowledged(&mut self, at: At, in_flight: bool) -> bool {
        self.conversations[at.number].acknowledged(at.way, in_flight)
    }

    /// Notes what the kernel tells of the socket at which a direction begins. Gives which of the two flows that socket is a side of:
    /// the one it sends, the one it receives.
    pub fn told(&mut self, at: At, info: &Info) -> [bool; 2] {
        let conversation = &mut self.conversations[at.number];
        conversation.told(at.way, info);
        [at, at.back()].map(|at| conversation.is_flow(at.way))
    }

    /// Whether a TCP connection that was entered after that time has an end at a followed node of which the kernel has not told, and
    /// which is not closed.
    #[must_use]
    pub fn awaits_sockets(&self, since_ns: i64) -> bool {
        let young = self.conversations.iter().rev().take_while(|one| one.first_ns >= since_ns);
        let followed = |end: End| self.node(end.address).is_some_and(|node| self.followed.contains(node));
        let awaited = |one: &Conversation, end: usize| {
            !one.halves[end].known && !one.is_closed(end) && followed(one.ends[end])
        };
        young.filter(|one| one.protocol == Protocol::Tcp).any(|one| awaited(one, 0) || awaited(one, 1))
    }

    /// Counts datagrams of a direction, and their bytes of payload, where they leave or arrive.
    pub fn datagrams(&mut self, at: At, leaving: bool, count: (u64, u64), t_ns: i64) {
        let end = if leaving { at.way } else { 1 - at.way };
        self.conversations[at.number].datagrams(end, leaving, count, t_ns);
    }

    /// Whose packet of TCP this is, and whether it answers: one without payload answers the other direction, if that is one.
    #[must_use]
    pub fn of_packet(&self, at: At, payload: bool) -> (u32, bool) {
        let answers = !payload && self.conversations[at.number].is_flow(1 - at.way);
        (self.flow(if answers { at.back() } else { at }), answers)
    }

    /// The node that has an address.
    pub fn node(&self, address: IpAddr) -> Option<&str> {
        self.home.get(&address).map(String::as_str)
    }

    fn at(&self, number: usize, way: Way) -> At {
        At { number, way: usize::from(self.conversations[number].ends[0] != way.from) }
    }

    /// The flow of the plan that goes this way (0) or is answered this way (1).
    fn flow_of_plan(&self, protocol: Protocol, way: Way) -> Option<(u32, u8)> {
        let goes = |way: Way| {
            let port = way.to.port;
            let number = u32::from(port.checked_sub(FIRST_PORT)?);
            let several = self.planned.get(&number).filter(|_| port <= LAST_PORT)?;
            let is = |flow: &&Planned| {
                let ends = flow.from == way.from.address && flow.to == way.to.address;
                ends && flow.protocol == protocol && flow.only.is_none_or(|only| only == way.from.port)
            };
            several.iter().find(is).map(|flow| flow.flow)
        };
        goes(way).map(|flow| (flow, 0)).or_else(|| goes(way.back()).map(|flow| (flow, 1)))
    }

    fn is_local(&self, way: Way) -> bool {
        let here = |end: End| end.address.is_loopback().then_some("").or_else(|| self.node(end.address));
        here(way.from).is_some() && here(way.from) == here(way.to)
    }

    /// Enters a conversation between two nodes of which one at least is followed.
    fn enter(&mut self, protocol: Protocol, way: Way, t_ns: i64) -> Option<usize> {
        let (from, to) = (self.node(way.from.address)?, self.node(way.to.address)?);
        if from == to || !(self.followed.contains(from) || self.followed.contains(to)) {
            return None;
        }
        if self.conversations.len() >= self.most {
            if self.beyond.len() < MOST_BEYOND {
                self.beyond.insert(key(protocol, way));
            }
            return None;
        }
        let number = self.conversations.len();
        let previous = self.newest.insert(key(protocol, way), number);
        self.conversations.push(Conversation::new(protocol, [way.from, way.to], t_ns, previous));
        Some(number)
    }
}

fn key(protocol: Protocol, way: Way) -> (Protocol, Way) {
    (protocol, way.min(way.back()))
}

#[cfg(test)]
mod tests;
