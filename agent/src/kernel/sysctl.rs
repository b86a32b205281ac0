//! Kernel settings of the namespace this thread is in, written under `/proc/sys`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result, UNSUPPORTED};
use crate::kernel::sys::files::{self, read_text, write_text};
use crate::kernel::sys::visit::{Number, Results, Visit};
use crate::words;

const ROOT: &str = "/proc/sys";

/// Where a setting lives. As with `sysctl(8)`: when the first separator is a dot, dots separate and a slash stands for a
/// dot inside a name (a VLAN device); when it is a slash, slashes separate.
///
/// # Errors
/// What is not the name of a setting.
pub fn path(name: &str) -> Result<PathBuf> {
    let dotted = name.find(['.', '/']).is_some_and(|at| name[at..].starts_with('.'));
    let swap = |letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    let relative: String = if dotted { name.chars().map(swap).collect() } else { name.to_owned() };
    if relative.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(Error::new("topology", format!("{name:?} is not the name of a sysctl"))
            .hint("Write it with dots, like net.ipv4.tcp_ecn."));
    }
    Ok(Path::new(ROOT).join(relative))
}

/// A setting that the calls of a list write.
#[derive(Debug)]
pub struct Writing<'a> {
    name: &'a str,
    value: &'a str,
    path: PathBuf,
    written: Number,
}

/// Puts the calls into a list that write a setting.
///
/// # Errors
/// As [`path`].
pub fn ask_to_write<'a, 'n: 'a>(visit: &mut Visit<'a>, name: &'n str, value: &'n str) -> Result<Writing<'n>> {
    let path = path(name)?;
    let written = files::ask_to_write(visit, &path, value);
    Ok(Writing { name, value, path, written })
}

impl<'n> Writing<'n> {
    #[must_use]
    pub const fn name(&self) -> &'n str {
        self.name
    }

    /// See [`write`].
    pub fn check(&self, results: &Results) -> Result<()> {
        self.outcome(results).map_err(|cause| explain(self.name, self.value, &self.path, &cause))
    }

    /// See [`write_if_there`].
    pub fn check_if_there(&self, results: &Results) -> Result<()> {
        match self.outcome(results) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => self.check(results),
        }
    }

    fn outcome(&self, results: &Results) -> io::Result<()> {
        results.of(self.written).and_then(|size| files::wrote(size, self.value))
    }
}

/// Writes a setting; an unknown one is answered with the nearest that this kernel has.
pub fn write(name: &str, value: &str) -> Result<()> {
    let path = path(name)?;
    write_text(&path, value).map_err(|cause| explain(name, value, &path, &cause))
}

/// Writes a setting that this kernel may be built without.
pub fn write_if_there(name: &str, value: &str) -> Result<()> {
    let path = path(name)?;
    match write_text(&path, value) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(explain(name, value, &path, &cause)),
        _ => Ok(()),
    }
}

/// That this kernel has a setting; an unknown one is answered with the nearest.
pub fn exists(name: &str) -> Result<()> {
    let path = path(name)?;
    match fs::symlink_metadata(&path) {
        Ok(_) => Ok(()),
        Err(cause) => Err(explain(name, "", &path, &cause)),
    }
}

/// The value of a setting, without the line end.
pub fn read(name: &str) -> Result<String> {
    let path = path(name)?;
    let text = read_text(&path).map_err(|cause| Error::system(format_args!("read sysctl {name}"), &cause))?;
    Ok(text.trim_end().to_owned())
}

/// Whether the setting can be written in this namespace; some are there only to be read, or only in the kernel's first one.
#[must_use]
pub fn is_writable(name: &str) -> bool {
    path(name)
        .and_then(|path| fs::metadata(path).context("look"))
        .is_ok_and(|there| !there.permissions().readonly())
}

fn explain(name: &str, value: &str, path: &Path, cause: &io::Error) -> Error {
    // Numbers, and names of what a kernel may have, are a matter of the kernel; other words are a mistake.
    let numbers = value.split_whitespace().all(|word| word.parse::<i64>().is_ok());
    let refused = cause.kind() == io::ErrorKind::InvalidInput;
    if refused && numbers || cause.kind() == io::ErrorKind::NotFound && path.exists() {
        let message = format!("this kernel does not take {value:?} for sysctl {name}");
        return Error::new(UNSUPPORTED, message)
            .hint("A later one may; see its Documentation/networking/ip-sysctl.rst.");
    }
    if cause.kind() != io::ErrorKind::NotFound {
        let error = Error::new("topology", format!("set sysctl {name} to {value:?}: {cause}"));
        let hint = "The kernel does not take this value; see Documentation/networking/ip-sysctl.rst.";
        return if refused { error.hint(hint) } else { error };
    }
    let error = Error::new(UNSUPPORTED, format!("this kernel has no sysctl {name}"));
    match neighbour(path) {
        Some(near) => error.hint(format!("The nearest it has is {near}.")),
        None => error,
    }
}

/// The setting in the same folder whose name is nearest.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let missing = path.strip_prefix(folder).ok()?.iter().next()?.to_str()?.to_owned();
    let names: Vec<String> =
        fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let best = words::nearest(&missing, names.iter().map(String::as_str))?;
    let found = folder.strip_prefix(ROOT).ok()?.join(best);
    Some(found.to_str()?.replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sysctl_reads_them() {
        let tell = |name| path(name).map(|path| path.to_string_lossy().into_owned()).ok();
        assert_eq!(tell("net.ipv4.tcp_ecn").as_deref(), Some("/proc/sys/net/ipv4/tcp_ecn"));
        assert_eq!(
            tell("net/ipv4/conf/a.1/rp_filter").as_deref(),
            Some("/proc/sys/net/ipv4/conf/a.1/rp_filter")
        );
        assert_eq!(
            tell("net.ipv4.conf.a/1.rp_filter").as_deref(),
            Some("/proc/sys/net/ipv4/conf/a.1/rp_filter")
        );
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        for name in ["", "net..ipv4", "net/../../etc/passwd", "/etc/passwd", "net.//.x"] {
            assert!(path(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_unknown_setting_is_answered_with_the_nearest() {
        let error = write("net.ipv4.tcp_enc", "1").expect_err("there is no such setting");
        assert!(error.message.contains("no sysctl net.ipv4.tcp_enc"), "{error}");
        assert!(error.hint.contains("net.ipv4.tcp_ecn"), "{error}");
    }

    #[test]
    fn a_value_that_is_refused_is_what_the_kernel_lacks_and_one_that_may_not_be_written_is_not() {
        let told = |value, kind| explain("net.ipv4.tcp_ecn", value, Path::new(ROOT), &io::Error::from(kind));
        let error = told("3", io::ErrorKind::InvalidInput);
        assert_eq!(error.kind, UNSUPPORTED);
        assert!(error.message.contains("does not take \"3\""), "{error}");
        assert_eq!(told("4096 three", io::ErrorKind::InvalidInput).kind, "topology");
        assert_eq!(told("3", io::ErrorKind::PermissionDenied).kind, "topology");
        let unknown = told("cubik", io::ErrorKind::NotFound);
        assert!(unknown.message.contains("does not take \"cubik\""), "{unknown}");
    }
}
