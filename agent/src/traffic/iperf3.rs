//! A flow that iperf3 generates: one server and one client process, each in its node, its JSON kept in the record.
//!
//! iperf3 talks over a connection of its own before and after the data; only the data connection has the flow's port
//! on the sending side, and only that one is the flow. The client begins at the flow's start, its data some round trips
//! later, and what it reports is exchanged after the last byte: it may go on beyond the end of the experiment.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde_json::Value;

use crate::error::{Context, Result};
use crate::kernel::clock::Clock;
use crate::kernel::{listed, sys, tool};
use crate::plan::{Flow, Kind};
use crate::traffic::FlowEnd;

use super::options;
use super::schedule::Switch;
use super::{Side, Stage, Task};

pub const NAME: &str = "iperf3";

const SECOND_NS: i64 = 1_000_000_000;
/// How often the begin of the data and the end of a process are looked for.
const LOOK_NS: i64 = 1_000_000;
/// How long after the experiment iperf3 may take to drain its queue and to exchange results.
const GRACE_NS: i64 = 5 * SECOND_NS;
/// Seconds between the readings in its report.
const INTERVAL: &str = "0.1";
/// `ESTABLISHED` in `/proc/net/tcp`, and what a connected UDP socket says in `/proc/net/udp`.
const CONNECTED: &str = "01";
/// More of what a process complains of helps nobody.
const COMPLAINT_BYTES: u64 = 1000;

/// One of the two processes of a flow.
struct Process {
    child: Child,
    report: PathBuf,
    side: &'static str,
}

/// The client, to be started when its time has come.
struct Client {
    command: Command,
    node: OwnedFd,
    report: PathBuf,
    flow: Flow,
    /// When it has done its work at the earliest, and when its patience ends.
    done_ns: i64,
    deadline_ns: i64,
}

pub(super) fn open(flow: &Flow, side: Side, duration_ns: i64, raw: &Path) -> Result<Task> {
    let stop_ns = flow.stop_ns.unwrap_or(flow.start_ns);
    let deadline_ns = duration_ns + GRACE_NS;
    let work: super::Work = match side {
        Side::To => {
            let report = report(raw, flow.id, "server");
            let process = Process::start(&mut server(flow)?, report, "server")?;
            // The client knows better than a server that waits for it what went wrong: it has the first word.
            Box::new(move |stage: &Stage| serve(process, stage.clock, stop_ns, deadline_ns + SECOND_NS))
        }
        Side::From => {
            has_congestion_control(flow)?;
            let client = Client {
                command: client(&tool::require(NAME)?, flow),
                node: sys::namespaces::current_netns()
                    .context("open the network namespace of an iperf3 client")?,
                report: report(raw, flow.id, "client"),
                flow: flow.clone(),
                done_ns: stop_ns,
                deadline_ns,
            };
            Box::new(move |stage: &Stage| client.run(stage.clock))
        }
    };
    Ok(Task { flow: flow.id, work, switch: Arc::new(Switch::default()), stop: None })
}

/// Refuses an algorithm that the kernel lacks before the experiment, as the agent's own flows do.
fn has_congestion_control(flow: &Flow) -> Result<()> {
    let Some(name) = &flow.cc else { return Ok(()) };
    let socket = sys::socket::open(libc::AF_INET, libc::SOCK_STREAM, 0).context("open a socket")?;
    options::congestion_control(&socket, Some(name))
}

fn report(raw: &Path, flow: u32, side: &str) -> PathBuf {
    raw.join(format!("{NAME}-{flow}-{side}.json"))
}

fn server(flow: &Flow) -> Result<Command> {
    let mut command = tool::command(&tool::require(NAME)?);
    command.args(["-s", "-1", "-J", "-i", INTERVAL, "-p", &flow.dport.to_string(), "-B", &flow.dst]);
    Ok(command)
}

/// The client's command line; `program` is iperf3.
fn client(program: &Path, flow: &Flow) -> Command {
    let mut command = tool::command(program);
    command.args(["-c", &flow.dst, "-B", &flow.src, "-J", "-i", INTERVAL]);
    command.args(["-p", &flow.dport.to_string(), "--cport", &flow.sport.to_string()]);
    let mut set = |option: &str, value: Option<String>| {
        command.args(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    };
    let text = |value: Option<u64>| value.map(|value| value.to_string());
    let seconds = flow.stop_ns.map(|stop_ns| (stop_ns - flow.start_ns) as u64 / SECOND_NS as u64);
    match (flow.bytes, flow.count) {
        (Some(bytes), _) => set("-n", text(Some(bytes))),
        (_, Some(count)) => set("-k", text(Some(count))),
        _ => set("-t", text(seconds)),
    }
    set("-C", flow.cc.clone());
    set("-b", text(flow.rate_bps));
    set("--fq-rate", text(flow.pacing_bps));
    set("-l", text(flow.message_bytes.or(flow.packet_bytes).map(u64::from)));
    set("-w", text(flow.sndbuf.map(u64::from)));
    set("-M", text(flow.mss.map(u64::from)));
    set("-S", text(flow.tos.map(u64::from)));
    command.args((flow.kind == Kind::Udp).then_some("-u"));
    command.args((flow.nodelay == Some(true)).then_some("-N"));
    command
}

impl Process {
    /// Starts it in the namespace of this thread.
    fn start(command: &mut Command, report: PathBuf, side: &'static str) -> Result<Self> {
        let output = File::create(&report).context(format_args!("create {}", report.display()))?;
        let child = sys::cpu::gives_way(command)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .context(format_args!("start an {NAME} {side}"))?;
        Ok(Self { child, report, side })
    }

    /// Waits for its end and gives its report, or what went wrong. Looks often from `done_ns` on, ends it at `deadline_ns`.
    fn finish(mut self, clock: Clock, done_ns: i64, deadline_ns: i64) -> std::result::Result<Value, String> {
        let mut at_ns = done_ns.max(clock.now());
        let status = loop {
            clock.sleep_until(at_ns);
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if at_ns < deadline_ns => at_ns += LOOK_NS,
                Ok(None) => {
                    let _gone = self.child.kill().and_then(|()| self.child.wait().map(drop));
                    return Err(format!("the {NAME} {} did not end when the experiment was over", self.side));
                }
                Err(cause) => return Err(format!("wait for the {NAME} {}: {cause}", self.side)),
            }
        };
        self.judge(status)
    }

    fn judge(&mut self, status: ExitStatus) -> std::result::Result<Value, String> {
        let report: Option<Value> =
            fs::read(&self.report).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let complaint = report.as_ref().and_then(|report| report["error"].as_str());
        match (report.as_ref(), complaint) {
            (Some(report), None) if status.success() => Ok(report.clone()),
            (_, Some(complaint)) => Err(format!("the {NAME} {}: {complaint}", self.side)),
            _ => {
                let mut said = String::new();
                let pipe = self.child.stderr.take();
                let _unheard = pipe.map(|pipe| pipe.take(COMPLAINT_BYTES).read_to_string(&mut said));
                Err(format!("the {NAME} {} left no whole report ({status}): {}", self.side, said.trim()))
            }
        }
    }
}

