use super::*;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;

/// As this kernel has it, and as one that takes no lists. (`tests/lab/test_visits.py` does the same in virtual kernels.)
fn both() -> [fn() -> Visit<'static>; 2] {
    [Visit::new, Visit::alone]
}

#[test]
fn calls_are_carried_out_in_their_order_and_each_says_what_came_of_it() {
    for new in both() {
        let (one, other) = UnixDatagram::pair().expect("two sockets");
        other.set_nonblocking(true).expect("not blocking");
        let mut buffers = [[0; 4]; 3];
        let [first, second, third] = &mut buffers;
        let mut visit = new();
        let early = visit.read(other.as_fd(), first);
        let sent = [visit.write(one.as_fd(), b"abc"), visit.send(one.as_fd(), b"de")];
        let come = [visit.receive(other.as_fd(), second), visit.read(other.as_fd(), third)];
        let results = visit.carry_out().expect("carried out");
        assert_eq!(results.of(early).map_err(|cause| cause.kind()), Err(io::ErrorKind::WouldBlock));
        let moved = [sent[0], sent[1], come[0], come[1]].map(|call| results.of(call).ok());
        assert_eq!(moved, [Some(3), Some(2), Some(3), Some(2)]);
        assert_eq!((&buffers[1][..3], &buffers[2][..2]), (b"abc".as_slice(), b"de".as_slice()));
    }
}

#[test]
fn a_file_that_a_call_opens_is_another_ones() {
    for (number, new) in both().into_iter().enumerate() {
        let path = std::env::temp_dir().join(format!("rushhour-visit-{number}-{}", std::process::id()));
        std::fs::write(&path, "old text").expect("written");
        let mut buffer = [0; 16];
        let mut visit = new();
        let file = visit.open(&path, libc::O_RDWR | libc::O_TRUNC);
        visit.write(file, b"new");
        visit.write_at_begin(file, b"N");
        visit.close(file);
        let again = visit.open(&path, libc::O_RDONLY);
        let read = visit.read(again, &mut buffer);
        let mut results = visit.carry_out().expect("carried out");
        assert_eq!(results.of(read).ok(), Some(3));
        assert!(results.file(file).is_err(), "it is closed");
        assert!(results.file(again).is_ok() && results.file(again).is_err(), "once");
        assert_eq!(&buffer[..3], b"New");
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn what_needs_a_call_that_failed_fails_with_it() {
    for new in both() {
        let mut buffer = [0; 4];
        let (one, other) = UnixDatagram::pair().expect("two sockets");
        let mut visit = new();
        let none = visit.open(Path::new("/nowhere/at/all"), libc::O_RDONLY);
        let read = visit.read(none, &mut buffer);
        let closed = visit.close(none);
        let sent = visit.write(one.as_fd(), b"on it goes");
        let results = visit.carry_out().expect("carried out");
        let kinds = [none, read, closed].map(|call| results.of(call).map_err(|cause| cause.kind()));
        assert_eq!(kinds, [Err(io::ErrorKind::NotFound); 3]);
        assert_eq!(results.of(sent).ok(), Some(10));
        assert!(results.check().is_ok(), "none was needed");
        drop(other);
    }
}

#[test]
fn nothing_is_carried_out_after_a_failure_of_what_was_needed() {
    for new in both() {
        let (one, other) = UnixDatagram::pair().expect("two sockets");
        other.set_nonblocking(true).expect("not blocking");
        let mut visit = new();
        visit.open(Path::new("/nowhere/at/all"), libc::O_RDONLY);
        visit.needed();
        let sent = visit.write(one.as_fd(), b"never");
        let results = visit.carry_out().expect("carried out");
        assert_eq!(results.check().map_err(|cause| cause.kind()), Err(io::ErrorKind::NotFound));
        assert_eq!(results.of(sent).map_err(|cause| cause.raw_os_error()), Err(Some(libc::ECANCELED)));
        assert!(other.recv(&mut [0; 8]).is_err());
    }
}

#[test]
fn it_sleeps_until_an_instant_and_reads_the_clock() {
    for new in both() {
        let due = Moment::of(crate::kernel::sys::time::monotonic_ns() + 2_000_000);
        let (mut before, mut after) = (Moment::of(0), Moment::of(0));
        let mut visit = new();
        visit.clock(&mut before);
        visit.sleep_until(&due);
        visit.clock(&mut after);
        visit.carry_out().expect("carried out");
        assert!(before.ns() > 0 && after.ns() >= due.ns());
    }
}

#[test]
fn a_path_that_no_kernel_takes_is_said_before_anything_is_done() {
    let (one, other) = UnixDatagram::pair().expect("two sockets");
    other.set_nonblocking(true).expect("not blocking");
    let mut visit = Visit::new();
    visit.write(one.as_fd(), b"never");
    visit.open(Path::new("/tmp/a\0b"), libc::O_RDONLY);
    assert_eq!(visit.carry_out().map(drop).map_err(|cause| cause.kind()), Err(io::ErrorKind::InvalidInput));
    assert!(other.recv(&mut [0; 8]).is_err());
}
