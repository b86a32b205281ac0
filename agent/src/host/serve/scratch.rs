//! A folder for what a session keeps, which is gone when the session is.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::keeper::Keeper;
use crate::error::{Context, Error, Result};
use crate::kernel::leftover::{self, Leftover};
use crate::kernel::sys::mounts;

/// Where root mounts a file system of this process's own.
const PRIVATE: &str = "/tmp";
const PREFIX: &str = "rushhour-agent-";

/// Makes the folder: where mounts are this process's own, in memory that goes with it; else one that the keeper removes.
pub fn make(keeper: &Keeper, private: bool, warnings: &mut Vec<String>) -> Result<PathBuf> {
    if private {
        match mounts::mount_harmless("tmpfs", Path::new(PRIVATE), true, c"") {
            Ok(()) => return Ok(PathBuf::from(PRIVATE)),
            Err(cause) => warnings.push(format!("no file system of its own: {cause}")),
        }
    }
    let mut refusals = Vec::new();
    for folder in places() {
        leftover::sweep(&folder, PREFIX, Leftover::Folder);
        let own = folder.join(leftover::own_name(PREFIX));
        match create(keeper, &own) {
            Ok(()) => return Ok(own),
            Err(error) => refusals.push(error.to_string()),
        }
    }
    Err(Error::new("system", format!("no folder is writable: {}", refusals.join("; ")))
        .hint("Make one of $XDG_RUNTIME_DIR, /dev/shm, /tmp, /var/tmp or ~/.cache writable for this user."))
}

fn places() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME")
        .map(|home| Path::new(&home).join(".cache"))
        .filter(|path| path.is_absolute());
    let usual = ["/dev/shm", "/tmp", "/var/tmp"].map(PathBuf::from);
    runtime.into_iter().chain(usual).chain(home).collect()
}

fn create(keeper: &Keeper, folder: &Path) -> Result<()> {
    keeper.keep(Leftover::Folder(folder.to_owned())).context("tell the keeper")?;
    fs::DirBuilder::new().mode(0o700).create(folder).context(format_args!("create {}", folder.display()))
}
