//! Tables that are larger than the memory there is. Alone in its process, whose memory it bounds.

use std::fs;
use std::io::Read;
use std::process::Command;

use rushhour_agent::record::table::{sort_by_time, TableWriter};
use serde_json::json;

const ROW: usize = 64;
const ROWS: i64 = 1 << 18;
/// What sorting may take beyond what this process has: a third of the table.
const MORE_KIB: usize = 6 << 10;

#[test]
fn a_table_is_sorted_in_less_memory_than_it_has_bytes() {
    let folder = std::env::temp_dir().join(format!("rushhour-table-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let columns = [("t_ns", "<i8".to_owned()), ("rest", format!("V{}", ROW - 8))];
    let mut table = TableWriter::create(&folder, "t", &columns, ROW, &json!({})).expect("a table");
    for number in 0..ROWS {
        // As two CPUs hand over what they have: each in order.
        table.row().extend((number % 2 * (ROWS / 2) + number / 2).to_le_bytes());
        table.row().extend([0; ROW - 8]);
        table.written().expect("written");
    }
    table.flush().expect("written");
    drop(table);
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let now = status.lines().find_map(|line| line.strip_prefix("VmData:")).expect("a size");
    let now: usize = now.trim().trim_end_matches(" kB").parse().expect("a number");
    let limit = format!("--data={}", (now + MORE_KIB) * 1024);
    let limited = Command::new("prlimit").args(["--pid", &std::process::id().to_string(), &limit]).status();
    assert!(limited.expect("prlimit runs").success());
    sort_by_time(&folder, "t").expect("sorted");
    let mut file = fs::File::open(folder.join("t.rh")).expect("a table");
    let head = file.metadata().expect("known").len() - ROWS as u64 * ROW as u64;
    file.by_ref().take(head).read_to_end(&mut Vec::new()).expect("a head");
    let mut row = [0; ROW];
    for number in 0..ROWS {
        file.read_exact(&mut row).expect("a row");
        assert_eq!(row[..8], number.to_le_bytes());
    }
    assert!(!folder.join("t.rh.part").exists());
    fs::remove_dir_all(&folder).expect("the folder is ours");
}
