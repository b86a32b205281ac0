//! `rushhour-agent able`: what of a list this machine's kernel lacks. Each thing is tried in a network namespace made for
//! it, which ends with this process; nothing is looked up by a version.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{Message, Socket, CREATE, EXCL};
use crate::kernel::sys;
use crate::kernel::sysctl;
use crate::path;
use crate::path::wire;
use crate::tc;
use crate::traffic::options;

/// What is asked for, by kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    qdiscs: Vec<String>,
    filters: Vec<String>,
    actions: Vec<String>,
    devices: Vec<String>,
    congestion_controls: Vec<String>,
    /// Settings that a namespace must have as its own.
    sysctls: Vec<String>,
    /// Wires by a program and `fq`; else a line has to take their place.
    wire: bool,
}

/// What is lacking: `"qdisc netem"` and why.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    pub lacks: BTreeMap<String, Error>,
}

/// Reads what is wanted from standard input, writes what is lacking to standard output, both as JSON.
///
/// # Errors
/// A request that makes no sense; no right to make a network namespace.
pub fn command() -> Result<()> {
    let wanted: Wanted = serde_json::from_reader(io::stdin())
        .map_err(|cause| Error::new("usage", format!("what is wanted does not parse: {cause}")))?;
    let answer = answer(&wanted)?;
    let text = serde_json::to_string(&answer);
    println!("{}", text.map_err(|cause| Error::new("system", format!("write the answer: {cause}")))?);
    Ok(())
}

/// Tries everything. This thread is in a network namespace of its own afterwards.
///
/// # Errors
/// No right to make a network namespace.
pub fn answer(wanted: &Wanted) -> Result<Answer> {
    let _scratch =
        sys::namespaces::new_netns().context("make a network namespace to try things in").map_err(
            |error| error.hint("It takes root: CAP_SYS_ADMIN for the namespace, CAP_NET_ADMIN in it."),
        )?;
    let mut socket = Socket::route()?;
    let mut answer = Answer::default();
    let mut note = |what: String, error: Option<Error>| {
        answer.lacks.extend(error.map(|error| (what, error)));
    };
    for kind in &wanted.qdiscs {
        note(format!("qdisc {kind}"), tc::lacking(kind));
    }
    for kind in &wanted.filters {
        note(format!("filter {kind}"), tc::lacks_filter(&mut socket, kind)?);
    }
    for kind in &wanted.actions {
        note(format!("action {kind}"), tc::lacks_action(&mut socket, kind));
    }
    for kind in &wanted.devices {
        note(format!("device {kind}"), device(&mut socket, kind));
    }
    for name in &wanted.congestion_controls {
        let socket = sys::socket::open(libc::AF_INET, libc::SOCK_STREAM, 0).context("open a socket")?;
        let refused = options::congestion_control(&socket, Some(name)).err();
        note(format!("congestion control {name}"), refused.filter(|error| error.kind == UNSUPPORTED));
    }
    for name in &wanted.sysctls {
        let own = name.starts_with("net") && sysctl::is_writable(name);
        let refused =
            || Error::new(UNSUPPORTED, format!("a network namespace has no sysctl {name} of its own"));
        note(format!("sysctl {name}"), (!own).then(refused));
    }
    if wanted.wire {
        note("wire".to_owned(), emulated_wire(&mut socket)?);
    }
    Ok(answer)
}

/// Whether the kernel says that there is no such thing, rather than that it is not described well enough.
fn is_unknown(socket: &mut Socket, order: Message, errno: i32) -> bool {
    socket.batch(&[order]).is_err_and(|refusal| refusal.errno == errno)
}

fn device(socket: &mut Socket, kind: &str) -> Option<Error> {
    let header = path::interface::ifinfomsg(0, 0);
    let mut order = Message::new(format!("try a {kind}"), libc::RTM_NEWLINK, CREATE | EXCL, &header);
    order.body.text(libc::IFLA_IFNAME, "try").nest(libc::IFLA_LINKINFO, |info| {
        info.text(libc::IFLA_INFO_KIND, kind);
    });
    let option = match kind {
        "bond" => "CONFIG_BONDING".to_owned(),
        other => format!("CONFIG_{}", other.to_uppercase()),
    };
    is_unknown(socket, order, libc::EOPNOTSUPP)
        .then(|| Error::new(UNSUPPORTED, format!("this kernel has no device of kind {kind} ({option})")))
}

/// A wire stamps packets by a program at the clsact's egress, and `fq` holds them.
fn emulated_wire(socket: &mut Socket) -> Result<Option<Error>> {
    if let Some(error) = tc::lacking("fq") {
        return Ok(Some(error));
    }
    if let Some(error) = tc::lacks_filter(socket, "bpf")? {
        return Ok(Some(error));
    }
    Ok(match wire::is_exact_here() {
        Ok(true) => None,
        Ok(false) => Some(Error::new(UNSUPPORTED, format!("a wire's program {}", wire::INEXACT))),
        Err(error) => {
            let message = format!("this kernel takes no program for a wire: {}", error.message);
            Some(Error::new(UNSUPPORTED, message).hint(error.hint))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_strictly() {
        let wanted: Wanted = serde_json::from_str(r#"{"qdiscs": ["tbf"], "wire": true}"#).expect("valid");
        assert_eq!(wanted.qdiscs, ["tbf"]);
        assert!(wanted.wire && wanted.filters.is_empty());
        assert!(serde_json::from_str::<Wanted>(r#"{"qdisc": []}"#).is_err());
    }
}
