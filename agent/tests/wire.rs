//! The wire's program on real devices, in a network namespace of its own (root is needed to make one).

use std::net::UdpSocket;
use std::process::Command;
use std::thread;

use rushhour_agent::kernel::netlink::Socket;
use rushhour_agent::kernel::sys;
use rushhour_agent::kernel::sys::cpu;
use rushhour_agent::path::wire::{attach, elements, fate, Element};
use rushhour_agent::plan::Wire;
use rushhour_agent::tc::Device;

const SENDERS: usize = 4;
const PACKETS: usize = 50_000;

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().expect("ip runs");
    assert!(status.success(), "ip {words}");
}

/// A device that drops what it is given, with a wire on its egress; this thread is in its namespace from here on. The second element was
/// made with it and is on no device.
fn wired(wire: &Wire) -> [Element; 2] {
    let _namespace = sys::namespaces::new_netns().expect("a namespace: these tests need root");
    for words in [
        "link add name bed numtxqueues 4 type veth peer name far",
        "link set dev bed up",
        "link set dev far up",
        "address add 10.9.8.1/24 dev bed",
        "neighbour add 10.9.8.2 lladdr 02:00:00:00:00:02 dev bed",
    ] {
        ip(words);
    }
    let mut socket = Socket::route().expect("a socket");
    let device = Device { name: "bed", ifindex: socket.ifindex("bed").expect("the device") };
    let made = elements(&[wire, &Wire::default()]).expect("maps");
    let [first, second] = <[Element; 2]>::try_from(made).expect("one for each wire");
    [attach(wire, first, &device, &mut socket).expect("a wire"), second]
}

/// Two packets of one number would have one fate, and another number's fate would be nobody's.
#[test]
fn packets_that_several_cpus_send_at_once_have_numbers_of_their_own() {
    let wire = Wire { loss: 0.5, seed: 7, ..Wire::default() };
    let [element, other] = wired(&wire);
    Element::count_each_from(&[&other], 5).expect("counted from 5");
    Element::count_each_from(&[&element], 0).expect("counted from 0");
    thread::scope(|scope| {
        for number in 0..SENDERS {
            scope.spawn(move || {
                let _any_will_do = cpu::pin(&[number % cpu::configured()]);
                let socket = UdpSocket::bind("10.9.8.1:0").expect("a socket");
                socket.connect("10.9.8.2:9").expect("a route");
                for _ in 0..PACKETS {
                    // What the wire loses, the sender is told of as a full queue.
                    let _lost = socket.send(&[0; 100]);
                }
            });
        }
    });
    let all = (SENDERS * PACKETS) as u64;
    let expected = (0..all).filter(|number| fate(&wire, *number).is_none()).count() as u64;
    let counted = Element::read_each(&[&other, &element]).expect("counters");
    assert!(element.is_exact());
    assert_eq!(counted, [(5, 0), (all, expected)], "each its own packets, each packet its own number");
}
