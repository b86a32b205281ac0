//! `rushhour-agent`: first process of a virtual kernel, process in namespaces, end of a remote path.

use std::process::ExitCode;

use rushhour_agent::launch;

const USAGE: &str = "usage: rushhour-agent run PLAN OUT | launch … | wire …";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("--version") => {
            println!("{}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some("launch") => launch::main(&words[1..]),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
