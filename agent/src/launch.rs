//! `rushhour-agent launch`: runs one virtual kernel, confined and supervised.
//!
//! ```text
//! controller ──stdin pipe──▶ launcher ─▶ keeper (pid 1 of a pid namespace) ─▶ ./linux ─▶ its user processes
//! ```
//!
//! Whichever of these dies, everything below it dies with it: the keeper when the launcher does (parent-death
//! signal), the whole namespace when the keeper does. The launcher notices the end of its controller by the pipe,
//! and then removes the sandbox too. It answers with one line of JSON, the [`Report`].
//!
//! With `--native` what it keeps is no kernel but the agent itself, on this machine's kernel: the same tree, unconfined.

mod confine;
mod filter;
mod guest;
mod keeper;
mod native;
mod terminal;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::kernel::sys::{files, process};
use crate::reading::trace;

use terminal::Desk;

/// How often the console's size and the guest's progress are looked at.
const LOOK: Duration = Duration::from_millis(100);
const SANDBOX: &str = ".sandbox-";
const PANIC: &[u8] = b"Kernel panic";
const USAGE: &str = "usage: rushhour-agent launch --dir SANDBOX [--cpu N] [--timeout S] [--stall S] \
                     [--console-limit BYTES] [--require] [--hold] [--native] [--terminal KEYS,SCREEN,SPEED] \
                     -- ./linux ARGUMENTS";

/// What the command line asked for.
#[derive(Debug)]
pub struct Options {
    /// The folder that becomes the guest's whole world: `linux`, `root`, `out`, `mem`.
    pub dir: PathBuf,
    /// The host CPU to run on; `None`: wherever the scheduler likes.
    pub cpu: Option<usize>,
    /// Wall-clock limit of the run.
    pub timeout: Duration,
    /// Limit of wall-clock time without progress in virtual time.
    pub stall: Duration,
    /// Limit of the console's size in bytes.
    pub console_limit: u64,
    /// Refuse to run rather than to run with less confinement than the launcher knows of.
    pub require: bool,
    /// Let the guest stand before its first instruction, for a debugger to come in (`SIGSTOP`).
    pub hold: bool,
    /// Run a program on this machine's kernel rather than a kernel of its own.
    pub native: bool,
    /// The terminal at which a person sits.
    pub terminal: Option<terminal::Words>,
    /// The kernel's argument vector, its own name first.
    pub command: Vec<String>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The kernel powered off.
    Done,
    /// The kernel panicked.
    Panic,
    /// The kernel was killed, or left with an error.
    Killed,
    /// The wall-clock limit was reached.
    Timeout,
    /// Virtual time stood still for too long.
    Stall,
    /// The console grew over its limit.
    Flood,
    /// The controller went away or asked for the end.
    Cancelled,
}

/// The launcher's answer.
#[derive(Debug, Serialize)]
pub struct Report {
    reason: Reason,
    exit: Option<i32>,
    signal: Option<i32>,
    elapsed_s: f64,
    user_s: f64,
    system_s: f64,
    max_rss_kb: i64,
    warnings: Vec<String>,
}

