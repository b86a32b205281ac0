//! Answers: one line of JSON each, and raw bytes behind it where it says so.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::{json, Value};

use crate::error::{Error, Result};

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

/// Where answers go, one whole answer at a time.
pub struct Answers(Mutex<Box<dyn Write + Send>>);

impl Answers {
    pub fn new(to: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(to)))
    }

    pub fn outcome(&self, id: u64, outcome: Result<Answer>) -> io::Result<()> {
        match outcome {
            Ok(Answer { value, bytes: None }) => {
                self.write(&json!({"id": id, "ok": true, "value": value}), None)
            }
            Ok(Answer { value, bytes: Some((file, count)) }) => self
                .write(&json!({"id": id, "ok": true, "value": value, "bytes": count}), Some((file, count))),
            Err(error) => self.failure(Some(id), &error),
        }
    }

    /// `id` is null where the request has told none.
    pub fn failure(&self, id: Option<u64>, error: &Error) -> io::Result<()> {
        self.write(&json!({"id": id, "ok": false, "error": error}), None)
    }

    fn write(&self, line: &Value, bytes: Option<(File, u64)>) -> io::Result<()> {
        let mut text = line.to_string();
        text.push('\n');
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(text.as_bytes())?;
        if let Some((file, count)) = bytes {
            let copied = io::copy(&mut file.take(count), &mut *to)?;
            // A file that became shorter: what was announced must come all the same, or nothing after it is understood.
            io::copy(&mut io::repeat(0).take(count - copied), &mut *to)?;
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

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
        say(&Answers::new(heard.clone()));
        let bytes = heard.0.lock().expect("one thread").clone();
        String::from_utf8(bytes).expect("a text")
    }

    #[test]
    fn an_answer_is_one_line() {
        let text = said(|answers| {
            answers.outcome(7, Ok(Answer::from(json!({"text": "two\nlines"})))).expect("written");
        });
        assert_eq!(text, "{\"id\":7,\"ok\":true,\"value\":{\"text\":\"two\\nlines\"}}\n");
    }

    #[test]
    fn a_failure_says_all_that_is_known() {
        let error = Error::new("flow", "bind to 1.2.3.4:5").at("flow a").hint("Try another.");
        let text = said(|answers| answers.failure(None, &error).expect("written"));
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
            answers.outcome(1, Ok(answer)).expect("written");
            let answer = Answer { value: json!({}), bytes: Some((file(), 40)) };
            answers.outcome(2, Ok(answer)).expect("written");
        });
        let (first, rest) = text.split_once('\n').expect("a line");
        assert_eq!(first, "{\"bytes\":4,\"id\":1,\"ok\":true,\"value\":{}}");
        let (second, bytes) = rest[4..].split_once('\n').expect("a second line");
        assert_eq!(second, "{\"bytes\":40,\"id\":2,\"ok\":true,\"value\":{}}");
        assert_eq!(bytes.len(), 40);
    }
}
