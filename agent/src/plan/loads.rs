//! What a node's computer does beside its network.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    Cpu,
    Memory,
}

/// Who makes a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadGenerator {
    #[default]
    Agent,
    StressNg,
}

/// Work that takes processors or memory away from a node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub name: String,
    pub node: String,
    pub kind: LoadKind,
    #[serde(default)]
    pub generator: LoadGenerator,
    #[serde(default)]
    pub workers: Option<u32>,
    /// Of a worker's time, in `[0, 1]`.
    #[serde(default)]
    pub share: Option<f64>,
    /// Of all workers together.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// How much of it may be in memory.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    pub start_ns: i64,
    pub stop_ns: i64,
}
