//! The last words of TCP sockets: what the kernel counted of each, said when it is destroyed (`SKNLGRP_INET_TCP_DESTROY`,
//! `include/uapi/linux/sock_diag.h`). By them a connection that lives between two samples is known as well as any other.

use std::collections::BTreeSet;

use crate::error::{Result, UNSUPPORTED};
use crate::kernel::netlink::Socket;
use crate::kernel::netns::Nodes;
use crate::plan::Plan;

/// TCP over IPv4, and over IPv6.
const GROUPS: [u32; 2] = [1, 3];

/// A listener in each node that is followed.
#[derive(Debug)]
pub struct Gone(Vec<Socket>);

impl Gone {
    /// Begins to listen; hears nothing where nothing is to be found.
    ///
    /// # Errors
    /// A kernel that does not tell.
    pub fn listen(plan: &Plan, nodes: &Nodes) -> Result<Self> {
        let followed: BTreeSet<&str> =
            plan.found.iter().flat_map(|found| &found.nodes).map(String::as_str).collect();
        let listener = |node| nodes.within(node, || Socket::listening(libc::NETLINK_SOCK_DIAG, &GROUPS));
        let sockets = followed.into_iter().map(listener).collect::<Result<_>>();
        Ok(Self(sockets.map_err(|error| {
            error.kind(UNSUPPORTED).hint("Sockets are followed to their end with CONFIG_INET_TCP_DIAG.")
        })?))
    }

    /// Gives `visit` what was said of each socket (`struct inet_diag_msg` and attributes); gives how often some found no room.
    pub fn read(&mut self, mut visit: impl FnMut(&[u8])) -> Result<u64> {
        let mut lost = 0;
        for socket in &mut self.0 {
            lost += u64::from(!socket.heard(&mut visit)?);
        }
        Ok(lost)
    }
}
