//! What is not encoded here: lines for `tc` itself, and the question which kinds the kernel has.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::{native, tcmsg, Device, Place, TCA_KIND, TC_H_INGRESS, TC_H_ROOT};
use crate::error::{Context, Error, Result};
use crate::netlink::Socket;
use crate::sys;
use crate::tool;

/// Kinds worth asking for when one is missing.
const COMMON: [&str; 32] = [
    "pfifo",
    "bfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "tbf",
    "htb",
    "hfsc",
    "prio",
    "multiq",
    "drr",
    "ets",
    "qfq",
    "netem",
    "red",
    "gred",
    "choke",
    "sfb",
    "sfq",
    "codel",
    "fq_codel",
    "fq",
    "pie",
    "fq_pie",
    "cake",
    "dualpi2",
    "hhf",
    "cbs",
    "etf",
    "plug",
    "skbprio",
    "ingress",
    "clsact",
];

/// Runs `tc` with these words in the namespace of this thread.
pub fn run(kind: &str, words: &[String]) -> Result<()> {
    let Some(tool) = tool::find("tc") else {
        let native = native().join(" ");
        return Err(Error::new(
            "qdisc",
            format!("{kind:?} is not known to the agent, and the lab has no tc to ask"),
        )
        .hint(format!("Known without tc: {native}. For others the plan must name tc under \"tools\".")));
    };
    execute(&tool, words)
}

fn execute(tool: &Path, words: &[String]) -> Result<()> {
    let output = Command::new(tool)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .context(format_args!("start {}", tool.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new("qdisc", format!("tc {}: {}", words.join(" "), said.trim())))
}

/// The common kinds that this kernel has, tried one by one in a namespace made for it; empty when that cannot be found out.
#[must_use]
pub fn known_to_kernel() -> Vec<String> {
    let asked = thread::spawn(|| {
        let _scratch = sys::new_netns().ok()?;
        let mut socket = Socket::route().ok()?;
        let has = |kind: &&str| knows(&mut socket, kind);
        Some(COMMON.into_iter().filter(has).map(str::to_owned).collect())
    });
    asked.join().ok().flatten().unwrap_or_default()
}

/// A kind that exists either takes the request or complains of something else than its absence.
fn knows(socket: &mut Socket, kind: &str) -> bool {
    let loopback = Device { name: "lo", ifindex: 1 };
    let place = match kind {
        "ingress" | "clsact" => Place { parent: TC_H_INGRESS, handle: 0xffff_0000 },
        _ => Place { parent: TC_H_ROOT, handle: 0 },
    };
    let mut order = tcmsg(format!("try {kind}"), libc::RTM_NEWQDISC, &loopback, &place, 0);
    order.body.text(TCA_KIND, kind);
    match socket.batch(&[order]) {
        Ok(()) => true,
        Err(refusal) => refusal.errno != libc::ENOENT,
    }
}
