//! `rushhour-agent serve`: the far end of a session. One JSON object a line comes in, one goes out (`docs/serve-protocol.md`).
//!
//! What ends it (end of input, silence, a signal, `bye`) ends everything it began. A [`keeper`] process does what is left to
//! do when the agent is killed.

mod answers;
mod arguments;
pub mod facts;
mod files;
mod hello;
mod keeper;
mod lines;
mod part;
mod scratch;
mod surroundings;
mod verbs;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::error::{Context, Error, Result};
use crate::host::settings;
use crate::kernel::sys::{self, process, signals};

pub use answers::{Answer, Answers};
pub use arguments::Arguments;
pub use keeper::Keeper;
use lines::Lines;

pub const FORMAT: &str = "rushhour-serve/1";

const USAGE: &str = "usage: rushhour-agent serve [--netns PATH] [--patience SECONDS]";
/// A plan of thousands of flows has some megabytes.
const LONGEST_LINE: usize = 32 << 20;
const PATIENCE_S: i64 = 30;
/// What a verb that hangs may delay the end by.
const LAST_WILL: Duration = Duration::from_secs(15);
/// How long the end waits for somebody to take the last answers.
const SHORT: Duration = Duration::from_secs(1);
/// How often it is looked whether answers were taken, while nothing is heard for their sake.
const LOOK_NS: i64 = 50_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What verbs work with.
pub struct Server {
    pub answers: Answers,
    pub keeper: Keeper,
    /// Who changes settings of this host, and puts them back.
    pub settings: settings::handle::Keeper,
    /// A folder of this session's own, gone with it.
    pub scratch: std::path::PathBuf,
    /// What this process could not get, in words.
    pub warnings: Vec<String>,
    part: part::Slot,
    at_end: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    busy: Mutex<usize>,
}

impl Server {
    /// Has `work` done when the session ends in order, the newest first. After a SIGKILL nothing of it happens: that is for
    /// the [`Keeper`].
    pub fn at_end(&self, work: impl FnOnce() + Send + 'static) {
        self.at_end.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(work));
    }

    /// Lets verbs that are being carried out come to their end, where that is near.
    fn answer_the_rest(&self) {
        const TRIES: u32 = 200;
        for _ in 0..TRIES {
            if *self.busy.lock().unwrap_or_else(PoisonError::into_inner) == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(&self) {
        loop {
            let next = self.at_end.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(work) = next else { return };
            work();
        }
    }
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Silence,
    Signal,
    Bye,
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    netns: Option<String>,
    patience_s: i64,
}

impl Options {
    fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self { netns: None, patience_s: PATIENCE_S };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match (*word, words.next()?) {
                ("--netns", path) => options.netns = Some((*path).to_owned()),
                ("--patience", text) => {
                    options.patience_s =
                        text.parse().ok().filter(|seconds| (1..=86_400).contains(seconds))?;
                }
                _ => return None,
            }
        }
        Some(options)
    }
}

