//! What is between links: bonds, bridges, and the rules of routers that take packets in turn.

use serde::Deserialize;

/// A device that joins others of its node: a bond of parallel cables, or a bridge (a switch).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub node: String,
    pub dev: String,
    pub mac: String,
    pub mtu: u32,
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The bridge that a bond is a port of.
    #[serde(default)]
    pub master: Option<String>,
    /// What makes it a bond; a bridge has none.
    #[serde(default)]
    pub bond: Option<Bond>,
    /// A bridge that lets LACP pass, as a cable does.
    #[serde(default)]
    pub passes_lacp: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bond {
    /// In the words of `ip link … type bond mode`.
    pub mode: String,
    /// In the words of `xmit_hash_policy`.
    #[serde(default)]
    pub hash: Option<String>,
}

/// At `node`, packets with this firewall mark, or from this address, are routed by this table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub node: String,
    #[serde(default)]
    pub ipv6: bool,
    #[serde(default)]
    pub mark: Option<u32>,
    #[serde(default)]
    pub from: Option<String>,
    pub table: u8,
}
