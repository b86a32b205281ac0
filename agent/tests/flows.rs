//! Flows on real sockets, in namespaces of their own (root is needed to make them).
//!
//! The machine may be busy, so nothing here is too late; what is asserted of time is that nothing comes early.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use rushhour_agent::error::Result;
use rushhour_agent::kernel::clock::Clock;
use rushhour_agent::kernel::netns::Nodes;
use rushhour_agent::kernel::sys;
use rushhour_agent::plan::Plan;
use rushhour_agent::run::calibration;
use rushhour_agent::traffic;
use rushhour_agent::traffic::FlowEnd;
use serde_json::{json, Value};

const MS: i64 = 1_000_000;

/// A plan of one node whose loopback carries everything.
fn plan(duration_ms: i64, flows: &[Value]) -> Plan {
    let flows: Vec<Value> = flows
        .iter()
        .enumerate()
        .map(|(id, extra)| {
            let mut flow = json!({"id": id, "name": format!("flow {id}"), "kind": "tcp", "from": "a", "to": "a",
                "src": "127.0.0.1", "dst": "127.0.0.1", "sport": 33000 + id, "dport": 5001 + id, "start_ns": 0});
            for (key, value) in extra.as_object().expect("an object") {
                flow[key] = value.clone();
            }
            flow
        })
        .collect();
    let plan = json!({"format": "rushhour-plan/1", "seed": 1, "duration_ns": duration_ms * MS, "sample_ns": MS,
        "nodes": [{"name": "a"}, {"name": "b"}], "links": [], "flows": flows, "readings": {}});
    Plan::parse(&plan.to_string()).expect("a valid plan")
}

/// Two nodes that cannot reach each other, each with its loopback up.
fn nodes() -> Nodes {
    let mut nodes = Nodes::new().expect("the agent's own namespace");
    for name in ["a", "b"] {
        nodes.create(name).expect("a namespace: these tests need root");
        let up = nodes.within(name, || Ok(loopback_up()));
        assert!(up.expect("enter the namespace"), "ip link set lo up");
    }
    nodes
}

fn loopback_up() -> bool {
    let words = ["link", "set", "lo", "up"];
    process::Command::new("ip").args(words).status().expect("ip runs").success()
}

/// A folder for tables that goes with the test.
struct Raw(PathBuf);

