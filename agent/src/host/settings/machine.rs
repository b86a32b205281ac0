//! What belongs to the CPUs: the governor of their frequency, and which of them take a device's interrupts.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::kinds::device_name;
use super::{error, Setting};
use crate::error::{Error, Result, UNSUPPORTED};

const CPUS: &str = "/sys/devices/system/cpu";
const INTERRUPTS: &str = "/proc/irq";

/// The files that hold the value of each part, and what a part is called.
fn read_all(files: &[(String, PathBuf)]) -> Result<Value> {
    let mut values = Map::new();
    for (name, path) in files {
        let text =
            fs::read_to_string(path).map_err(|cause| error(format!("read {}: {cause}", path.display())))?;
        values.insert(name.clone(), text.trim().into());
    }
    Ok(Value::Object(values))
}

fn write_all(files: &[(String, PathBuf)], value: &Value) -> Result<()> {
    for (name, path) in files {
        let Some(text) = value[name].as_str() else { continue };
        fs::write(path, text)
            .map_err(|cause| error(format!("write {text:?} to {}: {cause}", path.display())))?;
    }
    Ok(())
}

fn everywhere(files: &[(String, PathBuf)], value: &str) -> Value {
    Value::Object(files.iter().map(|(name, _)| (name.clone(), value.into())).collect())
}

pub(super) struct Governor {
    value: String,
    cpus: PathBuf,
}

impl Governor {
    pub(super) fn new(value: String) -> Result<Self> {
        if value.is_empty() || !value.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_') {
            return Err(error(format!("{value:?} is not a governor")));
        }
        Ok(Self { value, cpus: PathBuf::from(CPUS) })
    }

    fn files(&self) -> Result<Vec<(String, PathBuf)>> {
        let entries = fs::read_dir(&self.cpus).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_cpu = |name: &String| {
            name.strip_prefix("cpu")
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        let file = |name: String| {
            let path = self.cpus.join(&name).join("cpufreq/scaling_governor");
            (name, path)
        };
        let files: Vec<_> = names.filter(is_cpu).map(file).filter(|(_, path)| path.exists()).collect();
        if files.is_empty() {
            return Err(Error::new(
                UNSUPPORTED,
                "the frequency of this machine's CPUs is not governed by Linux",
            )
            .hint("A virtual machine has no governor: see that of the machine it runs on."));
        }
        Ok(files)
    }

    fn available(file: &Path) -> Vec<String> {
        let text = fs::read_to_string(file.with_file_name("scaling_available_governors")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }
}

impl Setting for Governor {
    fn key(&self) -> String {
        "governor".to_owned()
    }

    fn is_global(&self) -> bool {
        true
    }

    fn read(&self) -> Result<Value> {
        read_all(&self.files()?)
    }

    fn wanted(&self, _now: &Value) -> Result<Value> {
        let files = self.files()?;
        let available = Self::available(&files[0].1);
        if !available.is_empty() && !available.contains(&self.value) {
            return Err(Error::new(UNSUPPORTED, format!("this machine has no governor {:?}", self.value))
                .hint(format!("It has: {}.", available.join(" "))));
        }
        Ok(everywhere(&files, &self.value))
    }

    fn write(&self, value: &Value) -> Result<()> {
        write_all(&self.files()?, value)
    }
}

pub(super) struct Affinity {
    dev: String,
    cpus: String,
}

impl Affinity {
    pub(super) fn new(dev: String, cpus: String) -> Result<Self> {
        device_name(&dev)?;
        if cpus.is_empty()
            || !cpus.bytes().all(|letter| letter.is_ascii_digit() || matches!(letter, b',' | b'-'))
        {
            return Err(error(format!("{cpus:?} is not a list of CPUs")).hint("Like 0-3,8."));
        }
        Ok(Self { dev, cpus })
    }

    fn files(&self) -> Result<Vec<(String, PathBuf)>> {
        let folder = Path::new("/sys/class/net").join(&self.dev).join("device/msi_irqs");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let file = |name: String| {
            let path = Path::new(INTERRUPTS).join(&name).join("smp_affinity_list");
            (name, path)
        };
        let files: Vec<_> = names.map(file).filter(|(_, path)| path.exists()).collect();
        if files.is_empty() {
            let message = format!("{} has no interrupts of its own that could be moved", self.dev);
            return Err(Error::new(UNSUPPORTED, message));
        }
        Ok(files)
    }
}

impl Setting for Affinity {
    fn key(&self) -> String {
        format!("irq-affinity {}", self.dev)
    }

    fn is_global(&self) -> bool {
        true
    }

    fn read(&self) -> Result<Value> {
        read_all(&self.files()?)
    }

    fn wanted(&self, _now: &Value) -> Result<Value> {
        Ok(everywhere(&self.files()?, &self.cpus))
    }

    fn write(&self, value: &Value) -> Result<()> {
        write_all(&self.files()?, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_own_governor_back() {
        let root = std::env::temp_dir().join(format!("rushhour-governors-{}", std::process::id()));
        for (cpu, governor) in [("cpu0", "powersave"), ("cpu1", "schedutil")] {
            let folder = root.join(cpu).join("cpufreq");
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("scaling_governor"), format!("{governor}\n")).expect("a file");
            fs::write(folder.join("scaling_available_governors"), "powersave performance\n").expect("a file");
        }
        fs::create_dir_all(root.join("cpufreq")).expect("a folder");
        let governor = Governor { value: "performance".to_owned(), cpus: root.clone() };
        let before = governor.read().expect("values");
        governor.write(&governor.wanted(&before).expect("a value")).expect("written");
        assert_eq!(
            governor.read().expect("values"),
            serde_json::json!({"cpu0": "performance", "cpu1": "performance"})
        );
        governor.write(&before).expect("written");
        assert_eq!(governor.read().expect("values"), before);
        let unknown = Governor { value: "userspace".to_owned(), cpus: root.clone() };
        assert!(unknown.wanted(&before).is_err_and(|error| error.hint.contains("performance")));
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn lists_of_cpus_hold_nothing_else() {
        assert!(Affinity::new("eth0".to_owned(), "0-3,8".to_owned()).is_ok());
        assert!(Affinity::new("eth0".to_owned(), "0;reboot".to_owned()).is_err());
        assert!(Governor::new("performance\n".to_owned()).is_err());
    }
}
