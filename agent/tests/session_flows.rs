//! What a session's flows leave behind: nothing, however an experiment ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Value};

/// Far beyond what anything here takes.
const LONG: Duration = Duration::from_secs(60);
const SECOND_NS: i64 = 1_000_000_000;

struct Session {
    agent: Child,
    from: BufReader<std::process::ChildStdout>,
    asked: u64,
}

impl Session {
    fn open() -> Self {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_rushhour-agent"))
            .args(["serve", "--patience", "120"])
            // The C library makes another arena, of 64 MiB of address space, when threads meet in one: so many by chance that
            // what flows take could not be told from it.
            .env("MALLOC_ARENA_MAX", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an agent");
        let from = BufReader::new(agent.stdout.take().expect("its output"));
        Self { agent, from, asked: 0 }
    }

    fn ask(&mut self, mut request: Value) {
        self.asked += 1;
        request["id"] = self.asked.into();
        let to = self.agent.stdin.as_mut().expect("open");
        to.write_all(format!("{request}\n").as_bytes()).expect("heard");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {line:?}"))
    }

    fn call(&mut self, request: Value) -> Value {
        self.ask(request);
        self.answer()
    }

    fn good(&mut self, request: Value) -> Value {
        let answer = self.call(request);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["value"].clone()
    }

    fn prepare(&mut self, plan: &Value) {
        self.good(json!({"do": "prepare", "here": "a", "plan": plan}));
    }

    fn start(&mut self) {
        let now = self.good(json!({"do": "clock"}))["monotonic_ns"].as_i64().expect("a time");
        self.ask(json!({"do": "run", "start_clock_ns": now + 4 * SECOND_NS}));
    }

    /// A number of `/proc/PID/status`.
    fn status(&self, name: &str) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/status", self.agent.id())).expect("a process");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect(name);
        line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    }

    /// Bounds the address space of the agent: to so many bytes more than it has, or no longer.
    fn bound_memory(&self, more: Option<usize>) {
        let bytes =
            more.map_or("unlimited".to_owned(), |more| (self.status("VmSize") * 1024 + more).to_string());
        let pid = self.agent.id().to_string();
        let limited =
            Command::new("prlimit").args(["--pid", &pid, &format!("--as={bytes}:unlimited")]).status();
        assert!(limited.expect("prlimit runs").success());
    }

    /// Waits until it has no more threads than that.
    fn calm_down(&self, threads: usize) {
        let begin = Instant::now();
        while self.status("Threads") > threads {
            assert!(begin.elapsed() < LONG, "{} threads instead of {threads}", self.status("Threads"));
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _gone = self.agent.kill();
        let _reaped = self.agent.wait();
    }
}

/// Flows within one host, from its loopback address to another one of these tests alone.
fn plan(address: &str, duration_ns: i64, sample_ns: i64, flows: &[Value]) -> Value {
    let flow = |(id, extra): (usize, &Value)| {
        let mut flow = json!({"id": id, "name": format!("f{id}"), "kind": "tcp", "from": "a", "to": "a", "src": address,
            "dst": address, "sport": 33_000 + id, "dport": 5001 + id, "start_ns": 0});
        flow.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        flow
    };
    let flows: Vec<Value> = flows.iter().enumerate().map(flow).collect();
    json!({"format": "rushhour-plan/1", "seed": 1, "duration_ns": duration_ns, "sample_ns": sample_ns,
        "nodes": [{"name": "a"}, {"name": "b"}], "links": [], "readings": {}, "flows": flows})
}

fn listens_nobody(address: &str, ports: std::ops::Range<u16>) {
    for port in ports {
        let free = TcpListener::bind((address, port));
        assert!(free.is_ok(), "port {port}: {free:?}");
    }
}

#[test]
fn a_thread_that_cannot_be_started_ends_the_flows_that_were() {
    let mut session = Session::open();
    // Endless ones, and one that a pool drives.
    let mut flows = vec![json!({}); 150];
    flows.push(json!({"bytes": 1000, "start_ns": 40 * SECOND_NS}));
    let plan = plan("127.7.0.1", 50 * SECOND_NS, SECOND_NS, &flows);
    let threads = session.status("Threads");
    session.prepare(&plan);
    session.bound_memory(Some(8 << 20));
    session.start();
    let answer = session.answer();
    let message = answer["error"]["message"].to_string();
    assert!(message.contains("start a thread for a flow"), "{answer}");
    session.calm_down(threads + 1);
    session.good(json!({"do": "forget"}));
    listens_nobody("127.7.0.1", 5001..5152);
    session.bound_memory(None);
    session.prepare(&plan);
    session.start();
    session.good(json!({"do": "stop"}));
    assert_eq!(session.answer()["error"]["kind"], "stopped");
}

/// What this machine knows of the connections to a port: what each has still to send.
fn to_be_sent(address: [u8; 4], port: u16) -> Vec<String> {
    let remote = format!("{:08X}:{port:04X}", u32::from_ne_bytes(address));
    let table = fs::read_to_string("/proc/net/tcp").expect("a table");
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<&str>>());
    rows.filter(|words| words.get(2) == Some(&remote.as_str()))
        .map(|words| words[4][..8].to_owned())
        .collect()
}

