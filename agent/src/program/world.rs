//! What a program finds: folders to write in, names of the other nodes, its files; and nothing of the agent's.
//!
//! In a virtual kernel that is all it finds. On this machine it finds the machine, as whoever started the experiment does, with
//! names and devices of its node.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::kernel::sys::{self, mounts, process};
use crate::lab::Lab;
use crate::plan::Program;
use crate::reading::trace::TRACEFS;

/// Folders of the guest's root that are empty, and in which programs may write.
const WRITABLE: [&str; 3] = ["/lab", "/run", "/var"];
const HOME: &str = "/lab";
/// What a program brought from folders in which something is mounted here, by its path there.
const HOST: &str = "/host";
const HOSTS: &str = "/etc/hosts";
const LOCAL: [&str; 2] = ["127.0.0.1 localhost\n", "::1 localhost\n"];
const NAMES: &str = "/run/hosts";
/// Where the roots of programs are, by their numbers; on the host they have the same names beside the guest's own root.
const ROOTS: &str = "/roots";
/// How the plan's `tools` name a root.
const ROOT: &str = "root:";
/// What every root shares with the guest's own; `lab/root/tree.py` sees to it that they are there.
const SHARED: [&str; 7] = ["/dev", "/proc", HOME, "/run", "/tmp", "/var/tmp", "/var/log"];
/// Where the agent writes, which programs do not see.
const HIDDEN: [&str; 2] = ["/out", TRACEFS];
/// What programs expect in `/dev` besides the memory devices: links, and folders.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];
const FOLDERS: [&str; 3] = ["/dev/shm", "/var/tmp", "/var/log"];
/// Minor number of the memory device that is always full.
const FULL: u32 = 7;
/// What a system call costs a program, in ns of virtual time: four steps of the clock. One that asks again and again lets time go on.
const CALL_NS: u64 = 1024;

/// From now on a system call of a program takes virtual time.
///
/// # Errors
/// A kernel that was linked before there was a price.
pub(crate) fn price_calls() -> Result<()> {
    sys::machine::set_price_of_calls(CALL_NS).map_err(|cause| {
        Error::system("give system calls a price", &cause)
            .hint("this kernel was linked by an older Rush Hour: `rushhour kernel build` its source again")
    })
}

/// The device by which programs make tunnels (Documentation/networking/tuntap.rst).
pub(crate) fn tunnels() -> Result<()> {
    fs::create_dir_all("/dev/net").context("make /dev/net")?;
    mounts::character_device(Path::new("/dev/net/tun"), (10, 200)).context("make /dev/net/tun")
}

/// What one program's view of the files begins with.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// Whether it is that of a virtual kernel.
    guest: bool,
    /// Its own root; `None`: the guest's.
    root: Option<PathBuf>,
    /// Whether other programs have roots.
    roots: bool,
    /// Where it works.
    folder: PathBuf,
}

/// Where the programs of an experiment run.
#[derive(Debug)]
pub(super) struct World {
    lab: Lab,
    /// Below it each has a folder of its own.
    home: PathBuf,
    /// What they find as `/etc/hosts`.
    hosts: PathBuf,
}

impl World {
    /// Makes ready what all programs find; `names` are pairs of an address and what it is called, `tools` the plan's.
    ///
    /// # Errors
    /// What cannot be made, or mounted.
    pub fn prepare(lab: Lab, names: &[(String, String)], tools: &[String]) -> Result<Self> {
        let world = if lab.is_virtual() {
            furnish()?;
            Self { lab, home: HOME.into(), hosts: NAMES.into() }
        } else {
            // The run's own folder, which goes with it.
            let home = std::env::current_dir().context("find the working directory")?.join("programs");
            fs::create_dir_all(&home).context(format_args!("make {}", home.display()))?;
            Self { lab, hosts: home.join("hosts"), home }
        };
        fs::write(&world.hosts, world.names(names)).context(format_args!("write {HOSTS}"))?;
        if lab.is_virtual() {
            mounts::bind(&world.hosts, Path::new(HOSTS)).context(format_args!("write {HOSTS}"))?;
            mount_roots(roots(tools).count())?;
        }
        Ok(world)
    }

    fn names(&self, names: &[(String, String)]) -> String {
        let mut lines: Vec<_> = names.iter().map(|(address, name)| format!("{address} {name}\n")).collect();
        if self.lab.is_virtual() {
            lines.splice(..0, LOCAL.map(str::to_owned));
        } else {
            // Names of the scenario go before those of the machine.
            lines.push(fs::read_to_string(HOSTS).unwrap_or_else(|_| LOCAL.concat()));
        }
        lines.concat()
    }

    /// Where the standard input of a program waits for it.
    pub fn input(&self, program: &Program) -> PathBuf {
        self.hosts.with_file_name(format!("input-{}", program.id))
    }

