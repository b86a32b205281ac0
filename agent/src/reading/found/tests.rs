use super::*;

const ESTABLISHED: i32 = 1;
const SYN_RECV: i32 = 3;
const FIN_WAIT1: i32 = 4;
const FIN_WAIT2: i32 = 5;
const CLOSE: i32 = 7;
const CLOSE_WAIT: i32 = 8;
const LAST_ACK: i32 = 9;
const CLIENT: u64 = 0xc;
const SERVER: u64 = 0x5;

fn plan(most: u32) -> Plan {
    let end = |node: &str, address: &str| {
        format!(r#"{{"node": "{node}", "dev": "d", "mac": "", "mtu": 1500, "addresses": ["{address}/30"]}}"#)
    };
    let text = format!(
        r#"{{"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1000, "sample_ns": 10, "readings": {{}},
        "nodes": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "c"}}],
        "links": [{{"name": "ab", "ends": [{}, {}]}}, {{"name": "bc", "ends": [{}, {}]}}],
        "flows": [{{"id": 0, "name": "f", "kind": "tcp", "generator": "iperf3", "from": "a", "to": "b", "src": "10.0.0.1",
            "dst": "10.0.0.2", "sport": 33000, "dport": 5001, "start_ns": 0}}],
        "found": {{"nodes": ["a"], "first": 1, "most": {most}}}}}"#,
        end("a", "10.0.0.1"),
        end("b", "10.0.0.2"),
        end("b", "10.0.1.1"),
        end("c", "10.0.1.2"),
    );
    Plan::parse(&text).expect("a plan")
}

fn empty() -> Book {
    Book::of(&plan(2)).expect("a plan").expect("asked for")
}

fn end(text: &str) -> End {
    let (address, port) = text.split_once(':').expect("an end");
    End::new(address.parse().expect("an address"), port.parse().expect("a port"))
}

fn way(from: &str, to: &str) -> Way {
    Way { from: end(from), to: end(to) }
}

/// a:port → b:80.
fn there(port: u16) -> Way {
    way(&format!("10.0.0.1:{port}"), "10.0.0.2:80")
}

fn pass(book: &mut Book, socket: u64, way: Way, steps: &[(i64, i32, i32)]) {
    for (t_ns, old, new) in steps {
        book.change(Change { t_ns: *t_ns, socket, way, old: *old, new: *new, pid: 7 });
    }
}

/// A connection from `begin` on, which the client closes first.
fn talk(book: &mut Book, way: Way, begin: i64) {
    let unbound = Way { from: End { port: 0, ..way.from }, ..way };
    pass(book, CLIENT, unbound, &[(begin, CLOSE, SYN_SENT)]);
    pass(book, CLIENT, way, &[(begin + 2, SYN_SENT, ESTABLISHED)]);
    pass(book, SERVER, way.back(), &[(begin + 3, SYN_RECV, ESTABLISHED)]);
    pass(book, CLIENT, way, &[(begin + 10, ESTABLISHED, FIN_WAIT1), (begin + 12, FIN_WAIT1, FIN_WAIT2)]);
    pass(
        book,
        SERVER,
        way.back(),
        &[(begin + 11, ESTABLISHED, CLOSE_WAIT), (begin + 13, CLOSE_WAIT, LAST_ACK)],
    );
    pass(book, CLIENT, way, &[(begin + 14, FIN_WAIT2, CLOSE)]);
    pass(book, SERVER, way.back(), &[(begin + 15, LAST_ACK, CLOSE)]);
}

fn last_words(book: &mut Book, way: Way, info: Info) {
    let (at, _) = book.last_words(way).expect("closed");
    book.told(at, &info);
}

#[test]
fn a_connection_is_a_flow_from_who_opened_it() {
    let mut book = empty();
    talk(&mut book, there(40_000), 100);
    // With the end of the stream as one more byte.
    last_words(&mut book, there(40_000), Info { sent: 600, again: 100, received: 1 });
    last_words(&mut book, there(40_000).back(), Info { sent: 0, again: 0, received: 501 });
    let told = book.report();
    assert_eq!(told.flows.len(), 1);
    let flow = &told.flows[0];
    assert_eq!((flow.number, flow.kind, &*flow.node, &*flow.peer, flow.back), (1, "tcp", "a", "b", false));
    assert_eq!((&*flow.src, flow.sport, &*flow.dst, flow.dport), ("10.0.0.1", 40_000, "10.0.0.2", 80));
    assert_eq!((flow.first_ns, flow.connected_ns, flow.last_ns, flow.pid), (100, Some(102), 115, Some(7)));
    assert_eq!((flow.sender_done_ns, flow.receiver_done_ns), (Some(110), Some(111)));
    assert_eq!((flow.bytes_sent, flow.bytes_received, flow.error), (Some(500), Some(500), None));
}

