//! What requests say beside their verb.

use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// No arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What a request says beside its number and its verb.
#[derive(Debug)]
pub struct Arguments {
    pub verb: &'static str,
    pub map: Map<String, Value>,
}

impl Arguments {
    /// The arguments as a verb wants them.
    ///
    /// # Errors
    /// What is missing, unknown or of the wrong kind, by its name.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_value(Value::Object(self.map))
            .map_err(|cause| Error::new("protocol", format!("{}: {cause}", self.verb)))
    }
}
