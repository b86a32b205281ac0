//! The agent's side of its keeper: starts it, asks it, replaces it when it is killed, and waits for it in the end.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{json, Value};

use super::error;
use crate::error::{Context, Error, Result};

/// A keeper of settings; there is none until the first question. Dropping it puts everything back.
#[derive(Debug, Default)]
pub struct Keeper {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    line: Option<Line>,
    watchers: Vec<JoinHandle<()>>,
    closing: bool,
}

/// A running keeper.
#[derive(Debug)]
struct Line {
    pid: u32,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

type Shared = Arc<Mutex<State>>;

fn locked(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    /// Asks the keeper: `verb` is `check`, `apply`, `restore`, `left` or `revert`, `arguments` an object.
    ///
    /// # Errors
    /// What the keeper says, or that it was killed meanwhile; then everything it had changed is put back.
    pub fn ask(&self, verb: &str, arguments: &Value) -> Result<Value> {
        let mut request = arguments.clone();
        if !request.is_object() {
            request = json!({});
        }
        request["do"] = verb.into();
        let mut state = locked(&self.shared);
        if state.closing {
            return Err(error("the session is over"));
        }
        if state.line.is_none() {
            start(&self.shared, &mut state, None)?;
        }
        match state.line.as_mut().map(|line| line.ask(&request)) {
            Some(Ok(answer)) => understood(&answer),
            _ => Err(self.recover(&mut state)),
        }
    }

    /// Puts back what a keeper changed that was killed while at work.
    fn recover(&self, state: &mut State) -> Error {
        let undone = start(&self.shared, state, state.line.as_ref().map(|line| line.pid))
            .and_then(|()| {
                state.line.as_mut().map_or(Ok(String::new()), |line| line.ask(&json!({ "do": "restore" })))
            })
            .and_then(|answer| understood(&answer));
        let killed = error("the process that changes settings was killed");
        match undone {
            Ok(_) => killed.hint("Everything it had changed is put back."),
            Err(error) => killed.hint(format!("What it had changed could not be put back yet: {error}")),
        }
    }
}

impl Keeper {
    /// Has everything put back and waits for it; nothing can be asked afterwards.
    pub fn close(&self) {
        let mut state = locked(&self.shared);
        state.closing = true;
        // The end of its input is the order to put everything back.
        state.line = None;
        // One that was killed has been replaced by the time that its watcher ends.
        while let Some(watcher) = state.watchers.pop() {
            drop(state);
            let _ = watcher.join();
            state = locked(&self.shared);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.close();
    }
}

impl Line {
    fn ask(&mut self, request: &Value) -> Result<String> {
        writeln!(self.requests, "{request}").context("ask the keeper of settings")?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer).context("listen to the keeper of settings")? {
            0 => Err(error("the keeper of settings ended without an answer")),
            _ => Ok(answer),
        }
    }
}

fn understood(answer: &str) -> Result<Value> {
    let mut answer: Value =
        serde_json::from_str(answer).map_err(|cause| error(format!("the keeper of settings: {cause}")))?;
    if answer["ok"] == true {
        return Ok(answer["value"].take());
    }
    let text = |name: &str| answer["error"][name].as_str().unwrap_or_default().to_owned();
    let kind =
        if text("kind") == crate::error::UNSUPPORTED { crate::error::UNSUPPORTED } else { super::KIND };
    Err(Error::new(kind, text("message")).at(text("where")).hint(text("hint")))
}

/// Starts a keeper, instead of the one with this number if there was one, and a thread that sees its end.
fn start(shared: &Shared, state: &mut State, instead_of: Option<u32>) -> Result<()> {
    state.line = None;
    // The agent's own file may be gone from its folder: this name leads to it all the same.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rushhour-agent").arg("keep").stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(pid) = instead_of {
        command.arg("after").arg(pid.to_string());
    }
    let mut child = command.spawn().context("start the keeper of settings")?;
    let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(error("the keeper of settings has no pipes"));
    };
    state.line = Some(Line { pid: child.id(), requests, answers: BufReader::new(answers) });
    let shared = Arc::clone(shared);
    let watcher = thread::Builder::new().name("keeper".to_owned()).spawn(move || watch(child, &shared));
    state.watchers.push(watcher.context("start a thread")?);
    Ok(())
}

/// Waits for the end of a keeper; if it did not end in order, another one takes over its journal.
fn watch(mut child: Child, shared: &Shared) {
    let pid = child.id();
    let in_order = child.wait().is_ok_and(|status| status.success());
    let mut state = locked(shared);
    let replaced = state.line.as_ref().is_some_and(|line| line.pid != pid);
    if in_order || replaced {
        return;
    }
    let _ = start(shared, &mut state, Some(pid));
    if state.closing {
        state.line = None;
    }
}
