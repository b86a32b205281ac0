//! What `result.json` says of what was found (`docs/record-format.md`).

use serde::Serialize;

use super::{At, Book, Protocol};

/// All that was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Told {
    pub flows: Vec<Flow>,
    /// Conversations beyond the most that are followed.
    pub beyond: u64,
    /// Connections between two sockets of one node: they cross no link.
    pub local: u64,
}

/// One direction of a conversation, from `node` to `peer`.
#[derive(Debug, Clone, Serialize)]
pub struct Flow {
    #[serde(rename = "flow")]
    pub number: u32,
    pub kind: &'static str,
    pub node: String,
    pub peer: String,
    pub src: String,
    pub sport: u16,
    pub dst: String,
    pub dport: u16,
    /// Whether it comes from the end that was connected to.
    pub back: bool,
    /// The process that connected, where the kernel tells it.
    pub pid: Option<i32>,
    pub first_ns: i64,
    pub last_ns: i64,
    pub connected_ns: Option<i64>,
    pub sender_done_ns: Option<i64>,
    pub receiver_done_ns: Option<i64>,
    pub bytes_sent: Option<u64>,
    pub bytes_received: Option<u64>,
    pub packets_sent: Option<u64>,
    pub packets_received: Option<u64>,
    pub error: Option<&'static str>,
}

impl Book {
    /// Every direction that carried payload, in the order in which the conversations began; of one that carried none, the opener's.
    #[must_use]
    pub fn report(&self) -> Told {
        let ways = (0..self.conversations.len()).flat_map(|number| [0, 1].map(|way| At { number, way }));
        let mut flows: Vec<Flow> = ways.filter(|at| self.is_listed(*at)).map(|at| self.one(at)).collect();
        flows.sort_by_key(|flow| (flow.first_ns, flow.number));
        Told { flows, beyond: self.beyond.len() as u64, local: self.local }
    }

    fn is_listed(&self, at: At) -> bool {
        let conversation = &self.conversations[at.number];
        let silent = !conversation.carries(0) && !conversation.carries(1);
        conversation.carries(at.way) || (silent && at.way == conversation.opener)
    }

    fn one(&self, at: At) -> Flow {
        let conversation = &self.conversations[at.number];
        let [from, to] = [at.way, 1 - at.way].map(|end| conversation.ends[end]);
        let [sender, receiver] = [at.way, 1 - at.way].map(|end| conversation.halves[end]);
        let node = |end: super::End| self.node(end.address).unwrap_or_default().to_owned();
        let udp = conversation.protocol == Protocol::Udp;
        let (sender_done_ns, receiver_done_ns) = if udp {
            (sender.sent_ns, receiver.received_ns)
        } else {
            (
                sender.finished_ns.or(sender.closed_ns).or(Some(self.duration_ns)),
                receiver.got_all_ns.or(receiver.closed_ns),
            )
        };
        let closed = conversation.halves.iter().all(|half| half.closed_ns.is_some());
        let is_open = !(udp || closed || conversation.failed);
        Flow {
            number: self.flow(at),
            kind: if udp { "udp" } else { "tcp" },
            node: node(from),
            peer: node(to),
            src: from.address.to_string(),
            sport: from.port,
            dst: to.address.to_string(),
            dport: to.port,
            back: at.way != conversation.opener,
            pid: conversation.pid,
            first_ns: conversation.first_ns,
            last_ns: if is_open { self.duration_ns } else { conversation.last_ns },
            connected_ns: sender.connected_ns.or(receiver.connected_ns),
            sender_done_ns,
            receiver_done_ns,
            bytes_sent: sender.known.then_some(sender.sent),
            bytes_received: conversation.arrived(at.way),
            packets_sent: (udp && sender.known).then_some(sender.packets_sent),
            packets_received: (udp && receiver.known).then_some(receiver.packets_received),
            error: conversation.failed.then_some("the connection was not established"),
        }
    }
}
