//! Addresses and socket options of a flow, the same for all kinds.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::sys::time::SECOND_NS;
use crate::kernel::sys::{self, socket};
use crate::plan::{Flow, FIRST_PORT};
use crate::words;

use super::holder;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// What the kernel counts a connection's queue by when many flows start at once.
pub(super) const BACKLOG: i32 = 128;

/// What the kernel takes of seconds and of probes (`MAX_TCP_KEEPIDLE`, `MAX_TCP_KEEPCNT`).
const MAX_KEEPALIVE_S: i32 = 32767;

const MAX_KEEPALIVE_PROBES: i32 = 127;

pub(crate) fn address(text: &str, port: u16) -> Result<SocketAddr> {
    let ip: IpAddr =
        text.parse().map_err(|_| Error::new("plan", format!("{text:?} is not an IPv4 or IPv6 address")))?;
    Ok(SocketAddr::new(ip, port))
}

/// The same port at every address of the node, of the same family.
pub(super) fn everywhere(at: SocketAddr) -> SocketAddr {
    let ip = if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, at.port())
}

/// Opens a socket and binds it to an address that must be this node's.
pub(crate) fn bound(at: SocketAddr, kind: i32, protocol: i32) -> Result<OwnedFd> {
    let what = if protocol == libc::IPPROTO_MPTCP { "open a socket of MPTCP" } else { "open a socket" };
    let socket = sys::socket::open(socket::family(at), kind, protocol).context(what)?;
    if at.port() == 0 && kind == libc::SOCK_STREAM {
        choose_port_late(&socket)?;
    }
    bind(&socket, at)?;
    Ok(socket)
}

/// Lets the kernel choose a port when it knows where the connection goes.
pub(super) fn choose_port_late(socket: &OwnedFd) -> Result<()> {
    sys::options::set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1_i32)
        .context("set IP_BIND_ADDRESS_NO_PORT")
}

pub(super) fn bind(socket: &OwnedFd, at: SocketAddr) -> Result<()> {
    sys::options::set_option(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1_i32)
        .context("set SO_REUSEADDR")?;
    socket::bind(socket, at).map_err(|cause| refused(at, &cause))
}

/// Why a socket cannot be bound.
fn refused(at: SocketAddr, cause: &io::Error) -> Error {
    let error = Error::system(format_args!("bind to {at}"), cause).kind("flow");
    match cause.raw_os_error() {
        Some(libc::EADDRINUSE) => {
            let holder = holder::of(at.port()).map(|words| format!(": {words}")).unwrap_or_default();
            Error { message: error.message + &holder, ..error }.hint(format!(
                "Flows listen on port {FIRST_PORT} and those after it: free them for the experiment."
            ))
        }
        Some(libc::EADDRNOTAVAIL) => {
            error.hint(format!("{} is not an address of this host: see `ip address`.", at.ip()))
        }
        _ => error.hint("The address must be one of the node's, the port free there"),
    }
}

/// Buffers beyond `net.core.wmem_max` are granted, as the plan's word counts.
pub(super) fn buffers(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    let wanted = [
        (flow.sndbuf, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, "SO_SNDBUF"),
        (flow.rcvbuf, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, "SO_RCVBUF"),
    ];
    for (bytes, force, plain, name) in wanted {
        let Some(bytes) = bytes else { continue };
        let bytes = i32::try_from(bytes).map_err(|_| {
            Error::new("plan", format!("{name} of {bytes} bytes is more than a socket can have"))
        })?;
        sys::options::set_option(socket, libc::SOL_SOCKET, force, bytes)
            .or_else(|_| sys::options::set_option(socket, libc::SOL_SOCKET, plain, bytes))
            .context(format_args!("set {name} to {bytes}"))?;
    }
    Ok(())
}

pub(super) fn traffic_class(socket: &OwnedFd, flow: &Flow, to: SocketAddr) -> Result<()> {
    let Some(tos) = flow.tos else { return Ok(()) };
    let (level, name) =
        if to.is_ipv4() { (libc::IPPROTO_IP, libc::IP_TOS) } else { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) };
    sys::options::set_option(socket, level, name, i32::from(tos))
        .context(format_args!("set the traffic class {tos:#04x}"))
}

/// Sets DF and forgets the path MTU that is known (`IP_PMTUDISC_PROBE`), as a search for it has to.
pub(super) fn never_fragment(socket: &OwnedFd, to: SocketAddr) -> Result<()> {
    let (level, name, probe) = if to.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    sys::options::set_option(socket, level, name, probe).context("forbid fragments")
}

pub(crate) fn congestion_control(socket: &OwnedFd, name: Option<&str>) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    match sys::options::set_congestion_control(socket, name) {
        Ok(()) => Ok(()),
        Err(cause) if cause.raw_os_error() == Some(libc::ENOENT) => Err(unknown_congestion_control(name)),
        Err(cause) if cause.raw_os_error() == Some(libc::EPERM) => {
            let allowed = fs::read_to_string(ALLOWED).unwrap_or_default();
            Err(Error::system(format_args!("set congestion control {name}"), &cause).kind("flow").hint(
                format!(
                "Without CAP_NET_ADMIN only those of net.ipv4.tcp_allowed_congestion_control can be had: {}.",
                allowed.trim()
            ),
            ))
        }
        Err(cause) => Err(Error::system(format_args!("set congestion control {name}"), &cause).kind("flow")),
    }
}

