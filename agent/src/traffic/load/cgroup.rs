//! A control group that holds back how much of a load's memory may be in memory. Made for it and removed with it; what a
//! killed agent left is removed by the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use crate::error::{Context, Error, Result, UNSUPPORTED};

/// Where control groups of version 2 and the memory controller of version 1 are.
const VERSION_2: &str = "/sys/fs/cgroup";
const VERSION_1: &str = "/sys/fs/cgroup/memory";
const PREFIX: &str = "rushhour-load-";
/// What must stay free of a machine's memory: no load shall bring it down.
const FREE: f64 = 0.25;

/// A group's folder.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    tasks: String,
}

impl Group {
    /// A group whose processes may have so many bytes in memory.
    ///
    /// # Errors
    /// No memory controller, or no right to make groups.
    pub fn create(limit: u64) -> Result<Self> {
        let (root, file) = controller()?;
        sweep(root);
        let folder = root.join(format!("{PREFIX}{}", process::id()));
        fs::create_dir(&folder)
            .context(format_args!("make the control group {}", folder.display()))
            .map_err(|error| error.hint("Only root may; or leave `limit` out"))?;
        let group = Self { tasks: folder.join("cgroup.procs").display().to_string(), folder };
        fs::write(group.folder.join(file), limit.to_string())
            .context(format_args!("limit the control group's memory to {limit} bytes"))?;
        Ok(group)
    }

    /// The file to which a process writes 0 to enter.
    pub fn tasks(&self) -> &str {
        &self.tasks
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _left_for_the_next = fs::remove_dir(&self.folder);
    }
}

/// Removes groups without processes: a group of a living load has one.
fn sweep(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let empty =
            || fs::read_to_string(entry.path().join("cgroup.procs")).is_ok_and(|pids| pids.is_empty());
        if ours && empty() {
            let _busy = fs::remove_dir(entry.path());
        }
    }
}

/// The folder under which groups are made, and the file that limits one's memory.
fn controller() -> Result<(&'static Path, &'static str)> {
    let first = Path::new(VERSION_1);
    if first.join("memory.limit_in_bytes").exists() {
        return Ok((first, "memory.limit_in_bytes"));
    }
    let second = Path::new(VERSION_2);
    let given = fs::read_to_string(second.join("cgroup.subtree_control")).unwrap_or_default();
    if given.split_whitespace().any(|name| name == "memory") {
        return Ok((second, "memory.max"));
    }
    Err(Error::new(UNSUPPORTED, "this machine gives no memory controller to control groups").hint(
        "It needs CONFIG_MEMCG, and `+memory` in /sys/fs/cgroup/cgroup.subtree_control; or leave `limit` out",
    ))
}

/// Whether a load of this size leaves the machine alive, and has where to be swapped to.
pub fn check_memory(bytes: u64, limit: Option<u64>) -> Result<()> {
    let read = |name: &str| {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        let words = line.as_deref().and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        words.unwrap_or(0) * 1024
    };
    let (available, whole, swap) = (read("MemAvailable:"), read("MemTotal:"), read("SwapFree:"));
    let stays = limit.unwrap_or(bytes);
    let most = available.saturating_sub((whole as f64 * FREE) as u64);
    if stays > most {
        return Err(Error::new(
            UNSUPPORTED,
            format!("{stays} bytes of memory would leave too little to this machine"),
        )
        .hint(format!("A quarter of the memory stays free: at most {most} bytes just now")));
    }
    let swapped = limit.map_or(0, |limit| bytes.saturating_sub(limit));
    if swapped > swap {
        return Err(Error::new(
            UNSUPPORTED,
            format!("{swapped} bytes are to be swapped, the machine has {swap} bytes of swap"),
        )
        .hint("Add swap (mkswap, swapon), or leave `limit` out"));
    }
    Ok(())
}
