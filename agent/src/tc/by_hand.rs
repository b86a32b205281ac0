//! `rushhour-agent queue`: queue disciplines on a device of this namespace, by hand.

use std::cell::RefCell;

use super::{apply, in_order, parse_among, Device};
use crate::error::{Error, Result};
use crate::kernel::netlink::Socket;

const EXAMPLE: &str = "rushhour-agent queue eth0 'root handle 1: tbf rate 1mbit burst 2kb limit 9kb'";

/// Puts lines on a device: `DEV LINE…`, a queue discipline's without the word `qdisc`.
///
/// # Errors
/// No such device, a line that makes no sense, what the kernel lacks or refuses.
pub fn command(words: &[&str]) -> Result<()> {
    let Some((name, lines)) = words.split_first().filter(|(_, lines)| !lines.is_empty()) else {
        return Err(Error::new("usage", "say which device, and what is to stand there")
            .hint(format!("For example: {EXAMPLE}")));
    };
    let socket = RefCell::new(Socket::route()?);
    let device = Device { name, ifindex: socket.borrow_mut().ifindex(name)? };
    let find = |dev: &str| socket.borrow_mut().ifindex(dev).ok();
    let lines = lines.iter().map(|line| (*line).to_owned());
    let (below, qdiscs): (Vec<String>, Vec<String>) = lines.partition(|line| is_below(line));
    let lines = in_order(&qdiscs, &below);
    let orders = lines.iter().map(|line| parse_among(line, &device, &find)).collect::<Result<Vec<_>>>()?;
    apply(&orders, &mut socket.into_inner(), |work| work())
}

fn is_below(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("class" | "filter"))
}
