//! The options of queue disciplines as the kernel tells them (`include/uapi/linux/pkt_sched.h`), by tc's words: times in
//! µs where the name says so, sizes in bytes (`_bytes`) or packets (`_packets`), rates in bit/s (`_bps`).

use serde_json::{json, Map, Value};

use crate::kernel::netlink::{attribute, u32_at, u64_at};
use crate::tc::kinds::Kind;
use crate::tc::units::TICK_NS;

/// Where a `struct tc_ratespec` has its rate, in bytes a second.
const RATE: usize = 8;
/// The size of a `struct tc_ratespec`.
const RATESPEC: usize = 12;
const SATURATED: u32 = u32::MAX;

/// What is known of the options of a qdisc; `raw` (hexadecimal) where its kind is not known here.
pub fn of_qdisc(kind: &str, bytes: &[u8]) -> Value {
    let word = |at: usize| u32_at(bytes, at);
    if let Some(found) = Kind::named(kind).filter(|found| !found.told.is_empty()) {
        return by_attribute(kind, found.told, bytes);
    }
    match kind {
        "pfifo" | "pfifo_head_drop" => json!({"limit_packets": word(0)}),
        "bfifo" => json!({"limit_bytes": word(0)}),
        "pfifo_fast" | "prio" => json!({"bands": word(0)}),
        "sfq" => {
            json!({"quantum": word(0), "perturb_s": word(4), "limit_packets": word(8), "flows": word(16)})
        }
        "tbf" => tbf(bytes),
        "netem" => netem(bytes),
        "red" => {
            let parms = attribute(bytes, 1).unwrap_or_default();
            let at = |at: usize| u32_at(parms, at);
            json!({"limit_bytes": at(0), "min_bytes": at(4), "max_bytes": at(8), "flags": parms.get(15)})
        }
        "htb" => {
            let init = attribute(bytes, 2).unwrap_or_default();
            json!({"default": u32_at(init, 8), "direct_packets": u32_at(init, 16)})
        }
        _ if bytes.is_empty() => json!({}),
        _ => json!({"raw": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()}),
    }
}

/// The rates of an htb class; nothing for classes of other kinds.
pub fn of_class(kind: &str, bytes: &[u8]) -> Value {
    if kind != "htb" {
        return json!({});
    }
    let parms = attribute(bytes, 1).unwrap_or_default();
    json!({
        "rate_bps": bits(parms, 0, attribute(bytes, 6)),
        "ceil_bps": bits(parms, RATESPEC, attribute(bytes, 7)),
    })
}

/// The rate of a policer and its bucket (`struct tc_police`).
pub fn of_police(bytes: &[u8]) -> Value {
    let police = attribute(bytes, 1).unwrap_or_default();
    let rate = bits(police, 20, attribute(bytes, 8));
    json!({"rate_bps": rate, "burst_bytes": rate.zip(u32_at(police, 12)).map(|(rate, ticks)| bucket(rate, ticks))})
}

fn by_attribute(kind: &str, names: &[(u16, &str)], bytes: &[u8]) -> Value {
    let found = names.iter().filter_map(|(wanted, name)| {
        Some(((*name).to_owned(), json!(attribute(bytes, *wanted).and_then(|value| u32_at(value, 0))?)))
    });
    let mut told: Map<String, Value> = found.collect();
    if kind == "cake" {
        // TCA_CAKE_BASE_RATE64, bytes a second; 0 is unlimited.
        let rate = attribute(bytes, 2).and_then(|value| u64_at(value, 0)).filter(|rate| *rate > 0);
        told.insert("rate_bps".to_owned(), json!(rate.map(|rate| rate * 8)));
    }
    if kind == "fq" {
        // TCA_FQ_FLOW_MAX_RATE, bytes a second; all ones is unlimited.
        let rate = attribute(bytes, 7).and_then(|value| u32_at(value, 0)).filter(|rate| *rate != SATURATED);
        told.insert("maxrate_bps".to_owned(), json!(rate.map(|rate| u64::from(rate) * 8)));
    }
    told.into()
}

/// The rate of a `struct tc_ratespec` in bit/s, or what its 64-bit companion says.
fn bits(bytes: &[u8], at: usize, wide: Option<&[u8]>) -> Option<u64> {
    let wide = wide.and_then(|value| u64_at(value, 0));
    Some(8 * wide.or_else(|| u32_at(bytes, at + RATE).map(u64::from))?)
}