fn unknown_congestion_control(name: &str) -> Error {
    let list = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let known: Vec<&str> = list.split_whitespace().collect();
    let near = words::nearest(name, known.iter().copied());
    let hint = near.map_or_else(String::new, |word| format!("Did you mean {word}?"));
    let message = format!("no congestion control {name:?}; this kernel has: {}", known.join(" "));
    Error::new(UNSUPPORTED, message).hint(hint)
}

pub(super) fn tcp_number(socket: &OwnedFd, option: i32, what: &str, value: Option<i32>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    sys::options::set_option(socket, libc::IPPROTO_TCP, option, value)
        .context(format_args!("set {what} to {value}"))
}

/// Has the kernel ask a silent peer whether it is still there; a listener's connections inherit it.
pub(super) fn keepalive(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    if !flow.keepalive {
        return Ok(());
    }
    sys::options::set_option(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1_i32).context("set SO_KEEPALIVE")
}

/// After what silence the kernel asks, how long after that again, and how many times; `None` is as its sysctls say.
#[derive(Clone, Copy)]
pub(super) struct Keepalive {
    time_s: Option<i32>,
    interval_s: Option<i32>,
    probes: Option<i32>,
}

impl Keepalive {
    pub(super) fn of(flow: &Flow) -> Result<Self> {
        let seconds = |ns: Option<i64>| ns.map(|ns| within(ns / SECOND_NS, MAX_KEEPALIVE_S, "s")).transpose();
        Ok(Self {
            time_s: seconds(flow.keepalive_time_ns)?,
            interval_s: seconds(flow.keepalive_interval_ns)?,
            probes: flow
                .keepalive_probes
                .map(|probes| within(probes.into(), MAX_KEEPALIVE_PROBES, "probes"))
                .transpose()?,
        })
    }

    /// Sets them; a timer that runs already is set anew.
    pub(super) fn set(self, socket: &OwnedFd) -> Result<()> {
        tcp_number(socket, libc::TCP_KEEPIDLE, "TCP_KEEPIDLE", self.time_s)?;
        tcp_number(socket, libc::TCP_KEEPINTVL, "TCP_KEEPINTVL", self.interval_s)?;
        tcp_number(socket, libc::TCP_KEEPCNT, "TCP_KEEPCNT", self.probes)
    }
}

fn within(number: i64, most: i32, unit: &str) -> Result<i32> {
    i32::try_from(number)
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| Error::new("plan", format!("keepalive of {number} {unit} is not 1 to {most} {unit}")))
}

/// How long data may go unacknowledged before the kernel gives the connection up.
pub(super) fn user_timeout(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    let Some(limit_ns) = flow.user_timeout_ns else { return Ok(()) };
    // Of 0 the kernel would make no limit at all.
    let whole_ms = i32::try_from(limit_ns / 1_000_000).ok().filter(|&ms| ms > 0).ok_or_else(|| {
        Error::new("plan", format!("a user timeout of {limit_ns} ns is not 1 to {} ms", i32::MAX))
    })?;
    tcp_number(socket, libc::TCP_USER_TIMEOUT, "TCP_USER_TIMEOUT", Some(whole_ms))
}

/// Has `connect` wait for the first data, which go with the SYN where a cookie is known.
pub(super) fn fast_open_connect(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    tcp_number(socket, libc::TCP_FASTOPEN_CONNECT, "TCP_FASTOPEN_CONNECT", flow.fastopen.then_some(1))
}

/// How long a client waits for its connection, and how long for its response.
pub(super) fn patience(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    let Some(patience_ns) = flow.patience_ns else { return Ok(()) };
    let patience =
        libc::timeval { tv_sec: patience_ns / 1_000_000_000, tv_usec: patience_ns % 1_000_000_000 / 1000 };
    for (name, says) in [(libc::SO_SNDTIMEO, "SO_SNDTIMEO"), (libc::SO_RCVTIMEO, "SO_RCVTIMEO")] {
        sys::options::set_option(socket, libc::SOL_SOCKET, name, patience)
            .context(format_args!("set {says}"))?;
    }
    Ok(())
}

/// Lets a listener take data from SYNs, of so many connections at once.
pub(super) fn fast_open_listen(socket: &OwnedFd, flow: &Flow) -> Result<()> {
    tcp_number(socket, libc::TCP_FASTOPEN, "TCP_FASTOPEN", flow.fastopen.then_some(BACKLOG))
}

/// Whose connections a flow's listener takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(SocketAddr);

impl Peer {
    /// The flow's sender; where no port is given for it, it may have any.
    pub fn of(flow: &Flow) -> Result<Self> {
        address(&flow.src, flow.sport).map(Self)
    }

    /// One of the sender's that chooses a new port each time.
    pub fn with_any_port(self) -> Self {
        Self(SocketAddr::new(self.0.ip(), 0))
    }

    fn is(self, other: SocketAddr) -> bool {
        let Self(own) = self;
        (own.ip().is_unspecified() || own.ip() == other.ip())
            && (own.port() == 0 || own.port() == other.port())
    }

    /// Waits for a connection of the flow's own. Those of others are reset; the last of them is noted in `stranger`.
    pub fn accept(self, listener: &OwnedFd, stranger: &mut Option<SocketAddr>) -> io::Result<OwnedFd> {
        loop {
            let (socket, from) = socket::accept(listener)?;
            match from {
                Some(from) if !self.is(from) => {
                    *stranger = Some(from);
                    socket::reset_on_close(&socket);
                }
                _ => return Ok(socket),
            }
        }
    }
}

/// What a flow reports of a call that failed: the experiment goes on.
pub(super) fn outcome(what: &str, cause: &io::Error) -> String {
    format!("{what}: {cause}")
}