#[test]
fn a_direction_that_carries_payload_is_a_flow_of_its_own() {
    let mut book = empty();
    talk(&mut book, there(40_000), 100);
    last_words(&mut book, there(40_000), Info { sent: 10, again: 0, received: 901 });
    last_words(&mut book, there(40_000).back(), Info { sent: 900, again: 0, received: 11 });
    let told = book.report();
    let seen: Vec<_> = told.flows.iter().map(|flow| (flow.number, flow.back, flow.bytes_received)).collect();
    assert_eq!(seen, [(1, false, Some(10)), (2, true, Some(900))]);
    assert_eq!((&*told.flows[1].node, told.flows[1].sport), ("b", 80));
    assert_eq!((told.flows[1].connected_ns, told.flows[1].sender_done_ns), (Some(103), Some(113)));
    assert_eq!(told.flows[1].receiver_done_ns, Some(114));
}

#[test]
fn the_same_ends_again_are_another_connection() {
    let mut book = empty();
    talk(&mut book, there(40_000), 100);
    talk(&mut book, there(40_000), 200);
    // Last words come in the order in which the sockets went, however late.
    for sent in [5, 6] {
        last_words(&mut book, there(40_000), Info { sent, ..Info::default() });
        last_words(&mut book, there(40_000).back(), Info { received: sent + 1, ..Info::default() });
    }
    assert!(book.last_words(there(40_000)).is_none());
    let told = book.report();
    let seen: Vec<_> =
        told.flows.iter().map(|flow| (flow.number, flow.first_ns, flow.bytes_received)).collect();
    assert_eq!(seen, [(1, 100, Some(5)), (3, 200, Some(6))]);
}

#[test]
fn what_a_flow_of_the_plan_does_is_its_own() {
    let mut book = empty();
    let data = way("10.0.0.1:33000", "10.0.0.2:5001");
    assert_eq!(book.owner(Protocol::Tcp, data, 0), Owner::Planned { flow: 0, side: 0 });
    assert_eq!(book.owner(Protocol::Tcp, data.back(), 0), Owner::Planned { flow: 0, side: 1 });
    talk(&mut book, data, 100);
    assert!(book.report().flows.is_empty());
    // Its control connection is not the flow, nor is a datagram, nor one to the same port elsewhere.
    let others = [(Protocol::Tcp, way("10.0.0.1:40000", "10.0.0.2:5001")), (Protocol::Udp, data)];
    for (protocol, way) in others {
        assert!(matches!(book.owner(protocol, way, 0), Owner::Found(_)), "{protocol:?}");
    }
}

#[test]
fn only_what_leaves_a_followed_node_or_reaches_one_is_found() {
    let mut book = empty();
    let nobody = [
        way("10.0.0.2:40000", "10.0.1.2:80"),
        way("10.0.0.1:40000", "10.0.0.1:80"),
        way("10.0.0.1:40000", "192.0.2.1:80"),
        way("127.0.0.1:40000", "127.0.0.1:80"),
    ];
    for way in nobody {
        assert_eq!(book.owner(Protocol::Tcp, way, 0), Owner::Nobody, "{way:?}");
    }
    talk(&mut book, way("127.0.0.1:40000", "127.0.0.1:80"), 100);
    assert_eq!((book.report().flows.len(), book.report().local), (0, 1));
    let clothed = "::ffff:10.0.0.1".parse().expect("an address");
    assert_eq!(End::new(clothed, 8), end("10.0.0.1:8"));
}

#[test]
fn more_conversations_than_asked_for_are_counted() {
    let mut book = empty();
    for port in [40_000, 40_002, 40_004, 40_006, 40_006] {
        talk(&mut book, there(port), 100);
    }
    let told = book.report();
    assert_eq!((told.flows.len(), told.beyond), (2, 2));
}