/// A bucket that the kernel keeps as the time in which it fills.
fn bucket(rate_bps: u64, ticks: u32) -> u64 {
    (rate_bps as f64 / 8e9 * f64::from(ticks) * TICK_NS).round() as u64
}

fn tbf(bytes: &[u8]) -> Value {
    let parms = attribute(bytes, 1).unwrap_or_default();
    let rate = bits(parms, 0, attribute(bytes, 4));
    let peak = bits(parms, RATESPEC, attribute(bytes, 5)).filter(|peak| *peak > 0);
    json!({
        "rate_bps": rate,
        "peakrate_bps": peak,
        "limit_bytes": u32_at(parms, 24),
        "burst_bytes": rate.zip(u32_at(parms, 28)).map(|(rate, ticks)| bucket(rate, ticks)),
    })
}

/// `struct tc_netem_qopt`, then attributes.
fn netem(bytes: &[u8]) -> Value {
    const QOPT: usize = 24;
    let share = |at: usize| u32_at(bytes, at).map(|value| f64::from(value) / f64::from(u32::MAX));
    let more = bytes.get(QOPT..).unwrap_or_default();
    let nanos = |kind: u16, at: usize| {
        let exact = attribute(more, kind).and_then(|value| u64_at(value, 0));
        exact.map(|ns| ns / 1000).or_else(|| Some((f64::from(u32_at(bytes, at)?) * TICK_NS / 1e3) as u64))
    };
    let rate =
        attribute(more, 6).and_then(|value| bits(value, 0_usize.wrapping_sub(RATE), attribute(more, 8)));
    json!({
        "delay_us": nanos(10, 0),
        "jitter_us": nanos(11, 20),
        "limit_packets": u32_at(bytes, 4),
        "loss": share(8),
        "duplicate": share(16),
        "gap": u32_at(bytes, 12),
        "rate_bps": rate.filter(|rate| *rate > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tc::{parse, Device, Order, TCA_OPTIONS};

    /// What the agent itself sends for a line is what the kernel tells of it, where the layouts are the same.
    fn told(kind: &str, words: &str) -> Value {
        let device = Device { name: "x", ifindex: 1 };
        let order = parse(&format!("qdisc root {kind} {words}"), &device).expect("good words");
        let Order::Native { message, .. } = order else { panic!("a native kind") };
        let options = attribute(&message.body.bytes()[20..], TCA_OPTIONS).expect("options").to_vec();
        of_qdisc(kind, &options)
    }

    #[test]
    fn a_bucket_tells_its_rate_and_limit() {
        let tbf = told("tbf", "rate 100mbit burst 10000 limit 500000");
        assert_eq!(tbf["rate_bps"], json!(100_000_000));
        assert_eq!(tbf["limit_bytes"], json!(500_000));
        let burst = tbf["burst_bytes"].as_u64().expect("a number");
        assert!(burst.abs_diff(10_000) <= 1, "{burst} bytes, kept in ticks of 64 ns");
    }

    #[test]
    fn common_kinds_tell_their_limits() {
        assert_eq!(told("pfifo", "limit 50")["limit_packets"], json!(50));
        assert_eq!(told("bfifo", "limit 50000")["limit_bytes"], json!(50_000));
        assert_eq!(told("fq_codel", "limit 600 flows 64 noecn")["flows"], json!(64));
        assert_eq!(told("fq", "maxrate 8mbit limit 5")["maxrate_bps"], json!(8_000_000));
        assert_eq!(told("sfq", "limit 60")["limit_packets"], json!(60));
        let netem = told("netem", "delay 20ms loss 1% limit 1000");
        assert_eq!((&netem["delay_us"], &netem["limit_packets"]), (&json!(20_000), &json!(1000)));
        assert!((netem["loss"].as_f64().expect("a share") - 0.01).abs() < 1e-6);
    }

    #[test]
    fn torn_options_are_no_panic() {
        for kind in ["pfifo", "tbf", "netem", "red", "htb", "fq_codel", "cake", "sfq", "hfsc"] {
            for length in 0..64 {
                of_qdisc(kind, &vec![5; length]);
                of_class(kind, &vec![5; length]);
                of_police(&vec![5; length]);
            }
        }
        assert_eq!(of_qdisc("hfsc", &[1, 0xab]), json!({"raw": "01ab"}));
    }
}
