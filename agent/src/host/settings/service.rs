//! Services of systemd, stopped for a measurement and started again.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{error, Setting};
use crate::error::{Context, Result};
use crate::kernel::tool;

/// Stopping these would cut off whoever asks, or the machine from its network.
const VITAL: [&str; 8] =
    ["ssh", "sshd", "dbus", "network", "networking", "NetworkManager", "wpa_supplicant", "dhcpcd"];

pub(super) struct Service {
    unit: String,
    state: &'static str,
}

impl Service {
    pub(super) fn new(name: &str, state: &str) -> Result<Self> {
        let plain = name.strip_suffix(".service").unwrap_or(name);
        let letters =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'@' | b'.' | b':');
        if plain.is_empty() || plain.starts_with('-') || plain.len() > 200 || !plain.bytes().all(letters) {
            return Err(error(format!("{name:?} is not the name of a service")));
        }
        if VITAL.contains(&plain) || plain.starts_with("systemd-") || plain.starts_with("ssh") {
            return Err(error(format!(
                "{plain} keeps the machine reachable: it is not stopped or started here"
            )));
        }
        let state = match state {
            "stopped" => "stopped",
            "running" => "running",
            _ => return Err(error(format!("a service is stopped or running, not {state:?}"))),
        };
        Ok(Self { unit: format!("{plain}.service"), state })
    }

    fn systemctl(&self, words: &[&str]) -> Result<String> {
        let program = tool::require("systemctl")?;
        let output = Command::new(program)
            .args(words)
            .args(["--no-ask-password", "--no-pager", "--", &self.unit])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .context("start systemctl")?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(error(format!("systemctl {} {}: {}", words.join(" "), self.unit, said.trim())))
    }
}

/// Whether a unit runs, by the words of `systemctl show`.
fn state(shown: &str) -> &'static str {
    let active = shown.lines().find_map(|line| line.strip_prefix("ActiveState="));
    match active {
        Some("active" | "activating" | "reloading") => "running",
        _ => "stopped",
    }
}

impl Setting for Service {
    fn key(&self) -> String {
        format!("service {}", self.unit)
    }

    fn is_global(&self) -> bool {
        true
    }

    /// Where no systemd runs, or none knows the unit, it is stopped as well as can be.
    fn read(&self) -> Result<Value> {
        if !Path::new("/run/systemd/system").is_dir() {
            return Ok("stopped".into());
        }
        Ok(state(&self.systemctl(&["show", "--property=ActiveState"])?).into())
    }

    fn wanted(&self, _now: &Value) -> Result<Value> {
        Ok(self.state.into())
    }

    fn write(&self, value: &Value) -> Result<()> {
        self.systemctl(&[if value == "running" { "start" } else { "stop" }]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_units_and_nothing_else() {
        assert!(
            Service::new("irqbalance", "stopped").is_ok_and(|service| service.unit == "irqbalance.service")
        );
        for wrong in
            ["", "-H root@elsewhere", "--force", "a b", "a;b", "ssh.service", "sshd", "systemd-networkd"]
        {
            assert!(Service::new(wrong, "stopped").is_err(), "{wrong}");
        }
        assert!(Service::new("tuned", "masked").is_err());
    }

    #[test]
    fn a_unit_that_nobody_knows_is_stopped() {
        assert_eq!(state("ActiveState=active\n"), "running");
        assert_eq!(state("ActiveState=inactive\n"), "stopped");
        assert_eq!(state(""), "stopped");
    }
}
