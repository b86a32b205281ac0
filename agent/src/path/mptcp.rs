//! The path manager of a node: the limits of its connections, and the addresses from which they open subflows
//! (`include/uapi/linux/mptcp_pm.h`, generic netlink).

use super::addresses::{address, family, octets};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::netlink::{attribute, u16_at, Message, Socket};
use crate::plan::{Endpoint, Mptcp};

/// The family that knows all others (`include/uapi/linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

const FAMILY: &str = "mptcp_pm";
const VERSION: u8 = 1;
const CMD_ADD_ADDR: u8 = 1;
const CMD_SET_LIMITS: u8 = 5;
const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ADDR_ATTR_FAMILY: u16 = 1;
const ADDR_ATTR_ADDR4: u16 = 3;
const ADDR_ATTR_ADDR6: u16 = 4;
const ADDR_ATTR_FLAGS: u16 = 6;
const FLAG_SIGNAL: u32 = 1 << 0;
const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_BACKUP: u32 = 1 << 2;
/// Says that an attribute is made of others.
const NESTED: u16 = 1 << 15;

/// `struct genlmsghdr`.
fn header(command: u8, version: u8) -> [u8; 4] {
    [command, version, 0, 0]
}

/// Tells the path manager of the node it is called in.
///
/// # Errors
/// A kernel without MPTCP, or without this path manager.
pub(super) fn set_up(asked: &Mptcp) -> Result<()> {
    let mut socket = Socket::open(libc::NETLINK_GENERIC)?;
    let family = number(&mut socket)?;
    let mut orders = vec![limits(family, asked.subflows, asked.accepted)];
    for endpoint in &asked.endpoints {
        orders.push(endpoint_of(family, endpoint)?);
    }
    orders.iter().try_for_each(|order| socket.request(order))
}

/// The number that this kernel has given to the path manager.
fn number(socket: &mut Socket) -> Result<u16> {
    let mut question = Message::new("ask for MPTCP", GENL_ID_CTRL, 0, &header(CTRL_CMD_GETFAMILY, 1));
    question.body.text(CTRL_ATTR_FAMILY_NAME, FAMILY);
    let mut found = None;
    let told = socket.ask(&question, |payload| {
        let id = payload.get(4..).and_then(|rest| attribute(rest, CTRL_ATTR_FAMILY_ID));
        found = id.and_then(|id| u16_at(id, 0)).or(found);
    });
    told.ok().and(found).ok_or_else(|| {
        Error::new(UNSUPPORTED, "this kernel has no MPTCP").hint(
            "It takes CONFIG_MPTCP, from Linux 5.10 on; kernels built here before have to be built again.",
        )
    })
}

fn limits(family: u16, subflows: u32, accepted: u32) -> Message {
    let what = format!("let connections have {subflows} more subflows");
    let mut order = Message::new(what, family, 0, &header(CMD_SET_LIMITS, VERSION));
    order.body.u32(ATTR_RCV_ADD_ADDRS, accepted).u32(ATTR_SUBFLOWS, subflows);
    order
}

fn endpoint_of(number: u16, endpoint: &Endpoint) -> Result<Message> {
    let from = address(&endpoint.address)?;
    let (use_of, what) = if endpoint.signal {
        (FLAG_SIGNAL, format!("announce {from}"))
    } else {
        (FLAG_SUBFLOW, format!("open subflows from {from}"))
    };
    let flags = if endpoint.backup { use_of | FLAG_BACKUP } else { use_of };
    let mut order = Message::new(what, number, 0, &header(CMD_ADD_ADDR, VERSION));
    order.body.nest(ATTR_ADDR | NESTED, |own| {
        let kind = if from.is_ipv4() { ADDR_ATTR_ADDR4 } else { ADDR_ATTR_ADDR6 };
        own.u16(ADDR_ATTR_FAMILY, u16::from(family(from)))
            .put(kind, &octets(from))
            .u32(ADDR_ATTR_FLAGS, flags);
    });
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_says_its_address_and_what_it_is_for() {
        let endpoint = |address: &str, backup, signal| Endpoint { address: address.into(), backup, signal };
        let expected = |flags| {
            [
                &[1, 1, 0, 0][..],             // MPTCP_PM_CMD_ADD_ADDR, version
                &[28, 0, 1, 0x80],             // MPTCP_PM_ATTR_ADDR, nested
                &[6, 0, 1, 0, 2, 0, 0, 0],     // AF_INET
                &[8, 0, 3, 0, 10, 0, 1, 1],    // the address
                &[8, 0, 6, 0, flags, 0, 0, 0], // what it is for
            ]
            .concat()
        };
        // MPTCP_PM_ADDR_FLAG_SIGNAL is 1, _SUBFLOW 2, _BACKUP 4.
        for (backup, signal, flags) in [(true, false, 6), (false, true, 1), (true, true, 5)] {
            let order = endpoint_of(30, &endpoint("10.0.1.1", backup, signal)).expect("an order");
            assert_eq!(order.body.bytes(), expected(flags));
        }
        assert!(endpoint_of(30, &endpoint("x", false, false)).is_err());
    }

    #[test]
    fn a_network_has_limits() {
        assert_eq!(
            limits(30, 2, 1).body.bytes(),
            [5, 1, 0, 0, 8, 0, 2, 0, 1, 0, 0, 0, 8, 0, 3, 0, 2, 0, 0, 0]
        );
    }
}
