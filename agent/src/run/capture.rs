//! The packets of a command's network, as a file of pcap with times to the nanosecond: what a command's scripts are compared by.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::kernel::sys::passing::{Passed, Passing};

/// Times in nanoseconds, in this machine's byte order.
const MAGIC: u32 = 0xa1b2_3c4d;
/// `LINKTYPE_LINUX_SLL2`: the device and the direction in front of each packet.
const LINK: u32 = 276;
const LINK_HEADER: u32 = 20;
const LONGEST: u32 = 1 << 18;
const LOOPBACK: u16 = libc::ARPHRD_LOOPBACK;

/// A capture that goes on.
#[derive(Debug)]
pub struct Capture {
    passing: Passing,
    file: BufWriter<File>,
}

impl Capture {
    /// Begins in this thread's network.
    ///
    /// # Errors
    /// The kernel refuses it, or the file cannot be made.
    pub fn begin(path: &Path) -> Result<Self> {
        let mut file = BufWriter::new(File::create(path).context("create the file of a capture")?);
        file.write_all(&head()).context("write a capture")?;
        Ok(Self { passing: Passing::open().context("listen to a network's packets")?, file })
    }

    /// Writes what has come since the last time; what stays within the machine is left out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn go_on(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        self.passing.drain(|packet| {
            if packet.hardware != LOOPBACK {
                put(&mut bytes, packet);
            }
        });
        self.file.write_all(&bytes).context("write a capture")
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The file cannot be written, or more packets came than there was room for.
    pub fn end(mut self) -> Result<()> {
        self.go_on()?;
        self.file.flush().context("write a capture")?;
        match self.passing.missed().context("ask for lost packets")? {
            0 => Ok(()),
            count => Err(Error::new("capture", format!("there was no room for {count} packets"))),
        }
    }
}

fn head() -> Vec<u8> {
    let mut head = MAGIC.to_ne_bytes().to_vec();
    head.extend(2_u16.to_ne_bytes());
    head.extend(4_u16.to_ne_bytes());
    head.extend([0; 8]);
    head.extend(LONGEST.to_ne_bytes());
    head.extend(LINK.to_ne_bytes());
    head
}

fn put(to: &mut Vec<u8>, packet: Passed<'_>) {
    let (seconds, rest) =
        (packet.realtime_ns.div_euclid(1_000_000_000), packet.realtime_ns.rem_euclid(1_000_000_000));
    let kept = packet.bytes.len() as u32 + LINK_HEADER;
    for word in [seconds as u32, rest as u32, kept, packet.length + LINK_HEADER] {
        to.extend(word.to_ne_bytes());
    }
    to.extend(packet.protocol.to_be_bytes());
    to.extend([0; 2]);
    to.extend(packet.ifindex.to_be_bytes());
    to.extend(packet.hardware.to_be_bytes());
    to.extend([packet.direction, 0]);
    to.extend([0; 8]);
    to.extend(packet.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_its_time_its_direction_and_its_bytes() {
        let packet = Passed {
            bytes: &[0x45, 0, 0, 20],
            length: 20,
            realtime_ns: 1_700_000_000_000_000_007,
            protocol: 0x0800,
            ifindex: 2,
            hardware: 0xfffe,
            direction: 4,
        };
        let mut bytes = Vec::new();
        put(&mut bytes, packet);
        assert_eq!(bytes.len(), 16 + 20 + 4);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!([word(0), word(4), word(8), word(12)], [1_700_000_000, 7, 24, 40]);
        assert_eq!(bytes[16..36], [8, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xfe, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[36..], [0x45, 0, 0, 20]);
        assert_eq!(head().len(), 24);
    }
}