    /// Makes a program's working directory, which is its home, with its files.
    ///
    /// # Errors
    /// A file that cannot be written, or lies elsewhere.
    pub fn folder(&self, program: &Program) -> Result<PathBuf> {
        let folder = self.home.join(&program.name);
        fs::create_dir_all(&folder).context(format_args!("make {}", folder.display()))?;
        for (name, text) in &program.files {
            let file = folder.join(name);
            if !file.starts_with(&folder) || name.split('/').any(|part| part == "..") {
                return Err(Error::new("plan", format!("the file {name:?} leads out of its folder")));
            }
            let parent = file.parent().unwrap_or(&folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&file, text))
                .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)))
                .context(format_args!("write {}", file.display()))?;
        }
        Ok(folder)
    }

    /// How a program sees the files; `folder` is its working directory, `tools` are the plan's.
    ///
    /// # Errors
    /// A root that is not among the tools.
    pub fn view(&self, program: &Program, tools: &[String], folder: &Path) -> Result<View> {
        let number = |name: &String| {
            roots(tools).position(|one| one == name).ok_or_else(|| {
                Error::new("plan", format!("{}: there is no root {name:?} among the tools", program.name))
            })
        };
        let root = program.root.as_ref().map(number).transpose()?;
        Ok(View {
            guest: self.lab.is_virtual(),
            root: root.map(|number| Path::new(ROOTS).join(number.to_string())),
            roots: roots(tools).next().is_some(),
            folder: folder.to_owned(),
        })
    }
}

/// Gives a virtual kernel what programs find on any system.
fn furnish() -> Result<()> {
    price_calls()?;
    for folder in WRITABLE.into_iter().filter(|folder| Path::new(folder).is_dir()) {
        mounts::mount("none", folder, "tmpfs", "").context(format_args!("mount tmpfs on {folder}"))?;
    }
    for (target, link) in LINKS {
        symlink(target, link).context(format_args!("make {link}"))?;
    }
    for folder in FOLDERS {
        fs::create_dir_all(folder)
            .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)))
            .context(format_args!("make {folder}"))?;
    }
    mounts::memory_device(Path::new("/dev/full"), FULL).context("make /dev/full")?;
    tunnels()?;
    link_brought()
}

/// The plan's roots, in their order.
fn roots(tools: &[String]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(|tool| tool.strip_prefix(ROOT))
}

/// Mounts the roots of programs, each with what all share.
fn mount_roots(many: usize) -> Result<()> {
    if many == 0 {
        return Ok(());
    }
    mounts::mount("none", ROOTS, "tmpfs", "").context(format_args!("mount tmpfs on {ROOTS}"))?;
    for number in 0..many {
        let root = Path::new(ROOTS).join(number.to_string());
        let below = |place: &str| root.join(place.trim_start_matches('/'));
        let options = CString::new(format!("roots/{number}/.")).unwrap_or_default();
        fs::create_dir(&root)
            .and_then(|()| mounts::mount_read_only("hostfs", &root, &options))
            .context(format_args!("mount the root {number}"))?;
        for place in SHARED {
            mounts::bind_all(place, below(place))
                .context(format_args!("show {place} in the root {number}"))?;
        }
        mounts::bind(Path::new(NAMES), &below(HOSTS))
            .context(format_args!("write {HOSTS} of the root {number}"))?;
    }
    Ok(())
}

/// Shows what programs brought at the paths that it had: `/tmp/x` → `/host/tmp/x`.
fn link_brought() -> Result<()> {
    let listed =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for covered in listed(Path::new(HOST)) {
        for brought in listed(&covered) {
            let there = Path::new("/").join(brought.strip_prefix(HOST).unwrap_or(&brought));
            if !there.exists() {
                symlink(&brought, &there).context(format_args!("link {}", there.display()))?;
            }
        }
    }
    Ok(())
}

/// Called in the new process, which is in its folder: a session of its own, and mounts without the agent's; `/sys` is of the node.
pub(super) fn enter(view: &View) -> io::Result<()> {
    process::leave_session();
    mounts::private_mounts()?;
    if !view.guest {
        return enter_machine();
    }
    if let Some(root) = &view.root {
        // With the guest's root goes all that is hidden.
        mounts::change_root(root)?;
    } else {
        for hidden in HIDDEN {
            mounts::unmount(hidden)?;
        }
        if view.roots {
            mounts::unmount(ROOTS)?;
        }
        mounts::unmount("/sys")?;
    }
    mounts::mount_harmless("sysfs", Path::new("/sys"), true, c"")?;
    view.root.as_ref().map_or(Ok(()), |_| std::env::set_current_dir(&view.folder))
}

/// A machine has more than a program needs. A container may keep its `/sys` as it is.
fn enter_machine() -> io::Result<()> {
    let _devices = mounts::mount_harmless("sysfs", Path::new("/sys"), true, c"");
    match mounts::bind(Path::new("../hosts"), Path::new(HOSTS)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_numbered_as_the_tools_name_them() {
        let tools = ["dash", "program:curl", "root:a.tar", "root:b"].map(str::to_owned);
        let of = |root: Option<&str>| Program { root: root.map(str::to_owned), ..Program::default() };
        let world = World { lab: Lab::Virtual, home: HOME.into(), hosts: NAMES.into() };
        let found = |root| world.view(&of(root), &tools, Path::new("/lab/p"));
        assert_eq!(found(Some("b")).expect("a root").root, Some("/roots/1".into()));
        assert_eq!(found(Some("a.tar")).expect("a root").root, Some("/roots/0".into()));
        let own = found(None).expect("no root");
        assert_eq!((own.root, own.roots), (None, true), "its view hides the roots of others");
        assert!(found(Some("c")).expect_err("no such root").message.contains("\"c\""));
    }
}
