//! Kernel settings under `/proc/sys`: those of networking, and the few of the machine that measurements depend on.

use std::path::Path;

use serde_json::Value;

use super::{error, Setting};
use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::sysctl;

/// What a change may name. Others can make the kernel start programs (`kernel.core_pattern`), which no measurement needs.
const ALLOWED: [&str; 9] = [
    "net.",
    "vm.",
    "kernel.sched_",
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.watchdog",
    "kernel.soft_watchdog",
    "kernel.timer_migration",
    "kernel.perf_event_max_sample_rate",
];

/// Writing these also writes the same setting of every device, whose own values would be lost
/// (`devinet_sysctl_forward`, `addrconf_sysctl_disable` and their like).
const SPREADING: [&str; 3] = ["forwarding", "disable_ipv6", "disable_policy"];

const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

pub(super) struct Sysctl {
    name: String,
    value: String,
}

impl Sysctl {
    pub(super) fn new(name: String, value: &Value) -> Result<Self> {
        let name = dotted(name);
        if !ALLOWED.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(error(format!("sysctl {name} is none that Rush Hour changes"))
                .hint(format!("It changes those that begin with: {}.", ALLOWED.join(" "))));
        }
        if spreads(&name) {
            return Err(error(format!(
                "sysctl {name} overwrites the values of all devices, which could not be put back"
            ))
            .hint("Name the devices: net.ipv4.conf.DEVICE.forwarding."));
        }
        let value = match value {
            Value::String(text) => words(text),
            Value::Number(number) => number.to_string(),
            Value::Bool(on) => u8::from(*on).to_string(),
            Value::Array(parts) => {
                let parts = parts.iter().map(|part| part.as_str().map_or(part.to_string(), words));
                parts.collect::<Vec<String>>().join(" ")
            }
            other => return Err(error(format!("{other} is not a value of sysctl {name}"))),
        };
        if value.chars().any(char::is_control) {
            return Err(error(format!("the value of sysctl {name} holds a control character")));
        }
        Ok(Self { name, value })
    }
}

/// The name as it is usually written, with dots.
fn dotted(name: String) -> String {
    let slashes = name.find(['.', '/']).is_some_and(|at| name[at..].starts_with('/'));
    if !slashes {
        return name;
    }
    name.chars()
        .map(|letter| match letter {
            '/' => '.',
            '.' => '/',
            other => other,
        })
        .collect()
}

fn spreads(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let shared = name.contains(".conf.all.") || name.contains(".conf.default.");
    name == "net.ipv4.ip_forward" || shared && SPREADING.contains(&last)
}

/// That the kernel has an algorithm, or a module of it.
fn is_known(algorithm: &str) -> Result<()> {
    let available = sysctl::read("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let release = sysctl::read("kernel.osrelease").unwrap_or_default();
    let module = |end| {
        Path::new("/lib/modules").join(&release).join(format!("kernel/net/ipv4/tcp_{algorithm}.ko{end}"))
    };
    let has_module = ["", ".xz", ".zst", ".gz"].into_iter().any(|end| module(end).exists());
    if has_module || available.split_whitespace().any(|known| known == algorithm) {
        return Ok(());
    }
    let hint =
        format!("It has: {available}. Others are options CONFIG_TCP_CONG_… or modules tcp_… of the kernel.");
    Err(Error::new(UNSUPPORTED, format!("this kernel has no congestion control {algorithm:?}")).hint(hint))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Whether two values say the same: the kernel writes numbers in its own way.
fn equal(one: &str, other: &str) -> bool {
    let number = |word: &str| word.parse::<i128>().ok();
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), other.split(' ').collect());
    let same = |(a, b): (&&str, &&str)| a == b || number(a).is_some() && number(a) == number(b);
    one.len() == other.len() && one.iter().zip(&other).all(same)
}

impl Setting for Sysctl {
    fn key(&self) -> String {
        format!("sysctl {}", self.name)
    }

    /// What lies outside `net.` is one for all namespaces. Inside it the kernel shows a namespace only what is its own,
    /// or lets it only be read.
    fn is_global(&self) -> bool {
        !self.name.starts_with("net.")
    }

    fn read(&self) -> Result<Value> {
        sysctl::exists(&self.name)?;
        if !sysctl::is_writable(&self.name) {
            return Err(Error::new(UNSUPPORTED, format!("sysctl {} cannot be changed here", self.name))
                .hint("It belongs to the whole machine, or the kernel only shows it."));
        }
        let now = sysctl::read(&self.name).map_err(|cause| {
            error(format!("{}: it could not be put back", cause.message))
                .hint("Settings that only take orders, such as net.ipv4.route.flush, are not changed.")
        })?;
        Ok(words(&now).into())
    }

    fn wanted(&self, _now: &Value) -> Result<Value> {
        if self.name == CONGESTION_CONTROL {
            is_known(&self.value)?;
        }
        Ok(self.value.clone().into())
    }

    fn write(&self, value: &Value) -> Result<()> {
        sysctl::write(&self.name, value.as_str().unwrap_or_default())
    }

    fn is_already(&self, now: &Value, wanted: &Value) -> bool {
        self.is_same(now, wanted)
    }

    fn became(&self, after: &Value, wanted: &Value) -> bool {
        self.is_same(after, wanted)
    }

    fn is_same(&self, one: &Value, other: &Value) -> bool {
        equal(one.as_str().unwrap_or_default(), other.as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_may_be_written_as_text_numbers_or_lists() {
        let value = |value| Sysctl::new("net.ipv4.tcp_rmem".to_owned(), &value).expect("a setting").value;
        assert_eq!(value(json!("4096\t87380  67108864")), "4096 87380 67108864");
        assert_eq!(value(json!([4096, "87380", 67_108_864])), "4096 87380 67108864");
        assert_eq!((value(json!(1)), value(json!(true))), ("1".to_owned(), "1".to_owned()));
    }

    #[test]
    fn what_starts_programs_or_cannot_be_undone_is_refused() {
        for name in ["kernel.core_pattern", "kernel/modprobe", "fs.file-max", "net.ipv4.ip_forward"] {
            assert!(Sysctl::new(name.to_owned(), &json!("1")).is_err(), "{name}");
        }
        assert!(Sysctl::new("net.ipv6.conf.all.disable_ipv6".to_owned(), &json!(1)).is_err());
        assert!(Sysctl::new("net.ipv4.conf.eth0.forwarding".to_owned(), &json!(1)).is_ok());
        assert!(Sysctl::new("net.ipv4.tcp_ecn".to_owned(), &json!("1\n2\u{1}")).is_err());
        let flush = Sysctl::new("net.ipv4.route.flush".to_owned(), &json!(1)).expect("a name").read();
        assert!(flush.is_err());
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(equal("4096 087 1", "4096 87 1"));
        assert!(!equal("4096 87", "4096 87 1"));
        assert!(!equal("cubic", "reno"));
    }
}
