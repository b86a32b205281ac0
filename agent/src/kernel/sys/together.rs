//! Many reads and writes by one system call (`io_submit(2)`): a virtual kernel charges the host for each visit, not for its work.
//!
//! On sockets and plain files each is carried out in its turn before the call comes back, as if asked for alone. One that fails is
//! no failure of the call, and takes no virtual time. A kernel without such calls (`CONFIG_AIO`), or one that forbids them, is
//! asked for each alone.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::io::Errno;

use super::check;
use super::visit::Visit;

/// Steps of one call; more are made by several.
const MOST: usize = 192;

const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// `struct iocb` (`include/uapi/linux/aio_abi.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Order {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    order: u64,
    result: i64,
    more: i64,
}

/// One thing to do.
#[derive(Debug)]
pub enum Step<'a> {
    /// Take what there is into the buffer, of a file from its begin on.
    Read(BorrowedFd<'a>, &'a mut [u8]),
    /// Write the bytes, into a file from its begin on.
    Write(BorrowedFd<'a>, &'a [u8]),
}

impl Step<'_> {
    fn order(&mut self, number: usize) -> Order {
        let (opcode, file, buffer, bytes) = match self {
            Self::Read(file, buffer) => (PREAD, file.as_raw_fd(), buffer.as_mut_ptr() as u64, buffer.len()),
            Self::Write(file, buffer) => (PWRITE, file.as_raw_fd(), buffer.as_ptr() as u64, buffer.len()),
        };
        Order {
            data: number as u64,
            opcode,
            file: file as u32,
            buffer,
            bytes: bytes as u64,
            ..Order::default()
        }
    }

    /// By a system call of its own.
    fn alone(&mut self) -> io::Result<usize> {
        let moved = match self {
            Self::Read(file, buffer) => match rustix::io::pread(*file, &mut **buffer, 0) {
                Err(Errno::SPIPE) => rustix::io::read(*file, &mut **buffer),
                moved => moved,
            },
            Self::Write(file, bytes) => match rustix::io::pwrite(*file, bytes, 0) {
                Err(Errno::SPIPE) => rustix::io::write(*file, bytes),
                moved => moved,
            },
        };
        Ok(moved?)
    }
}

/// The kernel's side of such calls.
#[derive(Debug)]
pub struct Together {
    /// None where each is asked for alone.
    context: Option<Context>,
}

#[derive(Debug)]
struct Context(libc::c_ulong);

impl Together {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it asks the kernel")]
    pub fn new() -> Self {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word.
        let made = check(unsafe { libc::syscall(libc::SYS_io_setup, MOST, &raw mut context) });
        Self { context: made.ok().map(|_| Context(context)) }
    }

    /// As this kernel has it, and as one without it.
    #[cfg(test)]
    #[must_use]
    pub fn both() -> [Self; 2] {
        [Self::new(), Self { context: None }]
    }

    /// Of each of several instants first the calls of its list, of which none is needed, then its steps, in their order. Gives what each
    /// step came to: the bytes moved, or why none were. All in one visit
    /// where the steps of all together are as many as one call takes; one list then holds what waits for the instants, too.
    ///
    /// # Errors
    /// What the kernel refuses altogether; then calls and steps may have been carried out.
    pub fn carry_out_in_turn(
        &mut self,
        turns: Vec<(Visit<'_>, &mut [Step<'_>])>,
    ) -> io::Result<Vec<Vec<io::Result<usize>>>> {
        let all: usize = turns.iter().map(|(_, steps)| steps.len()).sum();
        match &self.context {
            Some(context) if all <= MOST => context.submit(turns),
            context => {
                turns.into_iter().map(|(before, steps)| one_turn(context.as_ref(), before, steps)).collect()
            }
        }
    }
}

