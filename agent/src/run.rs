//! A run, from the plan to its result: in a virtual kernel or in namespaces of this machine.

pub mod calibration;
pub mod capture;
pub mod change;
pub mod commands;
pub mod core;
pub mod experiment;
pub mod init;