#[test]
fn a_stopped_experiment_leaves_no_connection_behind() {
    const HERE: [u8; 4] = [127, 7, 0, 2];
    // Nobody reads: there is always something that is still to be sent.
    let listeners = [5001, 5002].map(|port| TcpListener::bind((Ipv4Addr::from(HERE), port)).expect("a port"));
    let mut session = Session::open();
    let flows = [json!({"to": "b"}), json!({"to": "b", "bytes": 100_000_000})];
    session.prepare(&plan("127.7.0.2", 50 * SECOND_NS, SECOND_NS / 100, &flows));
    session.start();
    let peers = listeners.each_ref().map(|listener| listener.accept().expect("a connection"));
    for port in [5001, 5002] {
        let begin = Instant::now();
        while to_be_sent(HERE, port).iter().all(|bytes| bytes == "00000000") {
            assert!(begin.elapsed() < LONG, "nothing waits to be sent to port {port}");
            thread::sleep(Duration::from_millis(5));
        }
    }
    session.good(json!({"do": "stop"}));
    assert_eq!(session.answer()["error"]["kind"], "stopped");
    session.good(json!({"do": "forget"}));
    for port in [5001, 5002] {
        assert_eq!(to_be_sent(HERE, port), Vec::<String>::new(), "port {port}");
    }
    drop(peers);
}

/// No machine reads its queues in a microsecond.
#[test]
fn readings_that_cannot_be_made_in_time_are_left_out() {
    let mut session = Session::open();
    let mut plan = plan("127.7.0.4", SECOND_NS / 20, 1000, &[json!({})]);
    plan["readings"] = json!({"tcp_info": true});
    session.prepare(&plan);
    session.start();
    let report = session.answer();
    assert_eq!(report["ok"], true, "{report}");
    let warnings = report["value"]["warnings"].to_string();
    assert!(warnings.contains("of 50001 readings were left out"), "{warnings}");
}

#[test]
fn experiments_that_follow_one_another_take_no_more_threads_and_memory_each_time() {
    let mut session = Session::open();
    let threads = session.status("Threads");
    let flows = vec![json!({"bytes": 50_000}); 80];
    let mut sizes = Vec::new();
    for _ in 0..12 {
        session.prepare(&plan("127.7.0.3", SECOND_NS / 20, SECOND_NS / 100, &flows));
        session.start();
        let report = session.answer();
        assert_eq!(report["ok"], true, "{report}");
        session.good(json!({"do": "forget"}));
        session.calm_down(threads + 1);
        sizes.push(session.status("VmSize"));
    }
    // How many stacks are still at hand differs by some MiB each time, on a busy machine by 7 in the least of four. A piece of
    // memory for stacks has 3 MiB: one more each time would be 24.
    let (before, after) = (&sizes[..4], &sizes[8..]);
    assert!(
        after.iter().min() < before.iter().min().map(|least| least + (15 << 10)).as_ref(),
        "kB of address space: {sizes:?}"
    );
}
