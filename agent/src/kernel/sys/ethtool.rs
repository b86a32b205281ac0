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

/// `struct ethtool_value`: a switch (`ETHTOOL_STSO` and the like) and what it becomes.
type Switch = [u32; 2];

/// Switches of devices, to be set together.
#[derive(Debug, Default)]
pub struct Switches<'a> {
    devices: Vec<&'a str>,
    values: Vec<Switch>,
}

impl<'a> Switches<'a> {
    pub fn off(&mut self, dev: &'a str, switch: u32) {
        self.devices.push(dev);
        self.values.push([switch, 0]);
    }

    /// Sets them by one visit to the kernel; the devices are those of the socket's namespace.
    ///
    /// # Errors
    /// The first device that refuses, and why.
    pub fn set(mut self, socket: &impl AsFd) -> Result<(), (&'a str, io::Error)> {
        let of = |(dev, value): (&&str, &mut Switch)| request(dev, value.as_mut_ptr().cast());
        let mut requests: Vec<_> = self.devices.iter().zip(&mut self.values).map(of).collect();
        let mut visit = Visit::new();
        let to = socket.as_fd().as_raw_fd() as u64;
        let asked = requests.iter_mut().map(|request| {
            let at = &raw mut *request as u64;
            // SAFETY: a whole ifreq, whose data are the eight bytes that such a command reads; both outlive the list.
            unsafe { visit.call(libc::SYS_ioctl, &[to, SIOCETHTOOL, at]) }
        });
        let asked: Vec<_> = asked.collect();
        let unasked = |cause| (self.devices.first().copied().unwrap_or_default(), cause);
        let results = visit.carry_out().map_err(unasked)?;
        let done = self.devices.iter().zip(asked);
        done.into_iter().try_for_each(|(dev, call)| results.of(call).map(drop).map_err(|cause| (*dev, cause)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_that_refuses_a_switch_is_named() {
        const SWITCH: u32 = 0x24;
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut switches = Switches::default();
        switches.off("no such", SWITCH);
        switches.off("nor this", SWITCH);
        let (dev, cause) = switches.set(&socket).expect_err("there is no such device");
        assert_eq!((dev, cause.raw_os_error()), ("no such", Some(libc::ENODEV)));
        assert!(Switches::default().set(&socket).is_ok(), "nothing to set");
    }
}
