//! The kernel as it is asked: system calls, netlink, eBPF, `/proc/sys`, namespaces, clocks, programs beside it.

pub mod bpf;
pub mod clock;
pub mod ethtool;
pub mod netlink;
pub mod netns;
pub mod sys;
pub mod sysctl;
pub mod tool;