/// Runs the subcommand; `args` are the words after `launch`.
#[must_use]
pub fn main(args: &[String]) -> ExitCode {
    match parse(args).and_then(|options| run(&options).map_err(|error| error.to_string())) {
        Ok(report) => match serde_json::to_string(&report) {
            Ok(line) => {
                println!("{line}");
                ExitCode::SUCCESS
            }
            Err(error) => fail(&error.to_string()),
        },
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("launch: {message}");
    ExitCode::from(2)
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        dir: PathBuf::new(),
        cpu: None,
        timeout: Duration::from_secs(600),
        stall: Duration::from_secs(60),
        console_limit: 1 << 20,
        require: false,
        hold: false,
        native: false,
        terminal: None,
        command: Vec::new(),
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value; {USAGE}"));
        match word.as_str() {
            "--dir" => options.dir = PathBuf::from(value()?),
            "--cpu" => options.cpu = Some(number(word, value()?)?),
            "--timeout" => options.timeout = seconds(word, value()?)?,
            "--stall" => options.stall = seconds(word, value()?)?,
            "--console-limit" => options.console_limit = number(word, value()?)?,
            "--require" => options.require = true,
            "--hold" => options.hold = true,
            "--native" => options.native = true,
            "--terminal" => options.terminal = Some(terminal::Words::read(value()?)?),
            "--" => options.command = words.by_ref().cloned().collect(),
            _ => return Err(format!("unknown word {word:?}; {USAGE}")),
        }
    }
    if options.dir.as_os_str().is_empty() || options.command.is_empty() {
        return Err(USAGE.to_owned());
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{word} needs a number, not {value:?}"))
}

fn seconds(word: &str, value: &str) -> Result<Duration, String> {
    let refused = || format!("{word} needs a number of seconds above 0, not {value:?}");
    let limit = number::<f64>(word, value)?;
    if limit > 0.0 {
        Duration::try_from_secs_f64(limit).map_err(|_| refused())
    } else {
        Err(refused())
    }
}

fn run(options: &Options) -> io::Result<Report> {
    process::leave_session();
    if options.hold {
        // Until the guest goes on, nobody here looks at the controller's pipe.
        process::die_with_parent(process::Signal::KILL)?;
    }
    let mut warnings = Vec::new();
    let console_path = options.dir.join("console.log");
    let console = File::create(&console_path)?;
    let started = Instant::now();
    let (keeper, mut desk) = spawn(options, &console, &mut warnings)?;
    let stopped = supervise(options, keeper, &console, started, desk.as_mut());
    drop(desk);
    process::kill_group(keeper);
    let usage = process::wait(keeper)?;
    process::kill_orphans();
    if options.native {
        // Killed, the agent could not take it away.
        trace::take_away(&trace::tracer_name());
    }
    let elapsed_s = started.elapsed().as_secs_f64();
    trim(&console_path, options.console_limit)?;
    if stopped == Some(Reason::Cancelled) {
        // Nobody may be left who could: what the controller made is removed here.
        remove(&options.dir);
    }
    let signal = usage.signal.or((usage.exit > 128).then_some(usage.exit - 128));
    Ok(Report {
        reason: stopped.unwrap_or_else(|| judge(usage.exit, signal, &console_path)),
        exit: signal.is_none().then_some(usage.exit),
        signal,
        elapsed_s,
        user_s: usage.user_s,
        system_s: usage.system_s,
        max_rss_kb: usage.max_rss_kb,
        warnings,
    })
}

/// Starts the keeper of what is to run, and the desk of its terminal if it has one.
fn spawn(options: &Options, console: &File, warnings: &mut Vec<String>) -> io::Result<(u32, Option<Desk>)> {
    Ok(match &options.terminal {
        Some(words) => {
            let (keeper, desk) = terminal::start(options, words, console, warnings)?;
            (keeper.id(), Some(desk))
        }
        None if options.native => (native::spawn(options, console)?.id(), None),
        None => (guest::spawn(options, console, warnings, None)?.id(), None),
    })
}

/// Removes a sandbox, and nothing that is none: its name is the controller's (`lab/confine.py`), its owner is who runs this.
fn remove(sandbox: &Path) {
    let named = sandbox.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(SANDBOX));
    let owned =
        fs::symlink_metadata(sandbox).is_ok_and(|about| about.is_dir() && about.uid() == process::user());
    if named && owned {
        drop(fs::remove_dir_all(sandbox));
    }
}

/// Watches the guest until it ends (`None`) or a limit is reached.
fn supervise(
    options: &Options,
    keeper: u32,
    console: &File,
    started: Instant,
    mut desk: Option<&mut Desk>,
) -> Option<Reason> {
    let stdin = io::stdin();
    let end = process::open_process(keeper);
    let mut progress = Progress::new(&options.dir.join("out/progress"), started);
    loop {
        let ready = match (&end, desk.as_deref_mut()) {
            (Ok(pidfd), Some(desk)) => match desk.wait([stdin.as_fd(), pidfd.as_fd()], LOOK) {
                Ok(ready) => ready,
                Err(_) => return Some(Reason::Cancelled),
            },
            (Ok(pidfd), None) => wait_readable([stdin.as_fd(), pidfd.as_fd()], LOOK),
            (Err(_), _) => poll_without_pidfd(stdin.as_fd(), keeper),
        };
        if ready[1] {
            return None;
        }
        if ready[0] && hung_up() {
            return Some(Reason::Cancelled);
        }
        if console.metadata().is_ok_and(|data| data.len() > options.console_limit) {
            return Some(Reason::Flood);
        }
        if started.elapsed() > options.timeout {
            return Some(Reason::Timeout);
        }
        if desk.as_deref().is_some_and(Desk::holds) {
            progress.since = Instant::now();
        }
        if progress.still() > options.stall {
            return Some(Reason::Stall);
        }
    }
}

