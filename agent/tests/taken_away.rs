//! What machines take from the agent: root's rights, a high limit of open files, a system call.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Value};

/// Far beyond what anything here takes.
const LONG: Duration = Duration::from_secs(60);
/// An ordinary user, whom every machine has.
const NOBODY: u32 = 65_534;

/// A folder that goes with the test, with a copy of the agent that everybody may run.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rushhour-taken-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
        // By another process: a child that another test starts meanwhile would hold a file that is open here for writing, and
        // such a file cannot be run (ETXTBSY).
        let copied =
            Command::new("cp").arg(env!("CARGO_BIN_EXE_rushhour-agent")).arg(folder.join("agent")).status();
        assert!(copied.expect("a process").success());
        Self(folder)
    }

    fn agent(&self) -> String {
        self.0.join("agent").to_str().expect("a text").to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

/// A process that answers lines, and is gone with the test.
struct Asked(Child);

impl Asked {
    fn new(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process"))
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.0.stdin.as_mut().expect("open").write_all(format!("{request}\n").as_bytes()).expect("heard");
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().expect("open")).read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {line:?}"))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Root's journals are in a folder that an ordinary user can see and not open.
#[test]
fn what_is_left_cannot_be_listed_by_everybody() {
    let place = Place::new("left");
    let script = format!(
        "mount -t tmpfs none /run && mkdir -m 700 /run/rushhour && \
         exec setpriv --reuid {NOBODY} --clear-groups {} keep",
        place.agent()
    );
    let mut keeper = Asked::new(Command::new("unshare").args(["-m", "sh", "-c", &script]));
    let answer = {
        let stdin = keeper.0.stdin.as_mut().expect("open");
        stdin.write_all(b"{\"do\": \"left\"}\n").expect("heard");
        let output = keeper.0.stdout.take().expect("open");
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _unheard = BufReader::new(output).read_line(&mut line).map(|_| tell.send(line));
        });
        told.recv_timeout(LONG).expect("an answer")
    };
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("open /run/rushhour: Permission denied"), "{answer}");
}

/// Whoever can open the folder can lock it, and keep root's sessions waiting for good.
#[test]
fn only_root_can_hold_the_folder_of_journals() {
    let place = Place::new("journals");
    let script = format!("mount -t tmpfs none /run && exec {} keep", place.agent());
    let mut keeper = Asked::new(Command::new("unshare").args(["-mn", "sh", "-c", &script]));
    let change = json!({"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 1});
    let answer = keeper.ask(&json!({"do": "apply", "changes": [change], "who": "a test"}));
    assert_eq!(answer["ok"], true, "{answer}");
    let folder = fs::metadata(format!("/proc/{}/root/run/rushhour", keeper.0.id())).expect("a folder");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

/// The hard limit is below what flows are reckoned to need at most, and above what they do need.
#[test]
fn a_low_limit_of_open_files_is_no_reason_to_refuse_an_experiment() {
    let place = Place::new("files");
    let mut command = Command::new("prlimit");
    command.args(["--nofile=300:400", &place.agent(), "serve"]).uid(NOBODY);
    let mut session = Asked::new(&mut command);
    let flows: Vec<Value> = (0..100)
        .map(|id| {
            json!({"id": id, "name": "f", "kind": "udp", "from": "a", "to": "b", "src": "127.7.1.1",
                   "dst": "127.7.1.1", "sport": 33_000 + id, "dport": 5001 + id, "start_ns": 0, "rate_bps": 1000})
        })
        .collect();
    let plan = json!({"format": "rushhour-plan/1", "seed": 1, "duration_ns": 1_000_000, "sample_ns": 1_000_000,
        "nodes": [{"name": "a"}, {"name": "b"}], "links": [], "readings": {}, "flows": flows});
    let answer = session.ask(&json!({"id": 1, "do": "prepare", "here": "a", "plan": plan}));
    assert_eq!(answer["ok"], true, "{answer}");
    let limits = fs::read_to_string(format!("/proc/{}/limits", session.0.id())).expect("limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(files.split_whitespace().skip(3).take(2).collect::<Vec<_>>(), ["400", "400"]);
}

/// The agent with `close_range` failing, as on Linux before 5.9 and under filters that do not know it, and with more files
/// open than an ordinary process has: what it opens itself has a high number.
fn without_close_range(words: &[&str]) -> Command {
    const FIRST: i32 = 100;
    const FILES: i32 = 4200;
    let fill = "for number in {3..99}; do eval \"exec $number>&2\"; done; exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", fill, env!("CARGO_BIN_EXE_rushhour-agent")]).args(words);
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let program = [
        step(load, 0, 0, 0),
        step(equal, 0, 1, libc::SYS_close_range as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: system calls only, with memory that lives through each.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: 8192, rlim_max: 8192 };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            for number in FIRST..FILES {
                libc::dup2(2, number);
            }
            let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command
}

fn children(pid: u32) -> Vec<u32> {
    // None of a process that has ended meanwhile.
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn the_keeper_ends_with_the_agent_where_files_cannot_be_closed_by_range() {
    let mut session = Asked::new(&mut without_close_range(&["serve"]));
    assert_eq!(session.ask(&json!({"id": 1, "do": "alive"}))["ok"], true);
    let keepers = children(session.0.id());
    assert_eq!(keepers.len(), 1);
    session.0.kill().expect("killed");
    until("the keeper goes on", || is_gone(keepers[0]));
}

#[test]
fn the_launchers_keeper_keeps_no_file_open_where_files_cannot_be_closed_by_range() {
    // SAFETY: asks only.
    if unsafe { libc::geteuid() } != 0 {
        return; // a program on this machine's kernel is kept by root's namespaces
    }
    let place = Place::new("launch");
    let sandbox = place.0.join(".sandbox-test");
    fs::create_dir_all(sandbox.join("out")).expect("a folder");
    let words = ["launch", "--dir", ".sandbox-test", "--native", "--", "/bin/sleep", "600"];
    let mut launcher = Asked::new(without_close_range(&words).current_dir(&place.0));
    let keeper = || children(launcher.0.id()).first().copied();
    until("there is no keeper", || keeper().is_some_and(|keeper| !children(keeper).is_empty()));
    let keeper = keeper().expect("there was one");
    let files = || fs::read_dir(format!("/proc/{keeper}/fd")).map_or(0, Iterator::count);
    until("the keeper holds files of the launcher", || files() == 0);
    // The end of the launcher's input is the sign to stop; a keeper that held it would never let it end.
    drop(launcher.0.stdin.take());
    let mut report = String::new();
    BufReader::new(launcher.0.stdout.as_mut().expect("open")).read_line(&mut report).expect("a report");
    assert!(report.contains("\"cancelled\""), "{report}");
    until("the keeper goes on", || is_gone(keeper));
}