impl Drop for Raw {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

fn run(name: &str, plan: &Plan) -> (Vec<FlowEnd>, Raw) {
    let nodes = nodes();
    let raw = std::env::temp_dir().join(format!("rushhour-flows-{}-{name}", process::id()));
    fs::create_dir_all(&raw).expect("a folder for tables");
    let prepared = traffic::prepare(plan, &nodes, &raw).expect("sockets open");
    let clock = Clock::starting_at(sys::time::monotonic_ns() + 20 * MS);
    let running = prepared.start(clock, &raw).expect("threads start");
    clock.sleep_until(plan.duration_ns);
    (running.finish().expect("all threads end").0, Raw(raw))
}

/// Rows of a table of flow, seq and two stamps.
fn rows(raw: &Raw, table: &str) -> Vec<(u32, u32, i64, i64)> {
    let bytes = fs::read(raw.0.join(format!("{table}.rh"))).expect("the table exists");
    let header = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
    let start = (12 + header).next_multiple_of(64);
    let number = |row: &[u8], at: usize| u32::from_le_bytes(row[at..at + 4].try_into().expect("four bytes"));
    let stamp = |row: &[u8], at: usize| i64::from_le_bytes(row[at..at + 8].try_into().expect("eight bytes"));
    let row = |row: &[u8]| (number(row, 0), number(row, 4), stamp(row, 8), stamp(row, 16));
    bytes[start..].chunks_exact(24).map(row).collect()
}

#[test]
fn a_counted_transfer_arrives_whole_and_an_endless_one_stops_on_time() {
    let plan = plan(
        2000,
        &[
            json!({"bytes": 12_345_678, "cc": "reno"}),
            // A thread that wakes after the end of its flow never starts it: the window leaves a busy machine time.
            json!({"start_ns": 50 * MS, "stop_ns": 900 * MS}),
            json!({"bytes": 1_000_003, "message_bytes": 1000, "stop_ns": null, "src": "::1", "dst": "::1", "tos": 8}),
        ],
    );
    let (ends, _) = run("tcp", &plan);
    for (end, bytes) in [(&ends[0], 12_345_678), (&ends[2], 1_000_003)] {
        assert_eq!((end.bytes_sent, end.bytes_received, &end.error), (Some(bytes), Some(bytes), &None));
        assert!(end.receiver_done_ns.is_some_and(|at| at > 0), "{end:?}");
    }
    let endless = &ends[1];
    assert!(endless.connected_ns.is_some_and(|at| at >= 50 * MS), "{endless:?}");
    assert!(endless.sender_done_ns.is_some_and(|at| at >= 900 * MS), "{endless:?}");
    assert!(
        endless.bytes_sent > Some(1_000_000) && endless.bytes_sent == endless.bytes_received,
        "{endless:?}"
    );
}

#[test]
fn a_paced_writer_keeps_its_rate_and_a_slow_reader_slows_the_sender() {
    let plan = plan(
        500,
        &[
            json!({"rate_bps": 8_000_000, "stop_ns": 400 * MS}),
            json!({"read_bps": 8_000_000, "rcvbuf": 16384, "sndbuf": 16384}),
        ],
    );
    let (ends, _) = run("pace", &plan);
    // 8 Mbit/s for 0.4 s, one message of 1448 bytes at a time.
    let sent = ends[0].bytes_sent.expect("sent") as i64;
    assert!((100_000..=400_000 + 1448).contains(&sent), "{sent}");
    let read = ends[1].bytes_received.expect("received") as i64;
    assert!((100_000..=510_000).contains(&read), "{read}");
}

#[test]
fn nobody_listening_is_the_flows_own_error() {
    // The listener is in the other node, so this one's loopback refuses.
    let (ends, _) = run("refused", &plan(1000, &[json!({"to": "b"}), json!({"bytes": 1000})]));
    assert!(ends[0].error.as_deref().is_some_and(|error| error.contains("refused")), "{:?}", ends[0]);
    assert_eq!(ends[1].bytes_received, Some(1000));
}

/// A scanner, or a browser that was told the wrong port, comes before the flow's own sender.
#[test]
fn a_strangers_connection_is_not_taken_for_the_flows() {
    let rr = json!({"kind": "rr", "request_bytes": 100, "response_bytes": 100, "count": 5});
    let crr =
        json!({"kind": "crr", "request_bytes": 100, "response_bytes": 100, "count": 5, "src": "127.0.0.2"});
    let plan = plan(3000, &[json!({"bytes": 100_000}), rr, crr]);
    let nodes = nodes();
    let raw = Raw(std::env::temp_dir().join(format!("rushhour-flows-{}-stranger", process::id())));
    fs::create_dir_all(&raw.0).expect("a folder for tables");
    let prepared = traffic::prepare(&plan, &nodes, &raw.0).expect("sockets open");
    let strangers = nodes.within("a", || {
        let connect = |port| std::net::TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
        Ok([5002, 5003].map(connect))
    });
    let mut strangers = strangers.expect("in the node");
    for stranger in &mut strangers {
        std::io::Write::write_all(stranger, &[b'x'; 1000]).expect("sent");
    }
    let clock = Clock::starting_at(sys::time::monotonic_ns() + 20 * MS);
    let running = prepared.start(clock, &raw.0).expect("threads start");
    clock.sleep_until(plan.duration_ns);
    let (ends, sockets) = running.finish().expect("all threads end");
    drop(sockets);
    assert_eq!(ends[0].bytes_received, Some(100_000), "{:?}", ends[0]);
    for end in &ends[1..] {
        assert_eq!((end.packets_sent, end.packets_received), (Some(5), Some(5)), "{end:?}");
    }
}

#[test]
fn a_connection_that_is_only_a_strangers_is_named() {
    let plan = plan(500, &[json!({"from": "b", "src": "10.9.9.9", "stop_ns": 100 * MS})]);
    let nodes = nodes();
    let raw = Raw(std::env::temp_dir().join(format!("rushhour-flows-{}-named", process::id())));
    fs::create_dir_all(&raw.0).expect("a folder for tables");
    let given = nodes.within("b", || Ok(has_address("10.9.9.9")));
    assert!(given.expect("in the node"));
    let prepared = traffic::prepare(&plan, &nodes, &raw.0).expect("sockets open");
    let stranger = nodes.within("a", || Ok(std::net::TcpStream::connect("127.0.0.1:5001")));
    let _stranger = stranger.expect("in the node").expect("somebody listens");
    let clock = Clock::starting_at(sys::time::monotonic_ns() + 20 * MS);
    let running = prepared.start(clock, &raw.0).expect("threads start");
    clock.sleep_until(plan.duration_ns);
    let (ends, _sockets) = running.finish().expect("all threads end");
    let error = ends[0].error.as_deref().unwrap_or_default();
    assert!(ends[0].bytes_received == Some(0), "{:?}", ends[0]);
    assert!(error.contains("a connection from 127.0.0.1:") || error.contains("connect to"), "{error}");
}

fn has_address(address: &str) -> bool {
    let address = format!("{address}/32");
    let words = ["address", "add", &address, "dev", "lo"];
    process::Command::new("ip").args(words).status().expect("ip runs").success()
}

#[test]
fn an_unknown_congestion_control_is_answered_with_those_there_are() {
    let error: Result<_> = traffic::prepare(&plan(100, &[json!({"cc": "cubicc"})]), &nodes(), Path::new("."));
    let error = error.err().expect("refused");
    assert!(error.message.contains("reno") && error.hint.contains("cubic"), "{error}");
    assert!(error.place.contains("flow 0"), "{error}");
}

#[test]
fn datagrams_are_numbered_paced_and_stamped() {
    let udp = |extra: Value| {
        let mut flow = json!({"kind": "udp", "packet_bytes": 1000});
        flow.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        flow
    };
    let plan = plan(
        1000,
        &[
            udp(json!({"rate_bps": 8_000_000, "count": 100})),
            udp(json!({"rate_bps": 800_000_000, "start_ns": 150 * MS, "count": 5000, "rcvbuf": 4_000_000})),
        ],
    );
    let (ends, raw) = run("udp", &plan);
    let rows = rows(&raw, "udp");
    assert_eq!((ends[0].packets_sent, ends[0].packets_received), (Some(100), Some(100)));
    assert_eq!(ends[0].bytes_received, Some(100_000));
    let slow: Vec<_> = rows.iter().filter(|row| row.0 == 0).collect();
    assert!(slow.iter().enumerate().all(|(n, row)| row.1 as usize == n), "arrival order");
    assert!(slow.iter().all(|row| row.2 >= i64::from(row.1) * MS && row.3 > row.2), "never early");
    // 800 Mbit/s are 100 000 packets a second: bursts of five.
    assert_eq!(ends[1].packets_sent, Some(5000), "{:?}", ends[1]);
    assert!(rows.iter().filter(|row| row.0 == 1).count() > 1000);
}

#[test]
fn a_refused_datagram_of_a_burst_keeps_none_behind_it_back() {
    let to_nobody = |extra: Value| {
        let mut flow = json!({"kind": "udp", "packet_bytes": 1000, "rate_bps": 8_000_000, "count": 40,
            "start_ns": 60 * MS, "leave_ns": MS});
        flow.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        flow
    };
    let flows = [json!({}), json!({"burst": 8}), json!({"burst": 40}), json!({"burst": 8, "gso": true})];
    let (ends, _) = run("refused", &plan(300, &flows.map(to_nobody)));
    let said: Vec<_> = ends.iter().map(|end| (end.packets_sent, end.sends_refused)).collect();
    // The loopback tells at once that nobody is there: every second send is refused, alone or in a burst.
    assert_eq!(said[..3], [(Some(20), Some(20)); 3], "{ends:?}");
    // Of five packets that the kernel cuts, two.
    assert_eq!(said[3], (Some(24), Some(2)), "{ends:?}");
    assert!(
        ends.iter().all(|end| end.error.as_ref().is_some_and(|why| why.starts_with("send: "))),
        "{ends:?}"
    );
}

#[test]
fn a_burst_may_be_cut_by_the_kernel() {
    let burst = |many: u32, bytes: u32| json!({"kind": "udp", "packet_bytes": bytes, "rate_bps": 8_000_000, "count": 40, "burst": many, "gso": true});
    let (ends, raw) = run("gso", &plan(300, &[burst(16, 1000)]));
    let rows = rows(&raw, "udp");
    assert_eq!((ends[0].packets_sent, ends[0].packets_received), (Some(40), Some(40)), "{:?}", ends[0]);
    assert!(rows.iter().enumerate().all(|(n, row)| row.1 as usize == n), "{rows:?}");
    // 16, 16 and the 8 that are left, each with the stamp of its burst.
    let stamps: std::collections::BTreeSet<i64> = rows.iter().map(|row| row.2).collect();
    assert_eq!(stamps.len(), 3, "{rows:?}");
    for (many, bytes) in [(1, 1000), (129, 100), (66, 1000)] {
        let error = traffic::prepare(&plan(300, &[burst(many, bytes)]), &nodes(), Path::new(".")).err();
        assert!(error.expect("refused").message.contains("gso with a burst"));
    }
}

#[test]
fn a_read_may_give_several_datagrams_and_the_last_may_be_shorter() {
    let burst = |extra: Value| {
        let mut flow = json!({"kind": "udp", "packet_bytes": 1000, "rate_bps": 8_000_000, "count": 42,
            "burst": 8, "last_bytes": 300});
        for (key, value) in extra.as_object().expect("an object") {
            flow[key] = value.clone();
        }
        flow
    };
    let flows = [
        json!({"gso": true, "gro": true}),
        json!({"gso": true}),
        json!({"gro": true}),
        json!({"gso": true, "gro": true, "read_interval_ns": 20 * MS}),
    ];
    let (ends, raw) = run("gro", &plan(300, &flows.map(burst)));
    for (id, end) in (0..).zip(&ends) {
        let seqs: Vec<u32> = rows(&raw, "udp").iter().filter(|row| row.0 == id).map(|row| row.1).collect();
        assert_eq!(seqs, (0..42).collect::<Vec<u32>>(), "flow {id}");
        // Five whole bursts of 7 · 1000 + 300 bytes, and two datagrams.
        assert_eq!((end.bytes_sent, end.bytes_received), (Some(38_500), Some(38_500)), "{end:?}");
    }
    // The loopback carries a burst in one piece: six reads, or one for each datagram.
    assert_eq!(ends.iter().map(|end| end.reads).collect::<Vec<_>>(), [Some(6), None, Some(42), Some(6)]);
    for (many, last) in [(8, 1001), (8, 23), (1, 300)] {
        let flow = burst(json!({"burst": many, "last_bytes": last}));
        let error = traffic::prepare(&plan(300, &[flow]), &nodes(), Path::new(".")).err();
        assert!(error.expect("refused").message.contains("last_bytes"));
    }
}

#[test]
fn echoes_come_back_and_lost_ones_are_said() {
    let v6 = json!({"kind": "ping", "src": "::1", "dst": "::1", "count": 5, "interval_ns": 10 * MS});
    let v4 = json!({"kind": "ping", "count": 10, "interval_ns": 10 * MS, "packet_bytes": 0});
    let (ends, raw) = run("ping", &plan(1000, &[v4, v6]));
    let rows = rows(&raw, "ping");
    assert_eq!((ends[0].packets_sent, ends[0].packets_received), (Some(10), Some(10)), "{:?}", ends[0]);
    assert_eq!((ends[1].packets_sent, ends[1].packets_received), (Some(5), Some(5)), "{:?}", ends[1]);
    assert_eq!(rows.len(), 15);
    assert!(rows.iter().all(|row| row.3 > row.2), "{rows:?}");
}

#[test]
fn transactions_run_over_one_connection_and_over_new_ones() {
    let rr = json!({"kind": "rr", "request_bytes": 100, "response_bytes": 200_000, "count": 50});
    let crr = json!({"kind": "crr", "request_bytes": 10, "response_bytes": 1000, "count": 30});
    let (ends, raw) = run("transactions", &plan(1000, &[rr, crr]));
    let rows = rows(&raw, "transaction");
    assert_eq!((ends[0].packets_sent, ends[0].bytes_received), (Some(50), Some(5000)), "{:?}", ends[0]);
    assert_eq!(ends[1].packets_sent, Some(30), "{:?}", ends[1]);
    assert_eq!(ends[1].packets_received, Some(30), "{:?}", ends[1]);
    assert_eq!(rows.len(), 80);
    assert!(rows.iter().all(|row| row.3 > row.2), "{rows:?}");
    assert!(ends.iter().all(|end| end.error.is_none()), "{ends:?}");
}

#[test]
fn a_client_may_close_first_or_reset() {
    let calls = |close| json!({"kind": "crr", "request_bytes": 10, "response_bytes": 5000, "count": 30, "close": close});
    let (ends, _) = run("first", &plan(1000, &[calls("leave"), calls("reset")]));
    for end in &ends {
        assert_eq!((end.packets_sent, end.packets_received), (Some(30), Some(30)), "{end:?}");
        assert_eq!(end.error, None);
    }
}

/// Loopback has to copy before a receiver may keep the bytes.
#[test]
fn sends_without_a_copy_are_counted_when_the_kernel_is_done() {
    let much = json!({"bytes": 3_000_000, "zerocopy": true});
    let few = json!({"bytes": 100_000, "message_bytes": 10_000, "rate_bps": 80_000_000, "zerocopy": true});
    let (ends, _) = run("zerocopy", &plan(1000, &[much, few, json!({"bytes": 1000})]));
    assert_eq!((ends[0].bytes_received, ends[0].zerocopy_sends), (Some(3_000_000), Some(3)), "{:?}", ends[0]);
    assert_eq!((ends[1].bytes_received, ends[1].zerocopy_sends), (Some(100_000), Some(10)), "{:?}", ends[1]);
    assert_eq!((ends[0].zerocopy_copied, ends[1].zerocopy_copied), (Some(3), Some(10)));
    assert_eq!((ends[2].zerocopy_sends, ends[2].zerocopy_copied), (None, None));
}

#[test]
fn calibration_gives_every_round_trip_and_arrival() {
    let mut plan = plan(100, &[]);
    let ends = json!({"from": "a", "to": "a", "src": "127.0.0.1", "dst": "127.0.0.1"});
    let with = |extra: Value| {
        let mut all = ends.clone();
        all.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        all
    };
    plan.calibration = serde_json::from_value(json!({
        "paths": [with(json!({"pings": 3, "size": 56}))],
        "trains": [with(json!({"packets": 1500, "size": 1472}))],
    }))
    .expect("a valid calibration");
    let measured = calibration::run(&plan, &nodes()).expect("measured");
    assert_eq!(measured.pings[0].rtt_ns.len(), 3);
    assert!(measured.pings[0].rtt_ns.iter().all(|rtt| *rtt > 0), "{measured:?}");
    let arrivals = &measured.trains[0].arrivals_ns;
    assert_eq!((arrivals.len(), arrivals[0], measured.trains[0].sent), (1500, 0, 1500));
    assert!(arrivals.is_sorted());
}

#[test]
fn flows_that_come_and_go_share_threads_and_all_are_told() {
    let flow = |start_ms: i64| json!({"bytes": 100_000, "start_ns": start_ms * MS});
    let (flows, _raw) = run("pool", &plan(1000, &(0..40).map(|n| flow(n * 10)).collect::<Vec<_>>()));
    assert_eq!(flows.len(), 40);
    for (n, flow) in flows.iter().enumerate() {
        assert_eq!((flow.id, flow.bytes_received), (n as u32, Some(100_000)), "{flow:?}");
        assert!(flow.connected_ns >= Some(n as i64 * 10 * MS), "{flow:?}");
        assert!(flow.receiver_done_ns >= flow.connected_ns, "{flow:?}");
    }
}

#[test]
fn what_a_sender_leaves_to_the_kernel_arrives() {
    let left = json!({"bytes": 500_000, "sndbuf": 1_000_000, "close": "leave", "read_bps": 40_000_000});
    let (flows, _raw) = run("leave", &plan(1000, &[left]));
    assert_eq!(
        (flows[0].bytes_sent, flows[0].bytes_received),
        (Some(500_000), Some(500_000)),
        "{:?}",
        flows[0]
    );
    assert!(flows[0].sender_done_ns < flows[0].receiver_done_ns, "{:?}", flows[0]);
    assert_eq!(flows[0].error, None);
}

#[test]
fn a_sender_that_resets_takes_back_what_was_not_read() {
    let reset = json!({"bytes": 500_000, "sndbuf": 1_000_000, "close": "reset", "read_bps": 8_000_000});
    let (flows, _raw) = run("reset", &plan(1000, &[reset]));
    assert_eq!(flows[0].bytes_sent, Some(500_000));
    assert!(flows[0].bytes_received < Some(500_000), "{:?}", flows[0]);
    assert_eq!(flows[0].error, None, "it was asked for");
}

#[test]
fn fast_open_and_keepalive_change_nothing_of_what_arrives() {
    let asked = json!({"bytes": 10_000, "fastopen": true, "keepalive": true,
        "keepalive_time_ns": 2000 * MS, "keepalive_interval_ns": 1000 * MS, "keepalive_probes": 4});
    let calls =
        json!({"kind": "crr", "request_bytes": 100, "response_bytes": 100, "count": 5, "fastopen": true});
    let (flows, _raw) = run("fast-open", &plan(1000, &[asked, calls]));
    assert_eq!((flows[0].bytes_received, flows[0].error.as_deref()), (Some(10_000), None));
    assert_eq!((flows[1].packets_sent, flows[1].error.as_deref()), (Some(5), None));
}

#[test]
fn a_user_timeout_that_the_kernel_would_take_for_none_is_refused() {
    let prepared = |timeout_ns: i64| {
        let asked = json!({"bytes": 1000, "user_timeout_ns": timeout_ns});
        traffic::prepare(&plan(100, &[asked]), &nodes(), Path::new(".")).map(drop)
    };
    assert!(prepared(2000 * MS).is_ok());
    assert!(prepared(MS - 1).is_err());
    assert!(prepared(i64::MAX).is_err());
}

#[test]
fn keepalive_of_what_the_kernel_refuses_is_refused_before() {
    let prepared = |key: &str, value: i64| {
        let mut asked = json!({"bytes": 1000, "keepalive": true});
        asked[key] = value.into();
        traffic::prepare(&plan(100, &[asked]), &nodes(), Path::new(".")).map(drop)
    };
    assert!(prepared("keepalive_time_ns", 1000 * MS).is_ok());
    assert!(prepared("keepalive_time_ns", 999 * MS).is_err());
    assert!(prepared("keepalive_interval_ns", 32_768_000 * MS).is_err());
    assert!(prepared("keepalive_probes", 127).is_ok());
    assert!(prepared("keepalive_probes", 128).is_err());
}

#[test]
fn both_ends_that_connect_are_not_refused_for_their_words() {
    let words = json!({"open": "both", "close": "wait"});
    assert!(traffic::prepare(&plan(100, &[words]), &nodes(), Path::new(".")).is_ok());
}

#[test]
fn a_flow_that_the_end_overtakes_says_how_far_it_came() {
    let slow =
        json!({"bytes": 10_000_000, "start_ns": 0, "read_bps": 8_000_000, "rcvbuf": 4096, "sndbuf": 4096});
    let never = json!({"bytes": 1000, "start_ns": 2000 * MS});
    let (flows, _raw) = run("pool-end", &plan(1000, &[slow, never]));
    assert!(
        flows[0].bytes_received > Some(0) && flows[0].bytes_received < Some(10_000_000),
        "{:?}",
        flows[0]
    );
    assert_eq!(flows[0].receiver_done_ns, None);
    assert_eq!((flows[1].connected_ns, flows[1].bytes_sent), (None, None));
}