/// Which of the two can be read (or have hung up), after at most `limit`.
fn wait_readable(two: [BorrowedFd<'_>; 2], limit: Duration) -> [bool; 2] {
    files::readable(two, limit.as_nanos() as i64).unwrap_or_default()
}

/// For kernels before 5.3: looks for the end ten times as often.
fn poll_without_pidfd(stdin: BorrowedFd<'_>, pid: u32) -> [bool; 2] {
    let hang_up = wait_readable([stdin, stdin], LOOK / 10)[0];
    [hang_up, process::has_ended(pid)]
}

/// Reads away what the controller wrote; true at the pipe's end.
fn hung_up() -> bool {
    let mut buffer = [0_u8; 64];
    !matches!(io::stdin().read(&mut buffer), Ok(count) if count > 0)
}

/// The guest's heartbeat: a file whose content changes as virtual time goes on.
struct Progress {
    path: PathBuf,
    seen: Vec<u8>,
    since: Instant,
}

impl Progress {
    fn new(path: &Path, since: Instant) -> Self {
        Self { path: path.to_owned(), seen: Vec::new(), since }
    }

    /// Wall-clock time since the last change.
    fn still(&mut self) -> Duration {
        let mut now = Vec::new();
        if let Ok(file) = File::open(&self.path) {
            // A hostile guest could make it huge.
            drop(file.take(64).read_to_end(&mut now));
        }
        if now != self.seen {
            self.seen = now;
            self.since = Instant::now();
        }
        self.since.elapsed()
    }
}

fn judge(exit: i32, signal: Option<i32>, console: &Path) -> Reason {
    let text = fs::read(console).unwrap_or_default();
    if text.windows(PANIC.len()).any(|window| window == PANIC) {
        Reason::Panic
    } else if exit == 0 && signal.is_none() {
        Reason::Done
    } else {
        Reason::Killed
    }
}

/// Cuts an overgrown console down to its limit, keeping its end: the last words tell most.
fn trim(path: &Path, limit: u64) -> io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        file.seek(SeekFrom::Start(length - limit))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        fs::write(path, tail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_whole_command_line_is_understood() {
        let options = parse(&words("--cpu 1 --dir /x --stall 0.5 --console-limit 99 -- ./linux --dir a"))
            .expect("valid");
        assert_eq!(options.cpu, Some(1));
        assert_eq!(options.stall, Duration::from_millis(500));
        assert_eq!(options.console_limit, 99);
        assert_eq!(options.command, words("./linux --dir a"));
    }

    #[test]
    fn a_wrong_command_line_is_refused() {
        for line in
            ["", "--dir", "--dir /x", "--cpu one --dir /x -- l", "--dir /x --stall nan -- l", "--what -- l"]
        {
            assert!(parse(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn only_a_sandbox_is_removed() {
        let folder = std::env::temp_dir().join(format!("rushhour-remove-{}", std::process::id()));
        let (sandbox, other, link) =
            (folder.join(".sandbox-a"), folder.join("other"), folder.join(".sandbox-b"));
        for place in [&sandbox, &other] {
            fs::create_dir_all(place.join("deep")).expect("a folder");
        }
        std::os::unix::fs::symlink(&other, &link).expect("a link");
        for place in [&sandbox, &other, &link, &sandbox.join(".."), &PathBuf::from("/dev/null/.sandbox-c")] {
            remove(place);
        }
        assert!(!sandbox.exists());
        assert!(other.join("deep").exists() && link.exists());
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn the_end_of_a_long_console_is_kept() {
        let path = std::env::temp_dir().join(format!("rushhour-trim-{}", std::process::id()));
        fs::write(&path, "first last").expect("written");
        trim(&path, 4).expect("trimmed");
        assert_eq!(fs::read_to_string(&path).expect("there"), "last");
        fs::remove_file(&path).expect("removed");
    }
}
