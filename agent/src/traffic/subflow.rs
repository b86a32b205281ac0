//! A path of a connection that has several: the kernel opens it, so there is nothing to do (`docs/mptcp.md`).

use crate::error::Result;
use crate::plan::Flow;

use super::{Side, Task};

#[expect(clippy::unnecessary_wraps, reason = "as all drivers are called")]
pub(super) fn open(_flow: &Flow, _side: Side, _duration_ns: i64) -> Result<Vec<Task>> {
    Ok(Vec::new())
}
