//! Where the agent is: a network namespace, and a `/sys` that shows that one's devices.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::kernel::sys::{mounts, namespaces, process};
use crate::reading::trace::TRACEFS;

/// What hangs below `/sys` and is to stay visible.
const GROUPS: &str = "/sys/fs/cgroup";
/// Where it waits while `/sys` is changed: any folder that is always there.
const WAITING: &str = "/mnt";

/// Enters the network namespace at `path`, if there is one, and gives whether mounts are this process's own from now on.
/// Call it before the first thread.
pub fn enter(path: Option<&str>, warnings: &mut Vec<String>) -> Result<bool> {
    if let Some(path) = path {
        let netns = File::open(path).context(format_args!("open the network namespace {path}"))?;
        namespaces::enter_netns(&netns).context(format_args!("enter the network namespace {path}")).map_err(
            |error| error.hint("It must be the file of one, and entering takes root (CAP_SYS_ADMIN)."),
        )?;
    }
    if !process::is_root() {
        return Ok(false);
    }
    if let Err(cause) = mounts::own_mounts() {
        warnings.push(format!("no mount namespace of its own: {cause}"));
        return if path.is_some() { Err(foreign(&cause)) } else { Ok(false) };
    }
    if path.is_some() {
        renew_sys(warnings).map_err(|cause| foreign(&cause))?;
    }
    if !Path::new(TRACEFS).join("instances").exists() {
        // A kernel without it will be told by whoever wants to trace.
        let _none = mounts::mount("none", TRACEFS, "tracefs", "");
    }
    Ok(true)
}

/// The devices under `/sys/class/net` would be those of another namespace.
fn foreign(cause: &io::Error) -> Error {
    Error::system("show the namespace's devices in /sys", cause).hint(
        "In a container the agent can be started inside the namespace instead (netns:… is not needed then).",
    )
}

fn renew_sys(warnings: &mut Vec<String>) -> io::Result<()> {
    let kept = mounts::bind_all(GROUPS, WAITING);
    mounts::mount_harmless("sysfs", Path::new("/sys"), false, c"")?;
    let back = kept.and_then(|()| mounts::move_mount(WAITING, GROUPS));
    if let Err(cause) = back {
        warnings.push(format!("control groups cannot be seen from here: {cause}"));
    }
    Ok(())
}
