//! Files of `/proc` and `/sys`, many in one request.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::arguments::Arguments;
use super::{Answer, Server};
use crate::error::{Error, Result};

const LIMIT: u64 = 64 << 10;
const HIGHEST_LIMIT: u64 = 1 << 20;
/// Of one request.
const MOST_FILES: usize = 8192;
const MOST_BYTES: usize = 32 << 20;
const MOST_PATHS: usize = 4096;

const ROOTS: [&str; 2] = ["/proc", "/sys"];
const ALONE: &str = "/etc/os-release";
/// Reading these takes something away from others, stands still, or gives what is nobody's business.
const NEVER: [&str; 4] = ["/sys/kernel/tracing", "/sys/kernel/debug", "/proc/kmsg", "/proc/kcore"];
const NEVER_NAMED: [&str; 6] = ["environ", "mem", "auxv", "pagemap", "clear_refs", "cmdline"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    paths: Vec<String>,
    #[serde(default = "usual")]
    limit: u64,
}

fn usual() -> u64 {
    LIMIT
}

/// The verb. A path may have `*` in its names; what cannot be read is told with the reason.
pub fn files(_: &Server, arguments: Arguments) -> Result<Answer> {
    let wanted: Wanted = arguments.read()?;
    if wanted.paths.len() > MOST_PATHS || wanted.limit > HIGHEST_LIMIT {
        return Err(Error::new(
            "protocol",
            format!("files: at most {MOST_PATHS} paths, and {HIGHEST_LIMIT} bytes of each"),
        ));
    }
    let (mut files, mut unreadable) = (BTreeMap::new(), BTreeMap::new());
    let mut size = 0;
    for path in &wanted.paths {
        let found = match find(path) {
            Ok(found) if found.is_empty() => Err("no such file".to_owned()),
            other => other,
        };
        let found = found.unwrap_or_else(|reason| {
            unreadable.insert(path.clone(), reason);
            Vec::new()
        });
        for path in found {
            let name = path.to_string_lossy().into_owned();
            match read(&path, wanted.limit) {
                Ok(text) => {
                    size += text.len();
                    files.insert(name, text);
                }
                Err(reason) => drop(unreadable.insert(name, reason)),
            }
        }
        if size > MOST_BYTES || files.len() + unreadable.len() > MOST_FILES {
            return Err(Error::new("protocol", "files: these paths hold too much for one request")
                .hint("Ask for fewer at once, or with a lower limit."));
        }
    }
    Ok(Answer::from(json!({"files": files, "unreadable": unreadable})))
}

/// The paths that a pattern stands for, in order.
fn find(pattern: &str) -> std::result::Result<Vec<PathBuf>, String> {
    let path = Path::new(pattern);
    let below = ROOTS.iter().any(|root| path.starts_with(root)) || pattern == ALONE;
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !below || !plain || pattern.contains('\0') {
        return Err("only files below /proc and /sys can be read, and /etc/os-release".into());
    }
    let mut found = vec![PathBuf::from("/")];
    for part in path.components().skip(1) {
        let name = part.as_os_str().to_string_lossy().into_owned();
        if name.contains('*') {
            found = found.iter().flat_map(|folder| matching(folder, &name)).collect();
        } else {
            found = found.iter().map(|folder| folder.join(&name)).collect();
        }
        found.truncate(MOST_FILES + 1);
    }
    Ok(found)
}

/// What is in a folder under names that fit, in order.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| fits(name, pattern)).collect();
    names.sort_unstable();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// `*` stands for any characters, none included.
fn fits(name: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// The beginning of a file, as text.
fn read(path: &Path, limit: u64) -> std::result::Result<String, String> {
    let real = fs::canonicalize(path).map_err(|cause| cause.to_string())?;
    // Links of /sys lead into /sys; those of /proc may lead anywhere.
    let inside = ROOTS.iter().any(|root| real.starts_with(root));
    let secret =
        NEVER.iter().any(|folder| real.starts_with(folder)) || real.starts_with("/proc") && is_private(&real);
    if (!inside && path != Path::new(ALONE)) || secret {
        return Err("this file is not given away".into());
    }
    let mut bytes = Vec::new();
    let taken = open(&real).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    taken.map_err(|cause| cause.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Of a process, and named like something that holds what it knows. `/proc/cmdline` is the kernel's own.
fn is_private(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.components().count() > 3 && NEVER_NAMED.contains(&name)
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters_of_a_name() {
        for (name, pattern) in [("eth0", "*"), ("eth0", "eth*"), ("eth0", "*0"), ("eth0", "e*h*0"), ("", "*")]
        {
            assert!(fits(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in
            [("eth0", "eth"), ("eth0", "*1"), ("eth0", "th*"), ("a", "a*a"), ("ab", "*b*b")]
        {
            assert!(!fits(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn only_proc_and_sys_can_be_asked_for() {
        for path in [
            "/etc/shadow",
            "/etc/*",
            "proc/stat",
            "/procx/a",
            "/proc/../etc/shadow",
            "/sys/class/../../etc/shadow",
            "",
            "/",
        ] {
            assert!(find(path).is_err(), "{path}");
        }
        assert!(find("/etc/os-release").is_ok());
        assert!(find("/sys/class/net/*/mtu").expect("paths").iter().any(|path| path.ends_with("lo/mtu")));
    }

    #[test]
    fn links_lead_nowhere_else() {
        for path in [
            "/proc/self/root/etc/passwd",
            "/proc/self/cwd/Cargo.toml",
            "/proc/self/exe",
            "/proc/self/environ",
            "/proc/self/cmdline",
            "/proc/self/mem",
            "/proc/kcore",
            "/proc/self/task/*/environ",
        ] {
            for found in find(path).expect("a pattern") {
                assert!(read(&found, 10).is_err(), "{}", found.display());
            }
        }
        assert!(read(Path::new("/proc/self/status"), LIMIT).is_ok_and(|text| text.starts_with("Name:")));
        assert!(read(Path::new("/proc/cmdline"), LIMIT).is_ok());
        assert_eq!(read(Path::new("/proc/self/status"), 3).as_deref(), Ok("Nam"));
    }
}
