//! `result.json`: what the agent reports beside the raw tables (`docs/record-format.md`).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Error;
use crate::path::firewall::Input;
use crate::path::QdiscReadBack;
use crate::program::Outcome;
use crate::reading::counters::Counters;
use crate::reading::found::Told;
use crate::reading::machine::Machine;
use crate::traffic::load::Taken;
use crate::traffic::FlowEnd;

pub const FORMAT: &str = "rushhour-result/1";

#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub format: &'static str,
    pub ok: bool,
    pub error: Option<Error>,
    pub kernel: Kernel,
    pub start_clock_ns: i64,
    pub flows: Vec<FlowEnd>,
    pub calibration: Calibration,
    /// By how much the stack's counters rose during the experiment, in the nodes where flows begin and end.
    pub counters: Counters,
    /// What was found beside the flows of the plan, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Told>,
    /// What netfilter has seen arrive, at the nodes that drop some of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// What loads took, where there were some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Taken>,
    /// How programs came out, where there were some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Outcome>,
    /// When the experiment ended, if before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<i64>,
    /// What each machine in real time did meanwhile, by its node; by no name where all nodes are on one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub machine: BTreeMap<String, Machine>,
    pub lost_events: BTreeMap<String, u64>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Kernel {
    pub release: String,
    pub version: String,
    pub congestion_controls: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Calibration {
    pub pings: Vec<Pings>,
    pub trains: Vec<TrainArrivals>,
    pub qdiscs: Vec<QdiscReadBack>,
}

/// Round trips of an idle path; -1 is an echo that did not come back.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Pings {
    pub path: usize,
    pub rtt_ns: Vec<i64>,
}

/// When the datagrams of a train arrived, from the first one on.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrainArrivals {
    pub train: usize,
    pub sent: u32,
    pub arrivals_ns: Vec<i64>,
}
