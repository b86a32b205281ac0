//! How flows end.

use std::collections::BTreeMap;

use serde::Serialize;

/// How a flow ended; `None` is what did not happen or does not apply.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FlowEnd {
    pub id: u32,
    pub connected_ns: Option<i64>,
    pub sender_done_ns: Option<i64>,
    pub receiver_done_ns: Option<i64>,
    pub bytes_sent: Option<u64>,
    pub bytes_received: Option<u64>,
    pub packets_sent: Option<u64>,
    pub packets_received: Option<u64>,
    /// Calls without a copy that the kernel was done with, and those of them that it copied after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zerocopy_sends: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zerocopy_copied: Option<u64>,
    /// Calls without a copy that found no room for the message about them, and waited (`ENOBUFS`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zerocopy_refused: Option<u64>,
    /// Sends of datagrams that failed, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends_refused: Option<u64>,
    /// Bytes that arrived and are not those that were sent, of a flow that looks at them; and where the first was: its place
    /// in the stream, or its datagram's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupted_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_corrupted: Option<u64>,
    /// Reads that gave datagrams, of a receiver that takes several at once (`UDP_GRO`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Datagrams by the traffic class in which they came, where that was to be read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<u8, u64>,
    pub error: Option<String>,
}
