//! The kernel as it is asked: system calls, netlink, eBPF, `/proc/sys`, namespaces, clocks, programs beside it, what is left behind.

pub mod beside;
pub mod bpf;
pub mod clock;
pub mod ethtool;
pub mod leftover;
pub mod listed;
pub mod netlink;
pub mod netns;
pub mod sys;
pub mod sysctl;
pub mod tool;
