//! The serve protocol as a session meets it: a process, lines in, lines out.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rushhour_agent::path::wire::hash;
use serde_json::{json, Value};

/// Far beyond what anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// The agent, by way of the emulator that runs these tests where it is for another machine.
fn program() -> Command {
    let agent = env!("CARGO_BIN_EXE_rushhour-agent");
    match std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER") {
        Ok(emulator) if cfg!(target_arch = "aarch64") => {
            let mut command = Command::new(emulator);
            command.arg(agent);
            command
        }
        _ => Command::new(agent),
    }
}

struct Session {
    agent: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Session {
    fn open(arguments: &[&str]) -> Self {
        let mut agent = program()
            .arg("serve")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("an agent");
        let to = agent.stdin.take();
        let from = BufReader::new(agent.stdout.take().expect("its output"));
        Self { agent, to, from }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.to.as_mut().expect("open").write_all(bytes).expect("heard");
    }

    fn ask(&mut self, request: &Value) {
        self.say(format!("{request}\n").as_bytes());
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {line:?}"))
    }

    fn call(&mut self, request: &Value) -> Value {
        self.ask(request);
        self.answer()
    }

    fn ended(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.agent.try_wait().expect("a child") {
                return status;
            }
            assert!(begin.elapsed() < LONG, "the agent does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _gone = self.agent.kill();
        let _reaped = self.agent.wait();
    }
}

#[test]
fn a_session_says_hello_answers_and_ends() {
    let mut session = Session::open(&[]);
    let hello = session.call(&json!({"id": 1, "do": "hello"}));
    assert_eq!(hello["ok"], true);
    assert_eq!(hello["value"]["format"], "rushhour-serve/1");
    assert_eq!(hello["value"]["pid"], session.agent.id());
    let one = session.call(&json!({"id": 2, "do": "clock"}))["value"]["monotonic_ns"].as_i64();
    let two = session.call(&json!({"id": 3, "do": "clock"}))["value"]["monotonic_ns"].as_i64();
    assert!(one < two && one.is_some());
    let files = session
        .call(&json!({"id": 4, "do": "files", "paths": ["/proc/sys/kernel/osrelease", "/etc/passwd"]}));
    assert_eq!(files["value"]["files"].as_object().map(serde_json::Map::len), Some(1));
    assert_eq!(files["value"]["unreadable"].as_object().map(serde_json::Map::len), Some(1));
    assert_eq!(session.call(&json!({"id": 5, "do": "bye"})), json!({"id": 5, "ok": true, "value": {}}));
    assert!(session.ended().success());
}

#[test]
fn what_cannot_be_understood_is_answered_and_the_session_goes_on() {
    let mut session = Session::open(&[]);
    session.say(b"}{\n\xff\xfe\n{\"id\": 1}\n\n");
    for id in [Value::Null, Value::Null, json!(1)] {
        let answer = session.answer();
        assert_eq!(
            (&answer["id"], &answer["ok"], &answer["error"]["kind"]),
            (&id, &json!(false), &json!("protocol"))
        );
    }
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..33 {
        session.say(&piece);
    }
    session.say(b"\n");
    let message = session.answer()["error"]["message"].to_string();
    assert!(message.contains("longer than"), "{message}");
    assert_eq!(session.call(&json!({"id": 2, "do": "alive"}))["ok"], true);
}

#[test]
fn silence_ends_a_session_and_signs_of_life_prolong_it() {
    let mut session = Session::open(&["--patience", "1"]);
    let begin = Instant::now();
    for id in 0..8 {
        assert_eq!(session.call(&json!({"id": id, "do": "alive"}))["id"], id);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(session.agent.try_wait().expect("a child").is_none());
    assert!(session.ended().success());
    assert!(begin.elapsed() > Duration::from_millis(8 * 200 + 500));
}

#[test]
fn the_end_of_input_and_a_signal_end_a_session() {
    let mut session = Session::open(&[]);
    assert_eq!(session.call(&json!({"id": 0, "do": "alive"}))["ok"], true);
    session.to = None;
    assert!(session.ended().success());
    let mut session = Session::open(&[]);
    assert_eq!(session.call(&json!({"id": 0, "do": "alive"}))["ok"], true);
    let pid = session.agent.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(session.ended().success());
}

/// Asks for more than a pipe holds and takes none of it; what is asked for next waits behind that.
fn stuck(patience: &str) -> Session {
    let mut session = Session::open(&["--patience", patience]);
    session.ask(
        &json!({"id": 1, "do": "files", "paths": ["/proc/kallsyms", "/proc/*/status"], "limit": 1 << 20}),
    );
    let mut first = [0];
    session.from.get_mut().read_exact(&mut first).expect("the begin of an answer");
    for id in 2..5 {
        session.ask(&json!({"id": id, "do": "alive"}));
    }
    session
}

#[test]
fn a_signal_ends_a_session_whose_answers_nobody_takes() {
    let mut session = stuck("86400");
    let pid = session.agent.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(session.ended().success());
}

#[test]
fn silence_ends_a_session_whose_answers_nobody_takes() {
    // The first answer is being made for longer than a second where all CPUs are busy and these instructions emulated.
    assert!(stuck("8").ended().success());
}

#[test]
fn requests_without_end_are_not_kept_for_somebody_who_takes_no_answers() {
    let mut session = stuck("86400");
    let mut to = session.to.take().expect("open");
    let told = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let said = std::sync::Arc::clone(&told);
    // Until nothing more is heard, and then until the session ends.
    let writer = std::thread::spawn(move || {
        let many = "{\"id\": 9, \"do\": \"clock\"}\n".repeat(1000);
        while to.write_all(many.as_bytes()).is_ok() {
            said.fetch_add(1000, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let now = || told.load(std::sync::atomic::Ordering::SeqCst);
    let mut before = usize::MAX;
    let begin = Instant::now();
    while before != now() {
        assert!(begin.elapsed() < LONG && now() < 1_000_000, "all is heard: {}", now());
        before = now();
        std::thread::sleep(Duration::from_millis(500));
    }
    session.agent.kill().expect("killed");
    writer.join().expect("it ends");
}

#[test]
fn a_namespace_that_is_not_there_is_told_as_an_answer() {
    let mut session = Session::open(&["--netns", "/no/such/namespace"]);
    let answer = session.answer();
    assert_eq!(answer["id"], Value::Null);
    let message = answer["error"]["message"].to_string();
    assert!(message.contains("open the network namespace /no/such/namespace"), "{message}");
    assert_eq!(session.ended().code(), Some(1));
}

/// A host's part that opens sockets on the loopback device, and nothing else.
fn half() -> Value {
    let flow = |id: u16, kind: &str| {
        json!({"id": id, "name": "f", "kind": kind, "from": "a", "to": "b", "src": "127.0.0.1", "dst": "127.0.0.1",
               "sport": 33_000 + id, "dport": 5001 + id, "start_ns": 0, "count": 3, "rate_bps": 1000})
    };
    json!({"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1_000_000, "sample_ns": 1_000_000,
           "nodes": [{"name": "a"}, {"name": "b"}], "links": [], "readings": {"tcp_info": true},
           "flows": [flow(0, "tcp"), flow(1, "udp"), flow(2, "rr"), flow(3, "crr"), flow(4, "ping")],
           "watch": [{"node": "a", "dev": "lo", "end": 0}]})
}

#[test]
fn a_half_is_prepared_run_and_forgotten() {
    let mut session = Session::open(&[]);
    let ready = session.call(&json!({"id": 1, "do": "prepare", "here": "a", "plan": half()}));
    assert_eq!(ready["ok"], true, "{ready}");
    let now = session.call(&json!({"id": 2, "do": "clock"}))["value"]["monotonic_ns"].as_i64();
    let start = now.expect("a time") + 50_000_000;
    let result = session.call(&json!({"id": 3, "do": "run", "start_clock_ns": start}));
    assert_eq!(result["value"]["start_clock_ns"], start, "{result}");
    assert_eq!(result["value"]["flows"].as_array().map(Vec::len), Some(5));
    let tables = session.call(&json!({"id": 4, "do": "tables"}));
    let first = &tables["value"]["tables"][0];
    let answer = session.call(&json!({"id": 5, "do": "fetch", "name": first["name"]}));
    assert_eq!(answer["bytes"], first["bytes"]);
    let mut bytes = vec![0; answer["bytes"].as_u64().expect("a size") as usize];
    session.from.read_exact(&mut bytes).expect("the table");
    assert_eq!(&bytes[..8], b"RUSHRAW1");
    let refused = session.call(&json!({"id": 6, "do": "fetch", "name": "raw/../result.json"}));
    assert_eq!(refused["error"]["kind"], "protocol");
    assert_eq!(session.call(&json!({"id": 7, "do": "forget"}))["ok"], true);
    assert_eq!(session.call(&json!({"id": 8, "do": "tables"}))["ok"], false);
}

/// A request as people make it, damaged by dice: never a crash, and a good request is still answered afterwards.
#[test]
fn damaged_requests_never_end_a_session() {
    let good = [
        json!({"id": 1, "do": "hello"}),
        json!({"id": 2, "do": "files", "paths": ["/proc/s*/kernel/*", "/sys/class/net/*/mtu"], "limit": 100}),
        json!({"id": 3, "do": "clock"}),
        json!({"id": 4, "do": "alive", "x": {"y": [1, 2.5, null, "\u{1f600}"]}}),
        json!({"id": 5, "do": "prepare", "here": "a", "plan": half()}),
        json!({"id": 6, "do": "run", "start_clock_ns": 5}),
        json!({"id": 7, "do": "fetch", "name": "raw/../plan.json"}),
        json!({"id": 8, "do": "forget"}),
        json!({"id": 9, "do": "route", "to": "127.0.0.1"}),
    ];
    let mut session = Session::open(&[]);
    for seed in 0..400_u64 {
        let mut dice = (0..).map(|thrown| hash(seed, thrown) as usize);
        let mut throw = |below: usize| dice.next().map_or(0, |number| number % below.max(1));
        let mut bytes = good[throw(good.len())].to_string().into_bytes();
        for _ in 0..=throw(4) {
            if bytes.is_empty() {
                break;
            }
            let at = throw(bytes.len());
            match throw(4) {
                0 => bytes[at] = throw(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"\"{}[]:,\\0\x00\xc3"[throw(10)]),
                _ => bytes.truncate(at + 1),
            }
        }
        bytes.push(b'\n');
        session.say(&bytes);
    }
    session.ask(&json!({"id": 4_000_000, "do": "alive"}));
    let begin = Instant::now();
    while session.answer()["id"] != 4_000_000 {
        assert!(begin.elapsed() < LONG);
    }
    session.to = None;
    let mut rest = Vec::new();
    session.from.read_to_end(&mut rest).expect("the rest");
    assert!(session.ended().success());
}
