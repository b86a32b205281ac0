//! Which network namespaces there still are, by their inode numbers. A namespace lives as long as a process is in it, a file
//! of it is open or a mount shows it; the kernel has no list (until `listns(2)` of Linux 6.19).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The first namespace of processes has this number (`PROC_PID_INIT_INO`); who is in it sees all of them.
const FIRST_OF_PROCESSES: u64 = 0xEFFF_FFFC;

/// The number of this thread's network namespace.
#[must_use]
pub fn here() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |about| about.ino())
}

/// Whether a namespace is surely no more. Not knowing is no.
#[must_use]
pub fn is_gone(number: u64) -> bool {
    let sees_all =
        fs::metadata("/proc/thread-self/ns/pid").is_ok_and(|about| about.ino() == FIRST_OF_PROCESSES);
    let name = format!("net:[{number}]");
    sees_all && number != here() && !is_mounted(&name) && !is_used(&name)
}

fn is_mounted(name: &str) -> bool {
    fs::read_to_string("/proc/thread-self/mountinfo").map_or(true, |mounts| mounts.contains(name))
}

/// Whether a process is in it, or has it open.
fn is_used(name: &str) -> bool {
    let is_it = |path: &Path| fs::read_link(path).is_ok_and(|target| target.as_os_str() == name);
    let processes = entries(Path::new("/proc"));
    let mut processes = processes.filter(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
    });
    processes.any(|process| {
        is_it(&process.join("ns/net"))
            || entries(&process.join("task")).any(|thread| is_it(&thread.join("ns/net")))
            || entries(&process.join("fd")).any(|file| is_it(&file))
    })
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_we_are_in_is_there() {
        assert!(here() > 0);
        assert!(!is_gone(here()));
    }
}
