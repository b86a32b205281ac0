//! The ethtool interface by `ioctl` (`include/uapi/linux/ethtool.h`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::check;
use super::visit::Visit;

const SIOCETHTOOL: u64 = 0x8946;
/// Room behind a command: drivers answer with as many statistics as they have by then, whatever they said before.
const ROOM: usize = 1 << 16;

/// Carries out a command: `data` is its structure, command first, and holds the answer afterwards, with room behind it.
pub fn command(socket: &impl AsFd, dev: &str, data: &mut Vec<u8>) -> io::Result<()> {
    data.resize(data.len() + ROOM, 0);
    let mut request = request(dev, data.as_mut_ptr().cast());
    // SAFETY: `request` is a whole ifreq whose data points to a command with ample room; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCETHTOOL, &raw mut request) }).map(drop)
}

fn request(dev: &str, data: *mut libc::c_char) -> libc::ifreq {
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name[..libc::IFNAMSIZ - 1].iter_mut().zip(dev.bytes()) {
        *to = from as libc::c_char;
    }
    libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data } }
}

/// Puts switches (`ETHTOOL_STSO` and the like) of devices on or off by one visit to the kernel; the devices are those of the socket's namespace.
///
/// # Errors
/// The first device that refuses, and why.
pub fn switch<'a>(socket: &impl AsFd, all: &[(&'a str, u32, bool)]) -> Result<(), (&'a str, io::Error)> {
    // `struct ethtool_value`: the switch, and what it becomes.
    let mut values: Vec<[u32; 2]> = all.iter().map(|(_, switch, on)| [*switch, u32::from(*on)]).collect();
    let of =
        |((dev, ..), value): (&(&str, u32, bool), &mut [u32; 2])| request(dev, value.as_mut_ptr().cast());
    let mut requests: Vec<_> = all.iter().zip(&mut values).map(of).collect();
    let mut visit = Visit::new();
    let to = socket.as_fd().as_raw_fd() as u64;
    let ask = |request: &mut libc::ifreq| {
        let at = std::ptr::from_mut(request) as u64;
        // SAFETY: a whole ifreq, whose data are the eight bytes that such a command reads; both outlive the list.
        unsafe { visit.call(libc::SYS_ioctl, &[to, SIOCETHTOOL, at]) }
    };
    let asked: Vec<_> = requests.iter_mut().map(ask).collect();
    let results = visit.carry_out().map_err(|cause| (all.first().map_or("", |(dev, ..)| *dev), cause))?;
    let refused = |((dev, ..), call): (&(&'a str, u32, bool), _)| {
        results.of(call).map(drop).map_err(|cause| (*dev, cause))
    };
    all.iter().zip(asked).try_for_each(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_that_refuses_a_switch_is_named() {
        const SWITCH: u32 = 0x24;
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let refused = switch(&socket, &[("no such", SWITCH, false), ("nor this", SWITCH, true)]);
        let (dev, cause) = refused.expect_err("there is no such device");
        assert_eq!((dev, cause.raw_os_error()), ("no such", Some(libc::ENODEV)));
        assert!(switch(&socket, &[]).is_ok(), "nothing to set");
    }
}
