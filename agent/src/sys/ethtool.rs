//! The old ethtool interface: one `ioctl` for each switch.

use std::io;
use std::os::fd::AsRawFd;

use super::check;

const SIOCETHTOOL: u64 = 0x8946;

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Sets one switch (`ETHTOOL_STSO` and the like) of a device in the socket's namespace.
pub fn set(socket: &impl AsRawFd, dev: &str, command: u32, data: u32) -> io::Result<()> {
    let mut value = Value { command, data };
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name[..libc::IFNAMSIZ - 1].iter_mut().zip(dev.bytes()) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() },
    };
    // SAFETY: `request` is a whole ifreq whose data points to a whole ethtool_value; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) }).map(drop)
}
