//! Answers: one line of JSON each, and raw bytes behind it where it says so.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

use crate::error::{Error, Result};

/// Answers that wait for somebody who does not listen.
const MOST_WAITING: usize = 256;

/// What a verb gives.
#[derive(Debug)]
pub struct Answer {
    pub value: Value,
    /// What follows the line, and how many bytes of it.
    pub bytes: Option<(File, u64)>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, bytes: None }
    }
}

/// An answer as it is written.
struct Written {
    line: Value,
    bytes: Option<(File, u64)>,
}

/// Where answers go, one whole answer at a time, by a thread of their own: whoever asked may not listen, and that must not
/// keep anybody here from hearing what comes next.
pub struct Answers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something is to be written, or has been.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Written>,
    /// One is being written.
    busy: bool,
    /// Nobody listens any more.
    broken: bool,
}

impl Answers {
    /// # Errors
    /// No thread can be started.
    pub fn new(mut to: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mine = Arc::clone(&shared);
        thread::Builder::new().name("answers".to_owned()).spawn(move || mine.write_all(&mut to))?;
        Ok(Self(shared))
    }

    pub fn outcome(&self, id: u64, outcome: Result<Answer>) {
        match outcome {
            Ok(Answer { value, bytes: None }) => {
                self.0.add(json!({"id": id, "ok": true, "value": value}), None);
            }
            Ok(Answer { value, bytes: Some((file, count)) }) => {
                let line = json!({"id": id, "ok": true, "value": value, "bytes": count});
                self.0.add(line, Some((file, count)));
            }
            Err(error) => self.failure(Some(id), &error),
        }
    }

    /// `id` is null where the request has told none.
    pub fn failure(&self, id: Option<u64>, error: &Error) {
        self.0.add(json!({"id": id, "ok": false, "error": error}), None);
    }

    /// Whether so many wait that nothing more should be asked for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.state().waiting.len() >= MOST_WAITING
    }

    /// Waits until another answer would be in place; for threads that have nothing else to do.
    pub fn wait_for_room(&self) {
        let full = |state: &mut State| state.waiting.len() >= MOST_WAITING;
        drop(self.0.changed.wait_while(self.0.state(), full).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until everything is written, but not long for somebody who does not listen.
    pub fn drain(&self, patience: Duration) {
        let unwritten = |state: &mut State| state.busy || !state.waiting.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.0.state(), patience, unwritten);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: Value, bytes: Option<(File, u64)>) {
        let mut state = self.state();
        if !state.broken {
            state.waiting.push_back(Written { line, bytes });
            self.changed.notify_all();
        }
    }

    fn write_all(&self, to: &mut dyn Write) {
        loop {
            let idle = |state: &mut State| state.waiting.is_empty();
            let mut state =
                self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
            let Some(next) = state.waiting.pop_front() else { continue };
            state.busy = true;
            drop(state);
            let outcome = next.write(to);
            let mut state = self.state();
            state.busy = false;
            if outcome.is_err() {
                state.broken = true;
                state.waiting.clear();
            }
            drop(state);
            self.changed.notify_all();
            if outcome.is_err() {
                return;
            }
        }
    }
}

impl Written {
    fn write(self, mut to: &mut dyn Write) -> io::Result<()> {
        let mut text = self.line.to_string();
        text.push('\n');
        to.write_all(text.as_bytes())?;
        if let Some((file, count)) = self.bytes {
            let copied = io::copy(&mut file.take(count), &mut to)?;
            // A file that became shorter: what was announced must come all the same, or nothing after it is understood.
            io::copy(&mut io::repeat(0).take(count - copied), &mut to)?;
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn said(say: impl FnOnce(&Answers)) -> String {
        let heard = Heard::default();
        let answers = Answers::new(heard.clone()).expect("a thread");
        say(&answers);
        answers.drain(Duration::MAX);
        let bytes = heard.0.lock().expect("one thread").clone();
        String::from_utf8(bytes).expect("a text")
    }

    #[test]
    fn an_answer_is_one_line() {
        let text = said(|answers| {
            answers.outcome(7, Ok(Answer::from(json!({"text": "two\nlines"}))));
        });
        assert_eq!(text, "{\"id\":7,\"ok\":true,\"value\":{\"text\":\"two\\nlines\"}}\n");
    }

    #[test]
    fn a_failure_says_all_that_is_known() {
        let error = Error::new("flow", "bind to 1.2.3.4:5").at("flow a").hint("Try another.");
        let text = said(|answers| answers.failure(None, &error));
        let expected =
            "{\"error\":{\"hint\":\"Try another.\",\"kind\":\"flow\",\"message\":\"bind to 1.2.3.4:5\",\
                        \"where\":\"flow a\"},\"id\":null,\"ok\":false}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn as_many_bytes_come_as_were_announced() {
        let file = || File::open("/proc/self/comm").expect("a file");
        let text = said(|answers| {
            let answer = Answer { value: json!({}), bytes: Some((file(), 4)) };
            answers.outcome(1, Ok(answer));
            let answer = Answer { value: json!({}), bytes: Some((file(), 40)) };
            answers.outcome(2, Ok(answer));
        });
        let (first, rest) = text.split_once('\n').expect("a line");
        assert_eq!(first, "{\"bytes\":4,\"id\":1,\"ok\":true,\"value\":{}}");
        let (second, bytes) = rest[4..].split_once('\n').expect("a second line");
        assert_eq!(second, "{\"bytes\":40,\"id\":2,\"ok\":true,\"value\":{}}");
        assert_eq!(bytes.len(), 40);
    }
}