/// The command; comes back when the session is over.
#[must_use]
pub fn command(words: &[&str]) -> ExitCode {
    let Some(options) = Options::parse(words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    process::name(c"rushhour-agent");
    match begin(&options) {
        Ok((server, input, signals)) => {
            let end = listen(&server, &input, &signals, options.patience_s * SECOND_NS);
            finish(&server, end)
        }
        Err(error) => {
            // Whoever started this reads answers, so the reason is one.
            if let Ok(answers) = Answers::new(io::stdout()) {
                answers.failure(None, &error);
                answers.drain(SHORT);
            }
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Everything that must be done before there is a second thread.
fn begin(options: &Options) -> Result<(Arc<Server>, File, OwnedFd)> {
    let signals = signals::endings().context("wait for signals")?;
    let mut warnings = Vec::new();
    let private = surroundings::enter(options.netns.as_deref(), &mut warnings)?;
    let keeper = Keeper::start().context("start the keeper")?;
    let scratch = scratch::make(&keeper, private, &mut warnings)?;
    // Programs started later must neither read requests nor write among the answers.
    let nowhere = File::open("/dev/null").context("open /dev/null")?;
    let input = sys::files::take_input(&nowhere).context("take the standard input")?;
    let output = sys::files::take_output(&io::stderr()).context("take the standard output")?;
    let server = Server {
        answers: Answers::new(File::from(output)).context("start a thread for answers")?,
        keeper,
        settings: settings::handle::Keeper::default(),
        scratch,
        warnings,
        part: part::Slot::default(),
        at_end: Mutex::default(),
        busy: Mutex::default(),
    };
    Ok((Arc::new(server), File::from(input), signals))
}

/// Hears requests until the session is over.
fn listen(server: &Arc<Server>, input: &File, signals: &OwnedFd, patience_ns: i64) -> End {
    let mut lines = Lines::new(LONGEST_LINE);
    let mut buffer = vec![0; 1 << 16];
    let mut heard_ns = sys::time::monotonic_ns();
    let Ok(waited_for) = input.try_clone().map(OwnedFd::from) else { return End::Closed };
    loop {
        let left_ns = heard_ns + patience_ns - sys::time::monotonic_ns();
        // Who does not take answers is asked to wait with questions, and may fall silent by it.
        let deaf = server.answers.is_full();
        let waited = [if deaf { signals } else { &waited_for }, signals].map(OwnedFd::as_fd);
        let wait_ns = if deaf { left_ns.min(LOOK_NS) } else { left_ns };
        let Ok([request, signal]) = sys::files::readable(waited, wait_ns) else {
            return End::Closed;
        };
        if signal {
            return End::Signal;
        }
        if !request {
            if left_ns <= 0 {
                return End::Silence;
            }
            continue;
        }
        let mut from = input;
        let Ok(count) = from.read(&mut buffer) else { return End::Closed };
        if count == 0 {
            return End::Closed;
        }
        for line in lines.take(&buffer[..count]) {
            heard_ns = sys::time::monotonic_ns();
            if verbs::hear(server, &line) == verbs::After::End {
                return End::Bye;
            }
        }
    }
}

/// Puts everything back. A thread that hangs does not keep the process: the keeper does what it should have done.
fn finish(server: &Arc<Server>, end: End) -> ExitCode {
    let watchdog = thread::Builder::new().spawn(|| {
        thread::sleep(LAST_WILL);
        process::exit(1);
    });
    drop(watchdog);
    server.part.stop();
    server.end();
    server.answer_the_rest();
    server.settings.close();
    if end == End::Silence {
        eprintln!("rushhour-agent: nothing was heard for too long: the session is over");
    }
    let _running_still = part::drop_all(&server.part);
    // Who has said goodbye listens on.
    server.answers.drain(if end == End::Bye { LAST_WILL } else { SHORT });
    server.keeper.clean();
    ExitCode::SUCCESS
}

/// Carries out a request of a thread's own; too many at once are refused.
fn apart(server: &Arc<Server>, id: u64, work: impl FnOnce(&Server) -> Result<Answer> + Send + 'static) {
    const MOST: usize = 64;
    let busy = |change: fn(usize) -> usize| {
        let mut busy = server.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = change(*busy);
        *busy
    };
    if busy(|count| count + 1) > MOST {
        busy(|count| count - 1);
        let error = Error::new("protocol", format!("{MOST} requests are being carried out already"));
        server.answers.failure(Some(id), &error);
        return;
    }
    let with = Arc::clone(server);
    let started = thread::Builder::new().spawn(move || {
        let outcome = work(&with);
        with.answers.wait_for_room();
        with.answers.outcome(id, outcome);
        *with.busy.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    });
    if let Err(cause) = started {
        busy(|count| count - 1);
        server.answers.failure(Some(id), &Error::system("start a thread", &cause));
    }
}

/// An answer without content.
fn nothing() -> Answer {
    Answer::from(Value::Object(serde_json::Map::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let options =
            |netns: Option<&str>, patience_s| Options { netns: netns.map(str::to_owned), patience_s };
        assert_eq!(Options::parse(&[]), Some(options(None, PATIENCE_S)));
        let both = ["--patience", "5", "--netns", "/run/netns/a"];
        assert_eq!(Options::parse(&both), Some(options(Some("/run/netns/a"), 5)));
        for wrong in [&["--netns"][..], &["--patience", "0"], &["--patience", "x"], &["serve"], &["a", "b"]] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
    }
}
