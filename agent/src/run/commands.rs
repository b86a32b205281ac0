//! Commands instead of an experiment: programs one after the other, each in an empty network of its own.
//!
//! `out/commands.json` says which; what each writes goes to `out/N.txt`, its network's packets where they are asked for to
//! `out/N.pcap`, how it ended to `result.json`. The other side is `lab/commands.py`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result};
use crate::kernel::netlink::Socket;
use crate::kernel::sys;
use crate::path::interface;
use crate::program::{world, LAST_NS};
use crate::result::Kernel;
use crate::run::capture::Capture;
use crate::run::experiment::{kernel_facts, random_numbers, ALL_BITS};

const FILE: &str = "commands.json";
const FORMAT: &str = "rushhour-commands/2";
const RESULT: &str = "rushhour-commands-result/1";
const LOOPBACK: u32 = 1;
/// How often the launcher is shown that virtual time goes on.
const SIGN_NS: i64 = 1_000_000_000;
/// After each command the clock goes on to the next multiple of this, so that a command does not depend on what those before it
/// took.
const GRID_NS: i64 = 64_000_000_000;
/// What a command may write at most.
const OUTPUT_BYTES: u64 = 16 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Commands {
    format: String,
    orders: Vec<Order>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The program's path in the guest, and what it is told.
    words: Vec<String>,
    /// Where it works.
    folder: String,
    /// All that is in its environment.
    environment: BTreeMap<String, String>,
    /// When it is killed, in ns of virtual time after its begin.
    limit_ns: i64,
    /// Whether the packets of its network are kept.
    #[serde(default)]
    packets: bool,
    /// Whether what it writes to standard error goes to a file of its own, `out/N.err`.
    #[serde(default)]
    apart: bool,
}

/// How all of them went.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    format: &'static str,
    ok: bool,
    error: Option<Error>,
    kernel: Kernel,
    commands: Vec<Ended>,
}

/// How one of them ended.
#[derive(Debug, Serialize)]
struct Ended {
    exit: Option<i32>,
    signal: Option<i32>,
    /// Whether its time was up.
    late: bool,
    /// How long it took, in ns of virtual time.
    took_ns: i64,
}

/// Runs the commands and leaves what came of them in `out`.
///
/// # Errors
/// The result cannot be written.
pub fn run(out: &Path) -> std::io::Result<()> {
    let mut report = Report { format: RESULT, kernel: kernel_facts(), ..Report::default() };
    match attempt(out, &mut report.commands) {
        Ok(()) => report.ok = true,
        Err(error) => report.error = Some(error),
    }
    let text = serde_json::to_vec_pretty(&report).unwrap_or_default();
    fs::write(out.join("result.json.part"), text)?;
    fs::rename(out.join("result.json.part"), out.join("result.json"))
}

fn attempt(out: &Path, ended: &mut Vec<Ended>) -> Result<()> {
    let commands = asked(out)?;
    devices()?;
    random_numbers(ALL_BITS)?;
    world::price_calls()?;
    sys::time::set_timer_slack(1).context("set the timer slack")?;
    let progress = File::create(out.join("progress")).context("create the progress file")?;
    for (number, order) in commands.orders.iter().enumerate() {
        sys::time::sleep_until((sys::time::monotonic_ns().div_euclid(GRID_NS) + 1) * GRID_NS);
        ended.push(carry_out(order, &out.join(number.to_string()), &progress)?);
    }
    Ok(())
}

fn asked(out: &Path) -> Result<Commands> {
    parse(&fs::read(out.join(FILE)).context("read the commands")?)
}

fn parse(text: &[u8]) -> Result<Commands> {
    let wrong = |what: String| Error::new("commands", what).at(FILE);
    let commands: Commands = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
    if commands.format != FORMAT {
        return Err(wrong(format!("the format is {:?}, not {FORMAT:?}", commands.format)));
    }
    if commands.orders.iter().any(|order| order.words.is_empty()) {
        return Err(wrong("a command has no words".to_owned()));
    }
    Ok(commands)
}

