//! The ethtool interface by `ioctl` (`include/uapi/linux/ethtool.h`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

const SIOCETHTOOL: u64 = 0x8946;
/// Room behind a command: drivers answer with as many statistics as they have by then, whatever they said before.
const ROOM: usize = 1 << 16;

/// Carries out a command: `data` is its structure, command first, and holds the answer afterwards, with room behind it.
pub fn command(socket: &impl AsFd, dev: &str, data: &mut Vec<u8>) -> io::Result<()> {
    data.resize(data.len() + ROOM, 0);
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name[..libc::IFNAMSIZ - 1].iter_mut().zip(dev.bytes()) {
        *to = from as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data.as_mut_ptr().cast() },
    };
    // SAFETY: `request` is a whole ifreq whose data points to a command with ample room; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCETHTOOL, &raw mut request) }).map(drop)
}

/// Sets one switch (`ETHTOOL_STSO` and the like) of a device in the socket's namespace.
pub fn set(socket: &impl AsFd, dev: &str, command: u32, data: u32) -> io::Result<()> {
    let mut value = [command.to_ne_bytes(), data.to_ne_bytes()].concat();
    self::command(socket, dev, &mut value)
}
