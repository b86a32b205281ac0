//! The queues of a device: its qdiscs with counters, the classes of those that divide a rate, and what filters drop.

use serde_json::{json, Value};

use super::{links, options, string};
use crate::error::Result;
use crate::kernel::netlink::{attribute, attributes, u32_at, Socket};
use crate::tc::{
    list, told, Row, ACTIONS, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_KIND, TCA_OPTIONS, TC_H_CLSACT_EGRESS,
    TC_H_CLSACT_INGRESS, TC_H_ROOT,
};

const HOOKS: [(u32, &str); 2] = [(TC_H_CLSACT_INGRESS, "ingress"), (TC_H_CLSACT_EGRESS, "egress")];

/// All qdiscs, classes and filters of a device.
pub fn of(dev: &str) -> Result<Value> {
    let index = links::index(dev)?;
    let mut socket = Socket::route()?;
    let mut qdiscs = Vec::new();
    socket.dump(&list("list qdiscs", libc::RTM_GETQDISC, index, 0), |payload| {
        qdiscs.extend(Row::parse(payload).filter(|row| row.ifindex == index).map(|row| tell(&row)));
    })?;
    let mut classes = Vec::new();
    socket.dump(&list("list classes", libc::RTM_GETTCLASS, index, 0), |payload| {
        let row = Row::parse(payload).filter(|row| row.ifindex == index && row.kind == "htb");
        classes.extend(row.map(|row| class(&row)));
    })?;
    let mut filters = Vec::new();
    let roots = [(0, "root")];
    for (parent, hook) in HOOKS.iter().chain(&roots) {
        let order = list("list filters", libc::RTM_GETTFILTER, index, *parent);
        // A device without clsact has no such hooks: that is an answer, too.
        let _ = socket.dump(&order, |payload| filters.extend(filter(payload, hook)));
    }
    Ok(json!({"qdiscs": qdiscs, "classes": classes, "filters": filters}))
}

/// `1:10`, or `root`, as tc writes it.
fn handle(number: u32) -> String {
    match (number >> 16, number & 0xffff) {
        _ if number == TC_H_ROOT => "root".to_owned(),
        (major, 0) => format!("{major:x}:"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

fn tell(row: &Row) -> Value {
    json!({
        "kind": row.kind,
        "handle": handle(row.handle),
        "parent": handle(row.parent),
        "options": options::of_qdisc(row.kind, row.options),
        "bytes": row.bytes,
        "packets": row.packets,
        "drops": row.drops,
        "overlimits": row.overlimits,
        "requeues": row.requeues,
        "backlog": row.backlog,
        "qlen": row.qlen,
    })
}

fn class(row: &Row) -> Value {
    json!({
        "handle": handle(row.handle),
        "parent": handle(row.parent),
        "options": options::of_class(row.kind, row.options),
        "bytes": row.bytes,
        "drops": row.drops,
        "overlimits": row.overlimits,
    })
}

fn filter(payload: &[u8], hook: &str) -> Option<Value> {
    let bytes = told(payload)?;
    let kind = attribute(bytes, TCA_KIND).map(string)?;
    let options = attribute(bytes, TCA_OPTIONS)?;
    let actions = ACTIONS.iter().find(|(known, _)| *known == kind).map(|(_, actions)| *actions);
    let actions = actions.and_then(|wanted| attribute(options, wanted)).unwrap_or_default();
    let told: Vec<Value> = attributes(actions).filter_map(|(_, action)| self::action(action)).collect();
    // The upper half of the last word of the header.
    Some(json!({"hook": hook, "kind": kind, "priority": u32_at(payload, 16)? >> 16, "actions": told}))
}

fn action(bytes: &[u8]) -> Option<Value> {
    let kind = attribute(bytes, TCA_ACT_KIND).map(string)?;
    let options = attribute(bytes, TCA_ACT_OPTIONS).unwrap_or_default();
    let options = if kind == "police" { options::of_police(options) } else { json!({}) };
    Some(json!({"kind": kind, "options": options}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_a_queue_that_is_none() {
        let found = of("lo").expect("a list");
        assert_eq!(found["qdiscs"][0]["kind"], json!("noqueue"));
        assert_eq!(found["filters"], json!([]));
    }

    #[test]
    fn a_policer_is_found_in_its_filter() {
        let mut police = [0_u8; 52];
        police[28..32].copy_from_slice(&1_250_000_u32.to_ne_bytes());
        let mut body = list("a filter", libc::RTM_NEWTFILTER, 0, 0).body;
        body.text(TCA_KIND, "u32").nest(TCA_OPTIONS, |options| {
            options.nest(7, |actions| {
                actions.nest(1, |action| {
                    action.text(TCA_ACT_KIND, "police").nest(TCA_ACT_OPTIONS, |inner| {
                        inner.put(1, &police);
                    });
                });
            });
        });
        let found = filter(body.bytes(), "ingress").expect("whole");
        let wanted = json!({"kind": "police", "options": {"rate_bps": 10_000_000, "burst_bytes": 0}});
        assert_eq!(found["actions"], json!([wanted]));
    }

    #[test]
    fn handles_are_written_as_tc_does() {
        assert_eq!([TC_H_ROOT, 0x1_0000, 0x1_0010, 0].map(handle), ["root", "1:", "1:10", "0:"]);
    }
}
