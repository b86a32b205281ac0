//! Programs on nodes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A program of the scenario's; it sees its node's network.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub id: usize,
    pub name: String,
    pub node: String,
    /// The program and its words; `./FILE` is one of its files.
    pub command: Vec<String>,
    pub start_ns: i64,
    #[serde(default)]
    pub stop_ns: Option<i64>,
    /// The numbers of those that must be ready first.
    #[serde(default)]
    pub after: Vec<usize>,
    #[serde(default)]
    pub ready_port: Option<u16>,
    #[serde(default)]
    pub ready_text: Option<String>,
    /// The experiment ends when all such programs have ended.
    #[serde(default)]
    pub until_exit: bool,
    /// The status with which it must end by itself.
    #[serde(default)]
    pub exit: i32,
    #[serde(default)]
    pub input: Option<String>,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Texts that lie in its working directory.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The root that it sees as its own, as the plan's `tools` name it after `root:`; `None`: the guest's.
    #[serde(default)]
    pub root: Option<String>,
    /// What the lab has put into the root besides.
    #[serde(default)]
    pub needs: Vec<String>,
}
