//! Changes of TCP sockets' states (`sock:inet_sock_set_state`, `include/trace/events/sock.h`): who connects to whom, and until when.

use std::path::Path;

use crate::error::{Error, Result, UNSUPPORTED};
use crate::kernel::sys;
use crate::reading::found::Change;

use super::format::{Ends, Fields};

const EVENT: &str = "sock/inet_sock_set_state";

/// Where such an event has what.
#[derive(Debug)]
pub struct States {
    pub id: u16,
    size: usize,
    socket_at: usize,
    old_at: usize,
    new_at: usize,
    pid_at: usize,
    protocol_at: usize,
    ends: Ends,
}

impl States {
    /// Switches the event on.
    ///
    /// # Errors
    /// A kernel that has no such event, or another one by this name.
    pub fn enable(root: &Path) -> Result<Self> {
        let event = root.join("events").join(EVENT);
        let lacking = |message: String| {
            Error::new(UNSUPPORTED, message)
                .hint("Sockets that no flow names are followed by this event: Linux 4.16, CONFIG_FTRACE.")
        };
        if !event.exists() {
            return Err(lacking("this kernel has no event sock:inet_sock_set_state".to_owned()));
        }
        let text = sys::files::read_text(event.join("format")).unwrap_or_default();
        let states = Self::parse(&text)
            .ok_or_else(|| lacking("the format of sock:inet_sock_set_state is not known".to_owned()))?;
        super::write(&event.join("enable"), "1")?;
        Ok(states)
    }

    fn parse(text: &str) -> Option<Self> {
        let fields = Fields::parse(text)?;
        Some(Self {
            id: fields.id,
            size: fields.size()?,
            socket_at: fields.at("skaddr", 8)?,
            old_at: fields.at("oldstate", 4)?,
            new_at: fields.at("newstate", 4)?,
            pid_at: fields.at("common_pid", 4)?,
            protocol_at: fields.at("protocol", 2).or_else(|| fields.at("protocol", 1))?,
            ends: fields.ends()?,
        })
    }

    /// `None` of a socket that is none of TCP.
    pub fn change(&self, t_ns: i64, data: &[u8]) -> Option<Change> {
        let word = |at: usize| Some(i32::from_le_bytes(*data.get(at..)?.first_chunk()?));
        if data.len() < self.size || i32::from(data[self.protocol_at]) != libc::IPPROTO_TCP {
            return None;
        }
        let socket = u64::from_le_bytes(*data.get(self.socket_at..)?.first_chunk()?);
        let (old, new, pid) = (word(self.old_at)?, word(self.new_at)?, word(self.pid_at)?);
        Some(Change { t_ns, socket, way: self.ends.way(data)?, old, new, pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: inet_sock_set_state\nID: 77\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:int oldstate;\toffset:16;\tsize:4;\tsigned:1;\n\
        \tfield:int newstate;\toffset:20;\tsize:4;\tsigned:1;\n\
        \tfield:__u16 sport;\toffset:24;\tsize:2;\tsigned:0;\n\
        \tfield:__u16 dport;\toffset:26;\tsize:2;\tsigned:0;\n\
        \tfield:__u16 family;\toffset:28;\tsize:2;\tsigned:0;\n\
        \tfield:__u16 protocol;\toffset:30;\tsize:2;\tsigned:0;\n\
        \tfield:__u8 saddr[4];\toffset:32;\tsize:4;\tsigned:0;\n\
        \tfield:__u8 daddr[4];\toffset:36;\tsize:4;\tsigned:0;\n\
        \tfield:__u8 saddr_v6[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:__u8 daddr_v6[16];\toffset:56;\tsize:16;\tsigned:0;\n";

    #[test]
    fn an_event_tells_of_a_change() {
        let states = States::parse(TEXT).expect("a format");
        let mut data = vec![0; 72];
        data[4] = 9;
        data[8] = 5;
        (data[16], data[20], data[30]) = (2, 1, 6);
        data[24..28].copy_from_slice(&[0x40, 0x9c, 80, 0]);
        data[40..56].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
        data[56..72].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2]);
        let change = states.change(3, &data).expect("a change");
        assert_eq!((change.t_ns, change.socket, change.old, change.new, change.pid), (3, 5, 2, 1, 9));
        assert_eq!(change.way.from.address.to_string(), "10.0.0.1");
        assert_eq!((change.way.from.port, change.way.to.port), (40_000, 80));
        data[30] = 132;
        assert!(states.change(3, &data).is_none() && states.change(3, &data[..70]).is_none());
    }

    #[test]
    fn another_format_is_refused() {
        assert!(States::parse("ID: 4\n").is_none());
        assert!(States::parse(&TEXT.replace("newstate", "state")).is_none());
    }
}