/// The calls, then the steps, however many these are.
fn one_turn(
    context: Option<&Context>,
    before: Visit<'_>,
    steps: &mut [Step<'_>],
) -> io::Result<Vec<io::Result<usize>>> {
    before.carry_out()?;
    let Some(context) = context else { return Ok(steps.iter_mut().map(Step::alone).collect()) };
    let mut results = Vec::with_capacity(steps.len());
    for some in steps.chunks_mut(MOST) {
        results.extend(context.submit(vec![(Visit::new(), some)])?.into_iter().flatten());
    }
    Ok(results)
}

impl Context {
    /// Carries all out, [`MOST`] steps at most. Comes back when they have ended: nobody else writes to their buffers then.
    fn submit(&self, turns: Vec<(Visit<'_>, &mut [Step<'_>])>) -> io::Result<Vec<Vec<io::Result<usize>>>> {
        let (mut visit, mut count, mut calls) = (Visit::new(), 0, Vec::new());
        // What the calls lead to stays where it is until all have been carried out.
        let mut kept: Vec<(Vec<Order>, Vec<*mut Order>)> = Vec::new();
        for (before, steps) in turns {
            let mut orders: Vec<Order> =
                steps.iter_mut().zip(count..).map(|(step, number)| step.order(number)).collect();
            let list: Vec<*mut Order> = orders.iter_mut().map(ptr::from_mut).collect();
            visit.append(before);
            if !list.is_empty() {
                let arguments = [self.0, list.len() as u64, list.as_ptr() as u64];
                // SAFETY: the orders lead to buffers that live until all have ended, which is waited for below.
                calls.push(unsafe { visit.call(libc::SYS_io_submit, &arguments) });
            }
            count += list.len();
            kept.push((orders, list));
        }
        let results = visit.carry_out()?;
        let begun = calls.into_iter().map(|call| results.of(call)).sum::<io::Result<usize>>()?;
        let mut events = vec![Event::default(); count];
        self.wait(&mut events[..begun])?;
        if begun < count {
            return Err(io::Error::other("io_submit took not all of its list"));
        }
        events.sort_unstable_by_key(|event| event.data);
        let mut ended = events.iter().map(|event| {
            usize::try_from(event.result).map_err(|_| io::Error::from_raw_os_error(-event.result as i32))
        });
        Ok(kept.iter().map(|(orders, _)| ended.by_ref().take(orders.len()).collect()).collect())
    }

    /// Takes so many events, of steps that have begun.
    fn wait(&self, events: &mut [Event]) -> io::Result<()> {
        let mut ended = self.ended(events);
        while ended < events.len() {
            let (from, rest) = (events[ended..].as_mut_ptr(), (events.len() - ended) as libc::c_long);
            let none = ptr::null::<libc::timespec>();
            // SAFETY: so many events fit.
            let more = unsafe { libc::syscall(libc::SYS_io_getevents, self.0, rest, rest, from, none) };
            match check(more) {
                Ok(more) => ended += more as usize,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }

    /// Takes the events of what has ended from the ring that the context's number leads to (`struct aio_ring` in `fs/aio.c`; libaio
    /// reads it, too), without a call; none where it looks other than known.
    fn ended(&self, events: &mut [Event]) -> usize {
        const MAGIC: u32 = 0xa10a_10a1;
        const HEADER: usize = 32;
        let ring = self.0 as *mut Event;
        let word = |index: usize| ring.cast::<u32>().wrapping_add(index);
        // SAFETY: the ring is mapped as long as the context lives; its first words are as read here if the fifth says so, and
        // only this thread takes events.
        unsafe {
            if ptr::read_volatile(word(4)) != MAGIC || ptr::read_volatile(word(7)) as usize != HEADER {
                return 0;
            }
            let (size, mut head, tail) =
                (ptr::read_volatile(word(1)), ptr::read_volatile(word(2)), ptr::read_volatile(word(3)));
            let first = ring.wrapping_add(HEADER / size_of::<Event>());
            let mut taken = 0;
            while head != tail && taken < events.len() {
                events[taken] = ptr::read_volatile(first.add(head as usize));
                (head, taken) = ((head + 1) % size, taken + 1);
            }
            ptr::write_volatile(word(2), head);
            taken
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: no memory is passed; nothing is under way.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    fn carried_out(together: &mut Together, steps: &mut [Step<'_>]) -> Vec<io::Result<usize>> {
        let turns = vec![(Visit::new(), steps)];
        together.carry_out_in_turn(turns).expect("carried out").into_iter().flatten().collect()
    }

    fn pair() -> (UnixDatagram, UnixDatagram) {
        let pair = UnixDatagram::pair().expect("two sockets");
        pair.1.set_nonblocking(true).expect("not blocking");
        pair
    }

    #[test]
    fn steps_are_taken_in_their_order_and_each_says_what_came_of_it() {
        Together::both().iter_mut().for_each(take_in_order);
    }

    fn take_in_order(together: &mut Together) {
        let (one, other) = pair();
        let mut buffers = [[0; 8]; 3];
        let [first, second, third] = &mut buffers;
        // So often that the ring turns over.
        for round in 0..MOST {
            let mut steps = [
                Step::Read(other.as_fd(), first),
                Step::Write(one.as_fd(), b"abc"),
                Step::Write(one.as_fd(), b"de"),
                Step::Read(other.as_fd(), second),
                Step::Read(other.as_fd(), third),
            ];
            let results = carried_out(together, &mut steps);
            let kind = results[0].as_ref().expect_err("nothing is there").kind();
            assert_eq!(kind, io::ErrorKind::WouldBlock, "{round}");
            let moved: Vec<usize> = results.into_iter().skip(1).flatten().collect();
            assert_eq!(moved, [3, 2, 3, 2], "{round}");
        }
        assert_eq!((&buffers[1][..3], &buffers[2][..2]), (b"abc".as_slice(), b"de".as_slice()));
    }

    #[test]
    fn each_turn_has_its_calls_and_then_its_steps() {
        Together::both().iter_mut().for_each(take_turns);
    }

    fn take_turns(together: &mut Together) {
        let (one, other) = pair();
        let texts = [b"ab".as_slice(), b"cde", b"f"];
        let mut calls = [[0; 4]; 3];
        let mut steps: Vec<[Step<'_>; 1]> =
            texts.iter().map(|text| [Step::Write(one.as_fd(), text)]).collect();
        // Each turn takes what the turn before has sent, the first nothing.
        let turns = steps.iter_mut().zip(&mut calls).map(|(steps, call)| {
            let mut before = Visit::new();
            before.receive(other.as_fd(), call);
            (before, steps.as_mut_slice())
        });
        let results = together.carry_out_in_turn(turns.collect()).expect("carried out");
        let moved: Vec<Vec<usize>> =
            results.into_iter().map(|turn| turn.into_iter().flatten().collect()).collect();
        assert_eq!(moved, [[2], [3], [1]]);
        assert_eq!((&calls[1][..2], &calls[2][..3]), (b"ab".as_slice(), b"cde".as_slice()));
        assert_eq!(calls[0], [0; 4]);
    }

    #[test]
    fn more_steps_than_one_call_takes_are_all_taken() {
        Together::both().iter_mut().for_each(take_many);
    }

    fn take_many(together: &mut Together) {
        let file = std::env::temp_dir().join(format!("rushhour-together-{}", std::process::id()));
        let mut written = std::fs::File::create(&file).expect("a file");
        written.write_all(b"old text").expect("written");
        let texts: Vec<[u8; 3]> = (0..=2 * MOST).map(|number| [number as u8; 3]).collect();
        let mut steps: Vec<Step<'_>> = texts.iter().map(|text| Step::Write(written.as_fd(), text)).collect();
        let results = carried_out(together, &mut steps);
        assert!(results.len() == texts.len() && results.into_iter().all(|size| size.ok() == Some(3)));
        let left = std::fs::read(&file).expect("there");
        assert_eq!(left, [&[(2 * MOST) as u8; 3][..], b" text"].concat());
        std::fs::remove_file(&file).expect("removed");
    }
}
