//! What can go wrong, in the words a person reads in the end.

use std::fmt;
use std::io;

use serde::Serialize;

/// The kind of what this kernel lacks: other cells of the same sweep may do without.
pub const UNSUPPORTED: &str = "unsupported";

/// A failure the agent reports in `result.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Error {
    /// The part that failed: `plan`, `topology`, `qdisc`, `flow`, `trace`, `system`; or `unsupported`.
    pub kind: &'static str,
    /// What was tried and what came back.
    pub message: String,
    /// The link, node or flow it happened at.
    #[serde(rename = "where")]
    pub place: String,
    /// What to do next.
    pub hint: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: String::new(), hint: String::new() }
    }

    /// An operating-system failure: `what` was tried, `cause` came back.
    pub fn system(what: impl fmt::Display, cause: &io::Error) -> Self {
        Self::new("system", format!("{what}: {cause}"))
    }

    #[must_use]
    pub fn kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    /// Says where; the innermost place is kept.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        if self.place.is_empty() {
            self.place = place.into();
        }
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        if !self.hint.is_empty() {
            write!(f, ". {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Says what was tried when an operating-system call fails.
pub trait Context<T> {
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error::system(what, &cause))
    }
}