#[test]
fn a_refused_connection_says_so() {
    let mut book = empty();
    pass(&mut book, CLIENT, there(40_000), &[(100, CLOSE, SYN_SENT), (101, SYN_SENT, CLOSE)]);
    // One that never got a port is none.
    pass(&mut book, CLIENT, there(0), &[(100, CLOSE, SYN_SENT), (101, SYN_SENT, CLOSE)]);
    let told = book.report();
    assert_eq!(told.flows.len(), 1);
    let flow = &told.flows[0];
    assert_eq!((flow.first_ns, flow.last_ns, flow.connected_ns), (100, 101, None));
    assert!(flow.error.is_some() && flow.bytes_received.is_none());
}

#[test]
fn what_is_open_at_the_end_lasts_until_then() {
    let mut book = empty();
    pass(&mut book, CLIENT, there(40_000), &[(100, CLOSE, SYN_SENT), (102, SYN_SENT, ESTABLISHED)]);
    pass(&mut book, CLIENT, there(40_000), &[(1001, ESTABLISHED, FIN_WAIT1)]);
    let flow = &book.report().flows[0];
    assert_eq!((flow.last_ns, flow.sender_done_ns, flow.receiver_done_ns), (1000, Some(1000), None));
}

#[test]
fn what_is_open_lasts_until_the_programs_end_the_experiment() {
    let mut book = empty();
    pass(&mut book, CLIENT, there(40_000), &[(100, CLOSE, SYN_SENT), (102, SYN_SENT, ESTABLISHED)]);
    book.ended(600);
    let flow = &book.report().flows[0];
    assert_eq!((flow.last_ns, flow.sender_done_ns, flow.receiver_done_ns), (600, Some(600), None));
}

#[test]
fn an_event_says_something_while_data_are_on_their_way() {
    let mut book = empty();
    let Owner::Found(at) = book.owner(Protocol::Tcp, there(40_000), 0) else { panic!("not found") };
    let said: Vec<_> =
        [false, true, true, false, false].map(|in_flight| book.acknowledged(at.back(), in_flight)).into();
    assert_eq!(said, [false, true, true, true, false]);
    // The other direction speaks now, so what carries nothing this way answers it.
    assert_eq!((book.of_packet(at, false), book.of_packet(at, true)), ((2, true), (1, false)));
}

#[test]
fn datagrams_are_counted_where_they_leave_and_arrive() {
    let mut book = empty();
    let Owner::Found(at) = book.owner(Protocol::Udp, there(40_000), 5) else { panic!("not found") };
    for t_ns in [5, 6, 7] {
        book.datagrams(at, true, (1, 100), t_ns);
    }
    book.datagrams(at, false, (2, 200), 9);
    book.datagrams(at.back(), true, (1, 30), 12);
    let told = book.report();
    let seen: Vec<_> = told.flows.iter().map(|flow| (flow.packets_sent, flow.packets_received)).collect();
    assert_eq!(seen, [(Some(3), Some(2)), (Some(1), Some(0))]);
    let flow = &told.flows[0];
    assert_eq!((flow.kind, flow.bytes_sent, flow.bytes_received), ("udp", Some(300), Some(200)));
    assert_eq!((flow.first_ns, flow.connected_ns, flow.last_ns), (5, Some(5), 12));
    assert_eq!((flow.sender_done_ns, flow.receiver_done_ns), (Some(7), Some(9)));
}

#[test]
fn the_socket_of_a_new_connection_is_awaited_until_it_is_told_of_or_closed() {
    let mut book = empty();
    assert!(!book.awaits_sockets(0));
    pass(&mut book, CLIENT, there(40_000), &[(100, SYN_SENT, ESTABLISHED)]);
    assert!(book.awaits_sockets(50));
    // Of an older one that is silent the table tells sooner or later.
    assert!(!book.awaits_sockets(101));
    let Owner::Found(at) = book.owner(Protocol::Tcp, there(40_000), 110) else { panic!("not found") };
    book.told(at, &Info::default());
    // The other end is at a node that is not followed.
    assert!(!book.awaits_sockets(50));
    pass(&mut book, CLIENT, there(40_001), &[(120, SYN_SENT, ESTABLISHED)]);
    assert!(book.awaits_sockets(50));
    pass(&mut book, CLIENT, there(40_001), &[(130, ESTABLISHED, CLOSE)]);
    assert!(!book.awaits_sockets(50));
}
