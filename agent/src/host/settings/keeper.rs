//! `rushhour-agent keep`: the process that changes settings and puts them back.
//!
//! It takes requests from the agent, one JSON object a line, and answers each with one. The end of its input, however it
//! comes about, is the order to put everything back. It is in a session of its own and deaf to signals, so that what ends
//! the agent (a terminal, a lost connection, a kill of its group) does not end it as well.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde_json::{json, Value};

use super::error;
use super::journal::{self, Journal};
use super::work::{self, Scope};
use crate::error::Result;
use crate::kernel::sys::{process, signals};

/// Runs the subcommand; `words` are those after `keep`: nothing, or `after PID` to take over from a killed one.
#[must_use]
pub fn main(words: &[&str]) -> ExitCode {
    process::leave_session();
    signals::ignore(&[libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGPIPE]);
    let scope = match Scope::here() {
        Ok(scope) => scope,
        Err(error) => return fail(&error.to_string()),
    };
    let adopted = match words {
        [] => Ok(None),
        ["after", pid] => work::adopt(scope, pid.parse().unwrap_or(0)),
        _ => return fail("usage: rushhour-agent keep [after PID]"),
    };
    let mut journal = match adopted {
        Ok(journal) => journal,
        Err(error) => return fail(&error.to_string()),
    };
    for line in io::stdin().lock().lines().map_while(io::Result::ok) {
        let answer = answer(&line, scope, &mut journal);
        // Whoever asked may be gone: then the input has ended, too.
        let _ = writeln!(io::stdout(), "{answer}");
    }
    let undone = journal.map(work::undo).unwrap_or_default();
    journal::tidy();
    for outcome in undone {
        if outcome["outcome"] == "changed" || outcome["outcome"] == "failed" {
            let _ = writeln!(io::stderr(), "settings: {} {}", outcome["change"], outcome["detail"]);
        }
    }
    ExitCode::SUCCESS
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::FAILURE
}

fn answer(line: &str, scope: Scope, journal: &mut Option<Journal>) -> Value {
    let request =
        serde_json::from_str(line).map_err(|cause| error(format!("a request that is not JSON: {cause}")));
    match request.and_then(|request| carry_out(&request, scope, journal)) {
        Ok(value) => json!({ "ok": true, "value": value }),
        Err(error) => json!({ "ok": false, "error": error }),
    }
}

fn carry_out(request: &Value, scope: Scope, journal: &mut Option<Journal>) -> Result<Value> {
    let outcome = match request["do"].as_str() {
        Some("check") => work::check(&request["changes"], scope),
        Some("apply") => work::apply(request, scope, journal),
        Some("restore") => {
            let undone = journal.take().map(work::undo).unwrap_or_default();
            journal::tidy();
            Ok(json!({ "undone": undone }))
        }
        Some("left") => work::left(scope),
        Some("revert") => work::revert(scope, request["kept"] == true),
        other => Err(error(format!("the keeper cannot do {other:?}"))),
    };
    // A journal in which nothing stands is removed.
    if journal.take_if(|journal| journal.standing().next().is_none()).is_some() {
        journal::tidy();
    }
    outcome
}
