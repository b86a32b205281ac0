//! What is measured of idle paths before an experiment.

use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    pub paths: Vec<PingPath>,
    pub trains: Vec<Train>,
}

/// Idle round trips along a path.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingPath {
    pub from: String,
    pub to: String,
    pub src: String,
    pub dst: String,
    pub pings: u32,
    pub size: u32,
}

/// A burst of datagrams whose spacing at the far end tells the rate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    pub from: String,
    pub to: String,
    pub src: String,
    pub dst: String,
    pub packets: u32,
    pub size: u32,
}
