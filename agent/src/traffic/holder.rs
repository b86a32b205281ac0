//! Who has a port that a flow wants.

use std::fs;

/// `TCP_LISTEN` in `/proc/net/tcp`; a UDP socket that only receives is in `TCP_CLOSE`.
const WAITING: [&str; 2] = ["0A", "07"];

/// The program that waits on a port in this thread's network namespace, in words; nothing where nobody is found.
pub(super) fn of(port: u16) -> Option<String> {
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|name| format!("/proc/thread-self/net/{name}"));
    let inode = tables.iter().find_map(|path| waiting(&fs::read_to_string(path).ok()?, port))?;
    let link = format!("socket:[{inode}]");
    let pids = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut pids = pids.filter(|name| name.bytes().all(|letter| letter.is_ascii_digit()));
    let pid = pids.find(|pid| has(pid, &link));
    Some(pid.map_or_else(
        || "another user's program has it".to_owned(),
        |pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{} (pid {pid}) has it", name.trim())
        },
    ))
}

fn has(pid: &str, link: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == link))
}

/// The inode of a socket that waits on the port, from a table like `/proc/net/tcp`.
fn waiting(table: &str, port: u16) -> Option<String> {
    let local = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let fits = words.get(1)?.ends_with(&local) && WAITING.contains(words.get(3)?);
        fits.then(|| words.get(9).map(|inode| (*inode).to_owned())).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1389 0100007F:1234 01 00000000:00000000 00:00000000 00000000 0 0 7 1\n\
            1: 00000000:1389 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 21234 1\n";
        assert_eq!(waiting(table, 5001).as_deref(), Some("21234"));
        assert_eq!(waiting(table, 5002), None);
        assert_eq!(waiting("", 5001), None);
    }

    #[test]
    fn this_process_is_found_as_the_holder_of_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let words = of(port).expect("a holder");
        assert!(words.contains(&format!("(pid {})", std::process::id())), "{words}");
    }
}