impl Drop for Process {
    /// One whose flow never began would keep its port.
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait().map(drop));
    }
}

fn serve(process: Process, clock: Clock, done_ns: i64, deadline_ns: i64) -> FlowEnd {
    FlowEnd { error: process.finish(clock, done_ns, deadline_ns).err(), ..FlowEnd::default() }
}

impl Client {
    fn run(mut self, clock: Clock) -> FlowEnd {
        let mut end = FlowEnd::default();
        clock.sleep_until(self.flow.start_ns);
        let started = sys::namespaces::enter_netns(&self.node)
            .context("enter the client's node")
            .and_then(|()| Process::start(&mut self.command, self.report.clone(), "client"));
        let mut process = match started {
            Ok(process) => process,
            Err(error) => return FlowEnd { error: Some(error.to_string()), ..end },
        };
        end.connected_ns = self.connection(&mut process.child, clock);
        match process.finish(clock, self.done_ns, self.deadline_ns) {
            Ok(report) => fill(&mut end, &report),
            Err(error) => end.error = Some(error),
        }
        end
    }

    /// When the data connection was there, found by looking for it; `None` if iperf3 ended before.
    fn connection(&self, child: &mut Child, clock: Clock) -> Option<i64> {
        let table = if self.flow.kind == Kind::Udp { "udp" } else { "tcp" };
        let six = if self.flow.src.contains(':') { "6" } else { "" };
        let path = format!("/proc/thread-self/net/{table}{six}");
        loop {
            let now_ns = clock.now();
            if fs::read_to_string(&path).is_ok_and(|text| listed::has(&text, self.flow.sport, CONNECTED)) {
                return Some(now_ns);
            }
            if now_ns > self.deadline_ns || !matches!(child.try_wait(), Ok(None)) {
                return None;
            }
            clock.sleep_until(now_ns + LOOK_NS);
        }
    }
}

/// What the client knows in the end of both sides. Times are iperf3's own, counted from the connection.
fn fill(end: &mut FlowEnd, report: &Value) {
    let sum = |sum: &str, key: &str| report["end"][sum][key].as_u64();
    let after = |sum: &str| {
        let seconds = report["end"][sum]["seconds"].as_f64()?;
        Some(end.connected_ns? + (seconds * SECOND_NS as f64) as i64)
    };
    (end.sender_done_ns, end.receiver_done_ns) = (after("sum_sent"), after("sum_received"));
    (end.bytes_sent, end.bytes_received) = (sum("sum_sent", "bytes"), sum("sum_received", "bytes"));
    end.packets_sent = sum("sum_sent", "packets");
    let lost = sum("sum_received", "lost_packets");
    end.packets_received = sum("sum_received", "packets").and_then(|all| all.checked_sub(lost?));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_report_tells_of_both_sides() {
        let mut end = FlowEnd { connected_ns: Some(100), ..FlowEnd::default() };
        let report = json!({"end": {
            "sum_sent": {"seconds": 2.0, "bytes": 3000, "packets": 3},
            "sum_received": {"seconds": 2.5, "bytes": 2000, "packets": 3, "lost_packets": 1}}});
        fill(&mut end, &report);
        assert_eq!((end.sender_done_ns, end.receiver_done_ns), (Some(2_000_000_100), Some(2_500_000_100)));
        assert_eq!((end.bytes_sent, end.bytes_received), (Some(3000), Some(2000)));
        assert_eq!((end.packets_sent, end.packets_received), (Some(3), Some(2)));
    }

    #[test]
    fn the_client_is_told_what_the_plan_says() {
        let flow: Flow = serde_json::from_value(json!({
            "id": 2, "name": "x", "kind": "udp", "from": "a", "to": "b", "src": "10.0.0.1", "dst": "10.0.0.2",
            "sport": 33002, "dport": 5003, "start_ns": SECOND_NS, "stop_ns": 4 * SECOND_NS, "rate_bps": 8000,
            "packet_bytes": 1000, "tos": 2, "generator": "iperf3"}))
        .expect("a flow");
        let command = client(Path::new(NAME), &flow);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let expected = "-c 10.0.0.2 -B 10.0.0.1 -J -i 0.1 -p 5003 --cport 33002 -t 3 -b 8000 -l 1000 -S 2 -u";
        assert_eq!(words.join(" "), expected);
    }
}
