//! What a virtual kernel may touch: Landlock for files, a seccomp filter for system calls.
//!
//! hostfs inside the guest is no jail: root there reaches through `..` whatever this process may open. So the
//! process may open nothing but its own kernel image, the guest's read-only root, and its two folders.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::filter::Filter;
use crate::kernel::sys::{asking, confinement, namespaces, process};

/// Access rights of <linux/landlock.h>.
mod access {
    pub const EXECUTE: u64 = 1;
    pub const WRITE_FILE: u64 = 1 << 1;
    pub const READ_FILE: u64 = 1 << 2;
    pub const READ_DIR: u64 = 1 << 3;
    pub const REMOVE_DIR: u64 = 1 << 4;
    pub const REMOVE_FILE: u64 = 1 << 5;
    pub const MAKE_DIR: u64 = 1 << 7;
    pub const MAKE_REG: u64 = 1 << 8;
    pub const TRUNCATE: u64 = 1 << 14;

    pub const IMAGE: u64 = EXECUTE | READ_FILE;
    pub const READ: u64 = READ_FILE | READ_DIR;
    pub const WRITE: u64 = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE;
    pub const FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;

    /// All file rights that an ABI version knows; those it knows and a rule does not grant are denied.
    pub const fn known(abi: i64) -> u64 {
        match abi {
            ..=1 => (1 << 13) - 1,
            2 => (1 << 14) - 1,
            3 | 4 => (1 << 15) - 1,
            _ => (1 << 16) - 1,
        }
    }
}

/// TCP bind and connect (ABI 4); abstract sockets and signals to the outside (ABI 6).
const ALL_NET: u64 = 3;
const ALL_SCOPES: u64 = 3;

/// Since Linux 6.6.
const SYS_FCHMODAT2: i64 = 452;

/// System calls that a virtual kernel never needs and that would widen what a broken-out guest can do.
const FORBIDDEN: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bpf,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_syslog,
    libc::SYS_fanotify_init,
    // Landlock does not know these; they would reach every file of the user by its path.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
];

/// Those of them that only x86-64 has, where alone virtual kernels run.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// The roots of programs in a sandbox; mostly there are none.
pub fn roots(world: &Path) -> Vec<PathBuf> {
    fs::read_dir(world.join("roots")).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Confinement made ready while files can still be opened, to be entered by the kernel's process.
pub struct Sandbox {
    rules: Option<OwnedFd>,
    abi: i64,
    filter: Option<Vec<libc::sock_filter>>,
    /// Whom the guest asks, where it waits for answers: who listens is told there.
    asks: Option<OwnedFd>,
}

impl Sandbox {
    /// Looks what the host offers, and adds to `warnings` that it takes no filter. With `asks` one of the guest's calls waits
    /// for an answer: that end is sent the file by which it is given.
    pub fn prepare(warnings: &mut Vec<String>, asks: Option<OwnedFd>) -> io::Result<Self> {
        let filter = confinement::takes_filters().then(|| filter(asks.is_some()));
        if asks.is_some() && !can_ask() {
            let why = "a shell with a terminal takes a filter of system calls that asks, and this machine does not let \
                       a process set one";
            return Err(io::Error::other(why));
        }
        if filter.is_none() {
            warnings
                .push("no filter of system calls: this machine does not let a process set one".to_owned());
        }
        let abi = confinement::landlock_abi();
        let rules = if abi > 0 {
            let net = if abi >= 4 { ALL_NET } else { 0 };
            let scopes = if abi >= 6 { ALL_SCOPES } else { 0 };
            Some(confinement::landlock_create([access::known(abi), net, scopes], abi)?)
        } else {
            None
        };
        Ok(Self { rules, abi, filter, asks })
    }

    /// Whether Landlock will keep the process from all other files.
    pub fn guards_files(&self) -> bool {
        self.rules.is_some()
    }

    /// Confines the calling process and all it will start to the folders of `world`. Not to be undone.
    pub fn enter(&self, world: &Path) -> io::Result<()> {
        confinement::no_new_privileges()?;
        confinement::drop_capabilities();
        if let Some(rules) = &self.rules {
            let roots = roots(world).into_iter().map(|root| (root, access::READ));
            for (path, rights) in roots.chain([
                (world.join("linux"), access::IMAGE),
                (world.join("root"), access::READ),
                (world.join("out"), access::WRITE),
                (world.join("mem"), access::WRITE | access::EXECUTE),
                (Path::new("/dev/null").to_owned(), access::READ_FILE | access::WRITE_FILE),
            ]) {
                let rights = if path.is_dir() { rights } else { rights & access::FILE };
                confinement::landlock_allow(rules, &path, rights & access::known(self.abi))?;
            }
            confinement::landlock_restrict(rules)?;
        }
        match (self.filter.as_deref(), &self.asks) {
            (None, _) => Ok(()),
            (Some(filter), None) => confinement::install_filter(filter),
            (Some(filter), Some(asks)) => {
                asking::send_file(asks, &confinement::install_asking_filter(filter)?)
            }
        }
    }
}

/// Whether this machine takes a filter of which calls wait for an answer (Linux 5.0).
fn can_ask() -> bool {
    process::succeeds(|| {
        confinement::no_new_privileges()?;
        confinement::install_asking_filter(&filter(true)).map(drop)
    })
}

/// `getrandom` does not exist (the guest must not see the host's randomness), nor does `clone3` (its flags are out of
/// a filter's sight; libc falls back to `clone`), nor `rseq` (libc registers an area that the kernel's user processes
/// inherit but have not mapped, and die of); the forbidden are refused; `clone` may make no namespaces.
///
/// Nothing is answered by a signal: newer kernels run their guests under a filter of their own with signals, and
/// the stronger answer wins.
///
/// With `asks`, `fdatasync` waits for an answer: hostfs makes it when a guest's process does, and nothing else here does.
fn filter(asks: bool) -> Vec<libc::sock_filter> {
    let mut filter = Filter::for_this_machine(libc::EPERM);
    filter.refuse(libc::SYS_getrandom, libc::ENOSYS);
    filter.refuse(libc::SYS_clone3, libc::ENOSYS);
    filter.refuse(libc::SYS_rseq, libc::ENOSYS);
    if asks {
        filter.ask(libc::SYS_fdatasync);
    }
    for &call in FORBIDDEN.iter().chain(OLD) {
        filter.refuse(call, libc::EPERM);
    }
    filter.refuse_flags(
        libc::SYS_clone,
        namespaces::GUEST | namespaces::MOUNT | namespaces::USER,
        libc::EPERM,
    );
    filter.finish()
}
