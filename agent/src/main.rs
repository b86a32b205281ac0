//! `rushhour-agent`: first process of a virtual kernel, process in namespaces, end of a remote path.

use std::path::Path;
use std::process::ExitCode;

use rushhour_agent::{
    error::Result,
    host::{able, serve, settings},
    kernel::sys::machine::owns_kernel,
    lab::Lab,
    launch,
    path::{line, wire},
    run::{experiment, init},
    tc,
    traffic::load,
};

const USAGE: &str =
    "usage: rushhour-agent run FOLDER     run the plan in FOLDER/plan.json, leave the record there
       rushhour-agent launch …      start a virtual kernel, confined and supervised
       rushhour-agent able          which of the things on standard input this kernel lacks
       rushhour-agent serve …       answer requests on standard input: the far end of a session
       rushhour-agent wire DEV …    delay TIME, jitter TIME, loss P, drop N,N…, seed N, reorder: on a device's egress, by hand
       rushhour-agent queue DEV LINE…  queue disciplines in tc's words on a device, by hand: 'root handle 1: hfsc default 1'
                                    'class parent 1: classid 1:1 hfsc sc rate 1mbit'
       rushhour-agent kinds         the queue disciplines, filters and actions that it encodes itself
       rushhour-agent line A B …    the same between two devices, in user space; also burst N, duplicate P, corrupt P, mtu N;
                                    other words for the way back behind a slash";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    // A virtual kernel starts its first process by this path.
    if arguments.first().is_some_and(|name| name == "/init") && owns_kernel() {
        init::main(&words);
    }
    match words.as_slice() {
        ["run", folder] => {
            if experiment::run(Path::new(folder), Lab::Namespaces) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        ["keep", words @ ..] => settings::keeper::main(words),
        ["able"] => by_hand(able::command()),
        ["launch", ..] => launch::main(&arguments[2..]),
        ["serve", words @ ..] => serve::command(words),
        ["wire", words @ ..] => by_hand(wire::command(words)),
        ["queue", words @ ..] => by_hand(tc::command(words)),
        ["kinds"] => {
            print!("{}", tc::kinds::LIST);
            ExitCode::SUCCESS
        }
        ["line", words @ ..] => by_hand(line::command(words)),
        ["load", orders] => load::work(orders),
        ["--version"] => {
            println!("{}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn by_hand(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
