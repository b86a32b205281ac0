//! Programs at a device's clsact: loaded, and hung where packets leave or arrive.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::error::{Error, Result};
use crate::kernel::netlink::{Message, Socket};
use crate::kernel::sys::bpf::load_classifier;
use crate::tc::{self, Device, Place};

const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const ACT_DIRECT: u32 = 1;
/// The first of all filters there.
const PRIORITY: u32 = 1 << 16;

/// Which of a device's packets a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Those that are about to enter its queue.
    Leaving,
    /// Those that arrive at it.
    Arriving,
}

/// Loads a program; a refused one is loaded again for the verifier's words.
///
/// # Errors
/// The verifier's words, after `load NAME's program`.
pub fn load(instructions: &[u64], name: &str) -> Result<OwnedFd> {
    const LICENSE: &std::ffi::CStr = c"Apache-2.0";
    load_classifier(instructions, LICENSE, &mut []).or_else(|cause| {
        let mut log = vec![0; 1 << 16];
        load_classifier(instructions, LICENSE, &mut log).map_err(|_| {
            let words = String::from_utf8_lossy(&log);
            let words = words.trim_end_matches('\0').trim();
            Error::new("topology", format!("load a {name}'s program: {cause}: {words}"))
        })
    })
}

/// Puts a program on a device, which gets a clsact if it has none.
///
/// # Errors
/// What the kernel refuses.
pub fn attach(program: &OwnedFd, name: &str, side: Side, device: &Device, socket: &mut Socket) -> Result<()> {
    if !has_clsact(socket, device)? {
        let clsact = tc::parse("qdisc clsact", device)?;
        tc::apply(&[clsact], socket, |work| work())?;
    }
    socket.request(&filter(device, program, name, side)).map(drop)
}

/// Whether the plan's own lines, or another hand, put one there.
pub(crate) fn has_clsact(socket: &mut Socket, device: &Device) -> Result<bool> {
    let mut found = false;
    tc::dump(socket, |row| found |= row.ifindex == device.ifindex && row.kind == "clsact")?;
    Ok(found)
}

fn filter(device: &Device, program: &OwnedFd, name: &str, side: Side) -> Message {
    let protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
    let parent = match side {
        Side::Leaving => tc::TC_H_CLSACT_EGRESS,
        Side::Arriving => tc::TC_H_CLSACT_INGRESS,
    };
    let what = format!("put a {name} on {}", device.name);
    let place = Place { parent, handle: 0 };
    let mut order = tc::tcmsg(what, libc::RTM_NEWTFILTER, device, &place, PRIORITY | protocol);
    order.body.text(tc::TCA_KIND, "bpf").nest(tc::TCA_OPTIONS, |options| {
        options
            .u32(TCA_BPF_FD, program.as_raw_fd() as u32)
            .text(TCA_BPF_NAME, name)
            .u32(TCA_BPF_FLAGS, ACT_DIRECT);
    });
    order
}
