//! What is not encoded here: lines for `tc` itself, and the question which kinds the kernel has.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::{native, tcmsg, Device, Place, TCA_KIND, TC_H_INGRESS, TC_H_ROOT};
use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::netlink::Socket;
use crate::sys;
use crate::tool;
use crate::words;

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
pub fn run(kind: &str, line: &[String]) -> Result<()> {
    let Some(tool) = tool::find("tc") else {
        let native = native().join(" ");
        return Err(Error::new(
            "qdisc",
            format!("{kind:?} is not known to the agent, and the lab has no tc to ask"),
        )
        .hint(format!("Known without tc: {native}. For others the plan must name tc under \"tools\".")));
    };
    execute(&tool, line).map_err(|error| lacking(kind).unwrap_or(error))
}

/// That this kernel has no such kind, what it has, and the nearest of these; `None` when it does have it.
#[must_use]
pub fn lacking(kind: &str) -> Option<Error> {
    let known = known_to_kernel(kind);
    if known.is_empty() || known.iter().any(|have| have == kind) {
        return None;
    }
    let option = if COMMON.contains(&kind) {
        format!(" (CONFIG_NET_SCH_{})", kind.to_uppercase())
    } else {
        String::new()
    };
    let near = words::nearest(kind, known.iter().map(String::as_str));
    let near = near.map(|near| format!("Did you mean {near:?}? ")).unwrap_or_default();
    let error = Error::new(UNSUPPORTED, format!("this kernel has no qdisc {kind}{option}"));
    Some(error.hint(format!("{near}It has: {}.", known.join(" "))))
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

/// The common kinds, and the one in question, that this kernel has, tried one by one in a namespace made for it; empty when that cannot be found out.
#[must_use]
pub fn known_to_kernel(kind: &str) -> Vec<String> {
    let mut asked: Vec<String> = COMMON.iter().copied().map(str::to_owned).collect();
    if !COMMON.contains(&kind) {
        asked.push(kind.to_owned());
    }
    let asked = thread::spawn(move || {
        let _scratch = sys::new_netns().ok()?;
        let mut socket = Socket::route().ok()?;
        Some(asked.into_iter().filter(|kind| knows(&mut socket, kind)).collect::<Vec<String>>())
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
