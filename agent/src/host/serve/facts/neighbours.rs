//! Who is known on the links, and how surely: `RTM_GETNEIGH` (`include/uapi/linux/neighbour.h`).

use serde_json::{json, Value};

use super::{address, links};
use crate::error::Result;
use crate::kernel::netlink::{attribute, u16_at, u32_at, Message, Socket};

/// `struct ndmsg`.
const NDMSG: usize = 12;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const STATES: [&str; 8] =
    ["incomplete", "reachable", "stale", "delay", "probe", "failed", "noarp", "permanent"];

/// Every neighbour: address, hardware address, device, state.
pub fn all() -> Result<Value> {
    let names = links::names()?;
    let mut found = Vec::new();
    let order = Message::new("list neighbours", libc::RTM_GETNEIGH, 0, &[0; NDMSG]);
    Socket::route()?.dump(&order, |payload| found.extend(tell(payload, &names)))?;
    Ok(json!({"neighbours": found}))
}

fn tell(payload: &[u8], names: &[(u32, String)]) -> Option<Value> {
    let index = u32_at(payload, 4)?;
    let state = u16_at(payload, 8)?;
    let bytes = payload.get(NDMSG..)?;
    let state = STATES.get(state.trailing_zeros() as usize)?;
    Some(json!({
        "address": address(attribute(bytes, NDA_DST)?),
        "hardware": attribute(bytes, NDA_LLADDR).map(address),
        "dev": names.iter().find(|(other, _)| *other == index).map(|(_, name)| name),
        "state": state,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::netlink::Attributes;

    #[test]
    fn a_neighbour_is_told_with_its_state() {
        let mut body = Attributes::new();
        body.raw(&[2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 1]).put(NDA_DST, &[10, 0, 0, 2]);
        body.put(NDA_LLADDR, &[2, 0, 0, 0, 0, 9]);
        let told = tell(body.bytes(), &[(3, "eth0".to_owned())]).expect("whole");
        let wanted = json!({"address": "10.0.0.2", "hardware": "02:00:00:00:00:09", "dev": "eth0", "state": "reachable"});
        assert_eq!(told, wanted);
        assert!(all().is_ok());
    }
}
