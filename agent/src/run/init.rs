//! The first process of a virtual kernel: mounts what an experiment needs, runs it, switches the machine off.

use std::ffi::{CStr, CString};
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::kernel::sys;
use crate::kernel::sys::mounts::MEMORY;
use crate::kernel::sys::visit::Visit;
use crate::kernel::sysctl;
use crate::lab::Lab;
use crate::reading::trace::TRACEFS;
use crate::result::{Report, FORMAT};
use crate::run::{commands, experiment};

/// Where the host's folder of this run appears; `out` is its name beside the guest's root on the host.
const OUT: &str = "/out";

/// What programs expect in `/dev`: memory devices, by name and minor number.
const DEVICES: [(&CStr, u32); 4] =
    [(c"/dev/null", 3), (c"/dev/zero", 5), (c"/dev/random", 8), (c"/dev/urandom", 9)];

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
    let out = CString::new(OUT).unwrap_or_default();
    let tracefs = CString::new(TRACEFS).unwrap_or_default();
    // The output first: an error in the others can then be told.
    let file_systems = [
        (&*out, c"hostfs", c"out"),
        (c"/proc", c"proc", c""),
        (c"/sys", c"sysfs", c""),
        (&*tracefs, c"tracefs", c""),
        (c"/tmp", c"tmpfs", c""),
        (c"/dev", c"tmpfs", c""),
    ];
    let mut visit = Visit::new();
    let mounted = file_systems.map(|(target, kind, options)| visit.mount(target, kind, options));
    let made = DEVICES.map(|(path, minor)| visit.character_device(path, (MEMORY, minor)));
    let results = visit.carry_out().context("mount what an experiment needs")?;
    for (call, (target, kind, _)) in mounted.into_iter().zip(file_systems) {
        let (target, kind) = (target.to_string_lossy(), kind.to_string_lossy());
        results.of(call).context(format_args!("mount {kind} on {target}"))?;
    }
    for (calls, (path, _)) in made.into_iter().zip(DEVICES) {
        let made = calls.into_iter().try_for_each(|call| results.of(call).map(drop));
        made.context(format_args!("make {}", path.to_string_lossy()))?;
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
