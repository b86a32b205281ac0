//! What this kernel lacks: queue disciplines, filters and actions, asked for one by one where a line was refused.

use std::thread;

use super::{
    action, kinds, parse, tcmsg, Device, Place, TCA_KIND, TC_H_CLSACT_EGRESS, TC_H_INGRESS, TC_H_ROOT,
};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{Message, Socket, CREATE};
use crate::kernel::sys;
use crate::words;

const LOOPBACK: Device = Device { name: "lo", ifindex: 1 };
const ACT_TAB: u16 = 1;
const ACT_KIND: u16 = 1;

/// That this kernel has no such kind, what it has, and the nearest of these; `None` when it does have it.
#[must_use]
pub fn lacking(kind: &str) -> Option<Error> {
    let known = known_to_kernel(kind);
    if known.is_empty() || known.iter().any(|have| have == kind) {
        return None;
    }
    let option = option(kind).map(|option| format!(" ({option})")).unwrap_or_default();
    // A kind that nobody has heard of may be one that this kernel lacks, too, wrongly spelt.
    let others = kinds::qdiscs().into_iter().filter(|_| kinds::Kind::named(kind).is_none());
    let near = words::nearest(kind, known.iter().map(String::as_str).chain(others));
    let near = near.map(|near| format!("Did you mean {near:?}? ")).unwrap_or_default();
    let error = Error::new(UNSUPPORTED, format!("this kernel has no qdisc {kind}{option}"));
    Some(error.hint(format!("{near}It has: {}.", known.join(" "))))
}

/// The option of the kernel's configuration that brings a kind of which the agent has heard.
fn option(kind: &str) -> Option<String> {
    let option = kinds::Kind::named(kind)?.option;
    (!option.is_empty()).then(|| format!("CONFIG_NET_SCH_{option}"))
}

/// The kinds that are encoded here, and the one in question, that this kernel has, tried one by one in a namespace made
/// for it; empty when that cannot be found out.
fn known_to_kernel(kind: &str) -> Vec<String> {
    let mut asked: Vec<String> = kinds::qdiscs().into_iter().map(str::to_owned).collect();
    if !asked.iter().any(|known| known == kind) {
        asked.push(kind.to_owned());
    }
    asked.retain(|kind| kind != "noqueue");
    in_scratch(|socket| asked.into_iter().filter(|kind| knows(socket, kind)).collect()).unwrap_or_default()
}

/// Asks in a namespace made for it; `None` where none can be made.
fn in_scratch<T: Send + 'static>(ask: impl FnOnce(&mut Socket) -> T + Send + 'static) -> Option<T> {
    let asked = thread::spawn(move || {
        let _scratch = sys::namespaces::new_netns().ok()?;
        let mut socket = Socket::route().ok()?;
        Some(ask(&mut socket))
    });
    asked.join().ok().flatten()
}

/// A kind that exists either takes the request or complains of something else than its absence.
fn knows(socket: &mut Socket, kind: &str) -> bool {
    let place = if kinds::Kind::named(kind).is_some_and(|kind| kind.hook == kinds::Hook::Ingress) {
        Place { parent: TC_H_INGRESS, handle: 0xffff_0000 }
    } else {
        Place { parent: TC_H_ROOT, handle: 0 }
    };
    let mut order = tcmsg(format!("try {kind}"), libc::RTM_NEWQDISC, &LOOPBACK, &place, 0);
    order.body.text(TCA_KIND, kind);
    !is_unknown(socket, order)
}

/// Whether the kernel says that there is no such thing, rather than that it is not described well enough.
fn is_unknown(socket: &mut Socket, order: Message) -> bool {
    socket.batch(&[order]).is_err_and(|refusal| refusal.errno == libc::ENOENT)
}

fn unknown(what: &str, option: &str) -> Error {
    Error::new(UNSUPPORTED, format!("this kernel has no {what} ({option})"))
}

/// That this kernel lacks a kind of filter, tried at the loopback device of the socket's namespace.
///
/// # Errors
/// The kernel does not say whether there is a clsact.
pub fn lacks_filter(socket: &mut Socket, kind: &str) -> Result<Option<Error>> {
    const PRIORITY: u32 = 1 << 16;
    if !crate::tc::classifier::has_clsact(socket, &LOOPBACK)? {
        let clsact = parse("qdisc clsact", &LOOPBACK)?;
        if super::apply(&[clsact], socket, |work| work()).is_err() {
            return Ok(Some(unknown("qdisc clsact", "CONFIG_NET_SCH_INGRESS")));
        }
    }
    let protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
    let place = Place { parent: TC_H_CLSACT_EGRESS, handle: 0 };
    let what = format!("try filter {kind}");
    let mut order = tcmsg(what, libc::RTM_NEWTFILTER, &LOOPBACK, &place, PRIORITY | protocol);
    order.body.text(TCA_KIND, kind);
    let option = format!("CONFIG_NET_CLS_{}", kind.to_uppercase());
    Ok(is_unknown(socket, order).then(|| unknown(&format!("filter {kind}"), &option)))
}

/// That this kernel lacks a kind of action.
#[must_use]
pub fn lacks_action(socket: &mut Socket, kind: &str) -> Option<Error> {
    let mut order = Message::new(format!("try action {kind}"), libc::RTM_NEWACTION, CREATE, &[0; 4]);
    order.body.nest(ACT_TAB, |table| {
        table.nest(1, |action| {
            action.text(ACT_KIND, kind);
        });
    });
    let option = format!("CONFIG_NET_ACT_{}", kind.to_uppercase());
    is_unknown(socket, order).then(|| unknown(&format!("action {kind}"), &option))
}

/// What this kernel lacks of a filter and its actions; `None` when it has all of them, or cannot be asked.
pub fn of_filter(line: &str, kind: &str) -> Option<Error> {
    let (kind, actions) = (kind.to_owned(), action::named(line));
    let asked = in_scratch(move |socket| {
        let filter = lacks_filter(socket, &kind).ok().flatten();
        filter.or_else(|| actions.iter().find_map(|action| lacks_action(socket, action)))
    });
    asked.flatten()
}
