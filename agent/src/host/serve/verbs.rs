//! The table of verbs: what can be asked for, and where it is done.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::arguments::{Arguments, Nothing};
use super::{answers::Answer, apart, facts, files, hello, lines::Line, nothing, part, Server, LONGEST_LINE};
use crate::error::{Error, Result};
use crate::words;

/// Whether there is something to hear after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Next,
    End,
}

/// How a verb is carried out.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Where requests are heard, before the next one is: for what takes no time.
    AtOnce,
    /// By a thread of its own, while others are heard.
    Apart,
    /// Likewise, after others that are heard from now on have been told of it.
    Announced(fn(&Server)),
}

struct Verb {
    name: &'static str,
    way: Way,
    work: fn(&Server, Arguments) -> Result<Answer>,
}

const fn at_once(name: &'static str, work: fn(&Server, Arguments) -> Result<Answer>) -> Verb {
    Verb { name, way: Way::AtOnce, work }
}

const fn by_a_thread(name: &'static str, work: fn(&Server, Arguments) -> Result<Answer>) -> Verb {
    Verb { name, way: Way::Apart, work }
}

const VERBS: &[Verb] = &[
    at_once("hello", hello::hello),
    at_once("clock", hello::clock),
    at_once("alive", |_, arguments| arguments.read::<Nothing>().map(|_| nothing())),
    by_a_thread("files", files::files),
    by_a_thread("prepare", part::prepare),
    Verb { name: "run", way: Way::Announced(|server| server.part.announce()), work: part::run },
    at_once("stop", part::stop),
    by_a_thread("tables", part::tables),
    by_a_thread("fetch", part::fetch),
    by_a_thread("forget", part::forget),
    by_a_thread("ethtool", gathered),
    by_a_thread("firewall", gathered),
    by_a_thread("links", gathered),
    by_a_thread("neighbours", gathered),
    by_a_thread("qdiscs", gathered),
    by_a_thread("route", gathered),
    by_a_thread("sockets", gathered),
    by_a_thread("check", settings),
    by_a_thread("apply", settings),
    by_a_thread("restore", settings),
    by_a_thread("left", settings),
    by_a_thread("revert", settings),
];
/// The last request of a session.
const BYE: &str = "bye";

/// The verbs of [`facts::VERBS`].
fn gathered(_: &Server, arguments: Arguments) -> Result<Answer> {
    facts::answer(arguments.verb, &Value::Object(arguments.map)).map(Answer::from)
}

/// What the keeper of settings does.
fn settings(server: &Server, arguments: Arguments) -> Result<Answer> {
    server.settings.ask(arguments.verb, &Value::Object(arguments.map)).map(Answer::from)
}

/// Carries out one request, or says why not.
pub fn hear(server: &Arc<Server>, line: &Line) -> After {
    let (id, found) = match line {
        Line::Whole(bytes) => understand(bytes),
        Line::TooLong => {
            let message = format!("a request is longer than {LONGEST_LINE} bytes");
            (None, Err(Error::new("protocol", message)))
        }
    };
    let (request, error) = match found {
        Ok(request) => (Some(request), None),
        Err(error) => (None, Some(error)),
    };
    if let Some(error) = error {
        server.answers.failure(id, &error);
    }
    let (Some(Request { verb, arguments }), Some(id)) = (request, id) else { return After::Next };
    let Some(verb) = verb else {
        server.answers.outcome(id, Ok(nothing()));
        return After::End;
    };
    match verb.way {
        Way::AtOnce => server.answers.outcome(id, (verb.work)(server, arguments)),
        Way::Apart => apart(server, id, move |server| (verb.work)(server, arguments)),
        Way::Announced(tell) => {
            tell(server);
            apart(server, id, move |server| (verb.work)(server, arguments));
        }
    }
    After::Next
}

/// A request that makes sense; without a verb it is the last one.
#[derive(Debug)]
struct Request {
    verb: Option<&'static Verb>,
    arguments: Arguments,
}

impl std::fmt::Debug for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The request in a line, and its number if that could be found.
fn understand(line: &[u8]) -> (Option<u64>, Result<Request>) {
    let fault = |message: String| Err(Error::new("protocol", message));
    let mut map: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(map) => map,
        Err(cause) => {
            return (None, fault(format!("a request must be one JSON object on one line: {cause}")))
        }
    };
    let id = map.remove("id").and_then(|id| id.as_u64());
    if id.is_none() {
        return (None, fault("a request needs an id, a whole number".into()));
    }
    let Some(Value::String(name)) = map.remove("do") else {
        return (id, fault("a request needs \"do\", the name of a verb".into()));
    };
    if name == BYE {
        return (id, Ok(Request { verb: None, arguments: Arguments { verb: BYE, map } }));
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        return (id, Err(unknown(&name)));
    };
    (id, Ok(Request { verb: Some(verb), arguments: Arguments { verb: verb.name, map } }))
}

fn unknown(name: &str) -> Error {
    let names = || VERBS.iter().map(|verb| verb.name).chain([BYE]);
    let near =
        words::nearest(name, names()).map(|near| format!("Did you mean {near:?}? ")).unwrap_or_default();
    let all: Vec<&str> = names().collect();
    let shown: String = name.chars().take(40).collect();
    Error::new("protocol", format!("this agent has no verb {shown:?}"))
        .hint(format!("{near}It has: {}.", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> (Option<u64>, String) {
        let (id, found) = understand(line.as_bytes());
        (id, found.err().map(|error| error.to_string()).unwrap_or_default())
    }

    #[test]
    fn a_request_names_its_number_and_its_verb() {
        let (id, found) = understand(br#"{"id": 3, "do": "files", "paths": []}"#);
        let request = found.expect("a request");
        assert_eq!((id, request.verb.map(|verb| verb.name)), (Some(3), Some("files")));
        assert_eq!(request.arguments.map.keys().collect::<Vec<_>>(), ["paths"]);
    }

    #[test]
    fn what_makes_no_sense_is_answered_with_what_is_wrong() {
        for (line, id, words) in [
            ("[]", None, "one JSON object on one line"),
            ("{\"id\": 1", None, "one JSON object on one line"),
            ("{\"do\": \"hello\"}", None, "needs an id"),
            ("{\"id\": -1, \"do\": \"hello\"}", None, "needs an id"),
            ("{\"id\": 4}", Some(4), "needs \"do\""),
            ("{\"id\": 4, \"do\": 5}", Some(4), "needs \"do\""),
            ("{\"id\": 4, \"do\": \"helo\"}", Some(4), "Did you mean \"hello\"?"),
        ] {
            let (found, text) = error(line);
            assert_eq!(found, id, "{line}");
            assert!(text.contains(words), "{line}: {text}");
        }
    }

    #[test]
    fn every_fact_can_be_asked_for() {
        for fact in facts::VERBS {
            assert!(VERBS.iter().any(|verb| verb.name == fact), "{fact}");
        }
    }

    #[test]
    fn arguments_that_a_verb_does_not_know_are_named() {
        let (_, found) = understand(br#"{"id": 3, "do": "alive", "loud": true}"#);
        let error = found.expect("a request").arguments.read::<Nothing>().map(|_| ()).expect_err("unknown");
        assert!(error.message.starts_with("alive: unknown field `loud`"), "{error}");
    }
}
