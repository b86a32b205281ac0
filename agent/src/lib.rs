//! The hand of Rush Hour. Takes a plan, gives raw tables and a result.
//!
//! Reading order: [`plan`] (what is asked), [`experiment`] (the order of things), then the part you came for:
//! [`topology`] and [`qdisc`] build, [`flow`] drives, [`sampler`] and [`trace`] read, [`table`] writes. On machines of others
//! [`serve`] takes the place of [`experiment`], and [`settings`] puts back what was changed there.

pub mod able;
pub mod bpf;
pub mod calibration;
pub mod change;
pub mod classifier;
pub mod clock;
pub mod counters;
pub mod disturb;
pub mod error;
pub mod ethtool;
pub mod experiment;
pub mod firewall;
pub mod flow;
pub mod init;
pub mod launch;
pub mod line;
pub mod load;
pub mod machine;
pub mod netlink;
pub mod netns;
pub mod pause;
pub mod plan;
pub mod qdisc;
pub mod result;
pub mod sampler;
pub mod serial;
pub mod serve;
pub mod settings;
pub mod sojourn;
pub mod spread;
pub mod sys;
pub mod sysctl;
pub mod table;
pub mod tool;
pub mod topology;
pub mod trace;
pub mod wire;
pub mod words;
