//! What is written of a run: raw tables, and distributions in few numbers.

pub mod spread;
pub mod table;
