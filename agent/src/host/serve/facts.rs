//! What limits a transfer at this end, asked of the kernel: each answer is one JSON value.

mod firewall;
mod links;
mod neighbours;
mod options;
mod qdiscs;
mod route;
mod sockets;

use serde_json::{json, Value};

use crate::error::{Error, Result};
use crate::kernel::ethtool::Card;

/// The verbs of this part.
pub const VERBS: [&str; 7] = ["ethtool", "firewall", "links", "neighbours", "qdiscs", "route", "sockets"];

/// Answers one of [`VERBS`]; other words are an error.
pub fn answer(verb: &str, request: &Value) -> Result<Value> {
    match verb {
        "ethtool" => Ok(Card::open(text(request, "dev")?)?.everything()),
        "firewall" => firewall::all(),
        "links" => links::below(request["dev"].as_str()),
        "neighbours" => neighbours::all(),
        "qdiscs" => qdiscs::of(text(request, "dev")?),
        "route" => route::to(text(request, "to")?, request["from"].as_str()),
        "sockets" => sockets::summary(request["peer"].as_str()),
        _ => Err(Error::new("request", format!("{verb:?} is not a verb")).hint(format!("One of {VERBS:?}."))),
    }
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str> {
    request[key].as_str().ok_or_else(|| Error::new("request", format!("{key:?} must be a text")))
}

/// A string attribute without its terminating zero.
fn string(value: &[u8]) -> String {
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
}

/// An address of 4, 16 or 6 bytes as people write it.
fn address(value: &[u8]) -> Value {
    if let Some(four) = value.first_chunk::<4>().filter(|_| value.len() == 4) {
        return json!(std::net::Ipv4Addr::from(*four).to_string());
    }
    if let Some(six) = value.first_chunk::<16>() {
        return json!(std::net::Ipv6Addr::from(*six).to_string());
    }
    json!(value.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"))
}
