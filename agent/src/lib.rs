//! The hand of Rush Hour. Takes a plan, gives raw tables and a result.
//!
//! Reading order: [`plan`] (what is asked), [`run::experiment`] (the order of things), then the part you came for:
//! [`path`] and [`tc`] build, [`traffic`] drives, [`program`] runs what is not ours, [`reading`] reads, [`record`] writes tables. On machines of others
//! [`host::serve`] takes the place of [`run::experiment`], and [`host::settings`] puts back what was changed there; both run
//! [`run::core`] when all is ready. [`lab`] says whose kernel and time it is, and [`kernel`] is what all of them ask.

pub mod error;
pub mod host;
pub mod kernel;
pub mod lab;
pub mod launch;
pub mod path;
pub mod plan;
pub mod program;
pub mod reading;
pub mod record;
pub mod result;
pub mod run;
pub mod tc;
pub mod traffic;
pub mod turn;
pub mod words;
