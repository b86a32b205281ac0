//! What is done before an experiment starts, so that its start is only an instant.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{json, Value};

use crate::error::{Context, Result};
use crate::host::serve::{hello, Server};
use crate::host::settings::handle::Keeper;
use crate::kernel::clock::Clock;
use crate::kernel::netns::Nodes;
use crate::kernel::sys;
use crate::path::{self, Topology};
use crate::plan::{Flow, Plan};
use crate::reading::trace::Trace;
use crate::result::{Report, FORMAT};
use crate::run::calibration;
use crate::run::experiment::kernel_facts;
use crate::traffic;

/// Everything is open and in its place.
pub(super) struct Ready {
    pub plan: Plan,
    pub nodes: Nodes,
    pub topology: Topology,
    pub flows: traffic::Prepared,
    pub trace: Option<Trace>,
    pub out: PathBuf,
    pub report: Report,
    pub emulator: Option<Keeper>,
}

impl Ready {
    /// Builds, opens and measures what is this host's of a plan; tables go to a folder in `out`.
    pub fn new(server: &Server, plan: Plan, out: &Path) -> Result<Self> {
        let raw = out.join("raw");
        let mut report = Report { format: FORMAT, kernel: kernel_facts(), ..Report::default() };
        sys::time::set_timer_slack(1).context("set the timer slack")?;
        let here = plan.here.clone().unwrap_or_default();
        let nodes = Nodes::only(&here)?;
        let emulator = reserve(&plan)?;
        let mut topology = path::found(&plan)?;
        if emulator.is_some() {
            report.calibration.qdiscs = path::read_back(&mut topology)?;
            topology.warn_of_wires(&mut report.warnings);
        }
        let flows = traffic::prepare(&plan, &nodes, &raw)?;
        warn_of_limits(&plan, &mut report.warnings);
        report.calibration.pings = calibration::from_here(&plan, &nodes, &mut report.warnings)?;
        let keep = |leftover| drop(server.keeper.keep(leftover));
        let trace =
            Trace::start(&plan, Clock::starting_at(0), &raw, &mut report.warnings, Some(&keep), None)?;
        Ok(Self { plan, nodes, topology, flows, trace, out: out.to_owned(), report, emulator })
    }
}

/// What a user without the privilege does not get, and the kernel does not say.
fn warn_of_limits(plan: &Plan, warnings: &mut Vec<String>) {
    if hello::may("net_admin") {
        return;
    }
    let limit = |name: &str| {
        fs::read_to_string(format!("/proc/sys/net/core/{name}")).ok()?.trim().parse::<u32>().ok()
    };
    let wanted = |size: fn(&Flow) -> Option<u32>| plan.flows.iter().filter_map(size).max();
    for (bytes, name) in [(wanted(|flow| flow.sndbuf), "wmem_max"), (wanted(|flow| flow.rcvbuf), "rmem_max")]
    {
        if let (Some(bytes), Some(most)) = (bytes, limit(name).filter(|most| bytes > Some(*most))) {
            warnings.push(format!(
                "socket buffers of {bytes} bytes were asked for, and without CAP_NET_ADMIN net.core.{name} \
                 limits them to {most}"
            ));
        }
    }
}

/// Has the devices that become emulators put back at the end, whatever the end is.
fn reserve(plan: &Plan) -> Result<Option<Keeper>> {
    if plan.egress.is_empty() {
        return Ok(None);
    }
    let mut ifbs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for egress in &plan.egress {
        ifbs.entry(&egress.dev).or_default().extend(egress.ifb.as_deref());
    }
    // What arrives is not to be put together: each packet is one in a queue's limit and on a wire.
    let whole = |(dev, name): (&&str, &str)| json!({"kind": "ethtool-feature", "dev": dev, "name": name, "value": false, "if_there": true});
    let changes: Vec<Value> = ifbs
        .iter()
        .map(|(dev, ifbs)| json!({"kind": "emulator", "dev": dev, "ifbs": ifbs}))
        .chain(ifbs.keys().flat_map(|dev| ["gro", "lro"].map(|name| whole((dev, name)))))
        .collect();
    let keeper = Keeper::default();
    keeper.ask("apply", &json!({"changes": changes, "who": "an experiment"}))?;
    Ok(Some(keeper))
}
