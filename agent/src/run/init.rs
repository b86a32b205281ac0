//! The first process of a virtual kernel: mounts what an experiment needs, runs it, switches the machine off.

use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::kernel::sys;
use crate::kernel::sysctl;
use crate::lab::Lab;
use crate::reading::trace::TRACEFS;
use crate::result::{Report, FORMAT};
use crate::run::{commands, experiment};

/// Where the host's folder of this run appears; `out` is its name beside the guest's root on the host.
const OUT: &str = "/out";

/// What programs expect in `/dev`: name and minor number (major 1, the memory devices).
const DEVICES: [(&str, u32); 4] =
    [("/dev/null", 3), ("/dev/zero", 5), ("/dev/random", 8), ("/dev/urandom", 9)];

/// The word on the kernel's command line that asks for commands instead of an experiment: the kernel hands words that it does not
/// know to its first process.
const COMMANDS: &str = "commands";

/// `what`: the words for the first process.
pub fn main(what: &[&str]) -> ! {
    sys::machine::have_pages_ready();
    // Whatever happens, a reason is left behind.
    std::panic::set_hook(Box::new(|panic| {
        report_failure(Error::new("agent", format!("the agent panicked: {panic}")));
        sys::machine::power_off();
    }));
    match mount_all() {
        Ok(()) => {
            // What went wrong stands in the result; there is nobody here to tell.
            if what == [COMMANDS] {
                let _ = commands::run(Path::new(OUT));
            } else {
                let _ = experiment::run(Path::new(OUT), Lab::Virtual);
            }
        }
        Err(error) => report_failure(error),
    }
    sys::machine::power_off()
}

fn mount_all() -> Result<()> {
    // The output first: an error in the others can then be told.
    for (source, target, kind, options) in [
        ("none", OUT, "hostfs", "out"),
        ("none", "/proc", "proc", ""),
        ("none", "/sys", "sysfs", ""),
        ("none", TRACEFS, "tracefs", ""),
        ("none", "/tmp", "tmpfs", ""),
        ("none", "/dev", "tmpfs", ""),
    ] {
        sys::mounts::mount(source, target, kind, options)
            .context(format_args!("mount {kind} on {target}"))?;
    }
    for (path, minor) in DEVICES {
        sys::mounts::memory_device(Path::new(path), minor).context(format_args!("make {path}"))?;
    }
    // A fair scheduler remembers who had the processor for how long, since boot; who is ready at one instant would come in an
    // order that set-up decided. Computing takes no time here, so nobody has to wait for a share.
    sys::cpu::run_in_order().context("let threads run in order")?;
    sysctl::write_if_there("kernel.sched_rt_runtime_us", "-1")
}

fn report_failure(error: Error) {
    let report = Report { format: FORMAT, error: Some(error), ..Report::default() };
    // Without a result the launcher says that there is none.
    let _ = experiment::write_report(Path::new(OUT), &report);
}
