//! Who is there, and what the time is.

use std::fs;

use serde_json::json;

use super::arguments::{Arguments, Nothing};
use super::{Answer, Server, FORMAT};
use crate::error::Result;
use crate::kernel::sys;
use crate::kernel::sys::process;

/// Capabilities by their number (`include/uapi/linux/capability.h`).
const CAPABILITIES: [&str; 41] = [
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
];

pub fn hello(server: &Server, arguments: Arguments) -> Result<Answer> {
    arguments.read::<Nothing>()?;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Answer::from(json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "hostname": read("/proc/sys/kernel/hostname"),
        "boot_id": read("/proc/sys/kernel/random/boot_id"),
        "uid": process::user(),
        "pid": std::process::id(),
        "kernel": {
            "release": read("/proc/sys/kernel/osrelease"),
            "version": read("/proc/sys/kernel/version"),
            "machine": std::env::consts::ARCH,
        },
        "capabilities": capabilities(&read("/proc/self/status")),
        "cpus": cpus,
        "warnings": server.warnings,
    })))
}

pub fn clock(_: &Server, arguments: Arguments) -> Result<Answer> {
    arguments.read::<Nothing>()?;
    Ok(Answer::from(
        json!({"monotonic_ns": sys::time::monotonic_ns(), "realtime_ns": sys::time::realtime_ns()}),
    ))
}

/// What this process may do, from the line `CapEff` of its status.
fn capabilities(status: &str) -> Vec<&'static str> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name).collect()
}

/// Whether this process has a capability.
pub fn may(capability: &str) -> bool {
    capabilities(&fs::read_to_string("/proc/self/status").unwrap_or_default()).contains(&capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_told_by_name() {
        let found = capabilities("Name:\tx\nCapEff:\t0000000000003001\nCapBnd:\tffffffffffffffff\n");
        assert_eq!(found, ["chown", "net_admin", "net_raw"]);
        assert_eq!(capabilities("CapEff:\t000001ffffffffff\n").last(), Some(&"checkpoint_restore"));
        assert!(capabilities("").is_empty());
    }
}