/// What programs look for beside the memory devices.
fn devices() -> Result<()> {
    world::tunnels()?;
    std::os::unix::fs::symlink("/proc/self/fd", "/dev/fd").context("make /dev/fd")
}

fn carry_out(order: &Order, place: &Path, progress: &File) -> Result<Ended> {
    own_network()?;
    let capture = order.packets.then(|| Capture::begin(&place.with_extension("pcap")));
    let mut capture = capture.transpose()?;
    let said = File::create(place.with_extension("txt")).context("create the file for a command's output")?;
    let errors = if order.apart { File::create(place.with_extension("err")) } else { said.try_clone() };
    let errors = errors.context("keep the file for a command's output")?;
    let mut command = Command::new(&order.words[0]);
    command.args(&order.words[1..]).current_dir(&order.folder).env_clear().envs(&order.environment);
    command.stdin(Stdio::null()).stdout(said).stderr(errors).process_group(0);
    sys::process::before_exec(&mut command, || {
        sys::limits::limit(sys::limits::Resource::Fsize, OUTPUT_BYTES)
    });
    let begun_ns = sys::time::monotonic_ns();
    let mut child = sys::cpu::gives_way(&mut command).spawn().map_err(|cause| {
        Error::system(format!("start {}", order.words[0]), &cause).at(order.folder.clone())
    })?;
    let late = !await_end(&child, begun_ns + order.limit_ns, progress, capture.as_mut())?;
    if late {
        sys::process::kill_group(child.id());
    }
    sys::time::sleep_until(sys::time::monotonic_ns() + LAST_NS);
    let status = child.wait().context("wait for a command")?;
    sys::process::kill_orphans();
    let took_ns = sys::time::monotonic_ns() - begun_ns;
    capture.map_or(Ok(()), Capture::end)?;
    Ok(Ended { exit: status.code(), signal: status.signal(), late, took_ns })
}

/// An empty network with a loopback that is up; the one before ends with its last process.
fn own_network() -> Result<()> {
    drop(sys::namespaces::new_netns().context("create a network namespace")?);
    Socket::route()?.request(&interface::up(LOOPBACK, "lo"))
}

/// Whether the command ended before its time was up.
fn await_end(
    child: &Child,
    until_ns: i64,
    progress: &File,
    mut capture: Option<&mut Capture>,
) -> Result<bool> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    let end = sys::process::open_process(child.id()).context("watch a command")?;
    loop {
        let now_ns = sys::time::monotonic_ns();
        if now_ns >= until_ns {
            return Ok(false);
        }
        progress.write_all_at(&now_ns.to_le_bytes(), 0).context("write the progress file")?;
        capture.as_mut().map_or(Ok(()), |capture| capture.go_on())?;
        let next_ns = until_ns.min(now_ns + SIGN_NS);
        if sys::files::wait(&[end.as_fd()], Some(next_ns)).context("wait for a command")?[0] {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"format": "rushhour-commands/2", "orders": [
        {"words": ["/usr/bin/true"], "folder": "/", "environment": {"A": "b"}, "limit_ns": 5}]}"#;

    #[test]
    fn commands_are_read_whole_or_refused() {
        let read = parse(WHOLE.as_bytes()).expect("commands");
        assert_eq!(read.orders.len(), 1);
        assert_eq!(read.orders[0].environment["A"], "b");
        for (part, by, said) in [
            ("commands/2", "commands/9", "not \"rushhour-commands/2\""),
            (r#""/usr/bin/true""#, "", "no words"),
            ("orders", "price", "unknown field"),
        ] {
            let refused = parse(WHOLE.replace(part, by).as_bytes()).expect_err(part);
            assert!(refused.message.contains(said), "{}", refused.message);
        }
    }
}
