//! Settings of a machine or a network namespace: read, changed, verified, and put back whatever happens.
//!
//! ```text
//! agent ──requests──▶ keeper (a process of its own) ──▶ the kernel's settings
//!   └─ dies: the keeper reads the end of its input and puts everything back
//!        └─ dies too: the journal in /run/rushhour stays, and whoever comes next to this host puts everything back
//! ```
//!
//! A change is a JSON object with a `kind`; each kind is a [`Setting`] in a file of its own. Reading order: [`Setting`],
//! [`work`] (what is done with changes), [`journal`] (what outlives a kill), [`keeper`] and [`handle`] (the two processes).

mod device;
mod emulator;
mod feature;
pub mod handle;
mod journal;
pub mod keeper;
mod kinds;
mod link;
mod machine;
mod namespaces;
mod queue;
mod service;
mod sysctls;
mod work;

use serde_json::Value;

use crate::error::{Error, Result};

pub use kinds::parse;

/// The kind of errors about settings.
pub(crate) const KIND: &str = "settings";

/// One thing that can be read, changed and brought back. Values are plain JSON, so that a journal can hold them.
pub trait Setting {
    /// What is changed, so that two who want to change the same thing are noticed: `sysctl net.ipv4.tcp_rmem`.
    fn key(&self) -> String;

    /// Whether it belongs to the whole machine instead of a network namespace.
    fn is_global(&self) -> bool {
        false
    }

    /// The value now.
    ///
    /// # Errors
    /// Of kind [`crate::error::UNSUPPORTED`] where this machine has no such thing.
    fn read(&self) -> Result<Value>;

    /// What is asked for, as [`Setting::write`] takes it.
    ///
    /// # Errors
    /// The value makes no sense, or could not be taken back.
    fn wanted(&self, now: &Value) -> Result<Value>;

    /// Makes a value that was read or is wanted the current one.
    fn write(&self, value: &Value) -> Result<()>;

    /// Whether nothing has to be done.
    fn is_already(&self, now: &Value, wanted: &Value) -> bool {
        now == wanted
    }

    /// Whether the kernel did what was wanted.
    fn became(&self, after: &Value, wanted: &Value) -> bool {
        after == wanted
    }

    /// Whether two readings say the same.
    fn is_same(&self, one: &Value, other: &Value) -> bool {
        one == other
    }
}

pub(crate) fn error(message: impl Into<String>) -> Error {
    Error::new(KIND, message)
}

/// The name of a device as the kernel allows it (`dev_valid_name`): nothing that could be a path.
fn device_name(dev: &str) -> Result<()> {
    let fits = !dev.is_empty() && dev.len() < libc::IFNAMSIZ && !matches!(dev, "." | "..");
    if fits && dev.bytes().all(|letter| letter.is_ascii_graphic() && !matches!(letter, b'/' | b':')) {
        return Ok(());
    }
    Err(error(format!("{dev:?} is not the name of a device")))
}
