//! A machine that takes part: it is asked over a session, and gets its settings back.

pub mod able;
pub mod serve;
pub mod settings;
