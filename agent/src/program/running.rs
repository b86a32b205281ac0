//! One program, from the wait for its instant to its end.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use crate::kernel::clock::Clock;
use crate::kernel::listed;
use crate::kernel::sys::{self, cpu, files, namespaces, process, terminal};
use crate::plan::Program;

use super::order::{Order, Told};
use super::output::{Kept, Lines, Output};
use super::screen::Screen;
use super::world::{self, View, World};
use super::{Outcome, LAST_NS};

/// How often it is looked whether others are ready or a port is open; after a while less often.
const LOOK_NS: i64 = 1_000_000;
const LATER_NS: i64 = 10_000_000;
const PATIENCE_NS: i64 = 1_000_000_000;
/// How long a program may take to end when asked.
const GRACE_NS: i64 = 2_000_000_000;
/// What is read at once.
const PIECE: usize = 64 << 10;
/// What every program finds in its environment besides what the lab and the scenario say.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/tools"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
];
/// Where the lab says how programs are loaded, so that they are everywhere in the same way.
const LOADING: &str = "/tools/environment";
/// Tables of the sockets of this thread's network; state `0A` listens, a UDP socket without a peer is `07`.
const TABLES: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

pub(super) struct Running {
    pub program: Program,
    pub world: Arc<World>,
    pub folder: PathBuf,
    pub view: View,
    pub node: OwnedFd,
    pub clock: Clock,
    pub duration_ns: i64,
    pub output: Arc<Output>,
    pub order: Arc<Order>,
    /// Hangs up when the experiment is over.
    pub over: Arc<OwnedFd>,
    /// Where a person sits at its terminal: the folder of turns.
    pub terminal: Option<PathBuf>,
}

/// A program that has been started, and what is known of it.
struct Live<'a> {
    of: &'a Running,
    child: Child,
    end: OwnedFd,
    streams: Vec<(Option<OwnedFd>, Lines)>,
    screen: Option<Screen>,
    kept: Kept,
    ready: bool,
    ready_ns: Option<i64>,
    /// When it was asked to end, and when it had.
    asked_ns: Option<i64>,
    ended_ns: Option<i64>,
}

impl Running {
    pub fn run(self) -> Outcome {
        let program = &self.program;
        let mut outcome = Outcome {
            id: program.id,
            name: program.name.clone(),
            node: program.node.clone(),
            ..Outcome::default()
        };
        match self.wait_for_others() {
            Ok(()) => self.carry_out(&mut outcome),
            Err(why) => outcome.error = Some(why),
        }
        if self.order.has_ended(program) {
            self.clock.end();
        }
        outcome
    }

    /// Waits for the instant and for the others.
    fn wait_for_others(&self) -> Result<(), String> {
        let mut at_ns = self.program.start_ns;
        if self.sleep_until(at_ns) {
            return Err("the experiment was over before it began".into());
        }
        let since_ns = at_ns;
        loop {
            match self.order.ask(&self.program.after) {
                Told::Go => return Ok(()),
                Told::Never(one) => return Err(format!("did not begin: {one} was never ready")),
                Told::Wait => at_ns = self.clock.now() + look_ns(self.clock.now() - since_ns),
            }
            if self.sleep_until(at_ns) {
                return Err("did not begin: what it waits for was not ready in time".into());
            }
        }
    }

    /// Sleeps until an instant; says whether the experiment was over before.
    fn sleep_until(&self, t_ns: i64) -> bool {
        let due_ns = self.clock.start_ns() + t_ns;
        files::wait(&[self.over.as_fd()], Some(due_ns)).is_ok_and(|found| found[0])
    }

    fn carry_out(&self, outcome: &mut Outcome) {
        let _kernels_without_such_names = namespaces::be_called(&self.program.node);
        let started = namespaces::enter_netns(&self.node).and_then(|()| self.start());
        outcome.started_ns = Some(self.clock.now());
        let mut live = match started {
            Ok(live) => live,
            Err(cause) => {
                outcome.started_ns = None;
                outcome.error = Some(self.not_begun(&cause));
                return;
            }
        };
        let status = live.follow();
        outcome.ended_ns = live.ended_ns;
        outcome.ready_ns = live.ready_ns;
        outcome.stopped = live.asked_ns.is_some();
        Kept { lines: outcome.lines, bytes: outcome.bytes, dropped: outcome.dropped_bytes, .. } = live.kept;
        match status {
            Ok(status) => {
                (outcome.exit, outcome.signal) = (status.code(), status.signal());
                outcome.error = self.complaint(status, outcome.stopped);
            }
            Err(cause) => outcome.error = Some(format!("could not be followed: {cause}")),
        }
    }

    /// What was wrong with its end.
    fn complaint(&self, status: ExitStatus, stopped: bool) -> Option<String> {
        let expected = self.program.exit;
        if stopped || status.code() == Some(expected) {
            return None;
        }
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with status {code}, not {expected}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => format!("ended oddly: {status}"),
        })
    }

    /// When it is to be asked to end; what ends with the experiment is ended with everything else.
    fn stop_ns(&self) -> Option<i64> {
        self.program.stop_ns.filter(|stop_ns| *stop_ns < self.duration_ns)
    }

    fn not_begun(&self, cause: &io::Error) -> String {
        let program = &self.program.command[0];
        match cause.kind() {
            io::ErrorKind::NotFound => {
                let place = if self.program.root.is_some() { "its root" } else { "this lab" };
                format!("{program} cannot be started: it, or the program that its first line names, is not in {place}")
            }
            _ => format!("{program} cannot be started: {cause}"),
        }
    }

    /// The program with its words, where it works and what it finds in its environment.
    fn command(&self) -> Command {
        let (program, words) = (&self.program.command[0], &self.program.command[1..]);
        let mut command = match program.strip_prefix("./") {
            Some(file) => Command::new(self.folder.join(file)),
            None => Command::new(program),
        };
        command.args(words).current_dir(&self.folder).env_clear().envs(ENVIRONMENT).env("HOME", &self.folder);
        if let Ok(text) = fs::read_to_string(LOADING) {
            command.envs(text.lines().filter_map(|line| line.split_once('=')));
        }
        command.envs(&self.program.environment);
        command
    }

    fn start(&self) -> io::Result<Live<'_>> {
        let mut command = self.command();
        let screen = self.connect(&mut command)?;
        let (view, has_screen) = (self.view.clone(), screen.is_some());
        process::before_exec_beside_threads(&mut command, move || {
            world::enter(&view)?;
            if has_screen {
                terminal::control_by_input()
            } else {
                Ok(())
            }
        });
        let mut child = cpu::gives_way(&mut command).spawn()?;
        let end = process::open_process(child.id())?;
        let printed = screen.as_ref().map(Screen::output).transpose()?;
        let streams = vec![
            (printed.or_else(|| child.stdout.take().map(OwnedFd::from)), Lines::new(self.program.id, "out")),
            (child.stderr.take().map(OwnedFd::from), Lines::new(self.program.id, "err")),
        ];
        let ready = self.program.ready_port.is_none() && self.program.ready_text.is_none();
        let mut live = Live {
            of: self,
            child,
            end,
            streams,
            screen,
            kept: Kept::default(),
            ready: false,
            ready_ns: None,
            asked_ns: None,
            ended_ns: None,
        };
        if ready {
            live.is_ready();
        }
        Ok(live)
    }

    /// Gives it its standard files: a terminal, or its input and two pipes.
    fn connect(&self, command: &mut Command) -> io::Result<Option<Screen>> {
        let Some(folder) = &self.terminal else {
            command.stdin(self.input()?).stdout(Stdio::piped()).stderr(Stdio::piped());
            return Ok(None);
        };
        let (screen, end) = Screen::open(folder.clone())?;
        command.stdin(end.try_clone()?).stdout(end.try_clone()?).stderr(end);
        Ok(Some(screen))
    }

    fn input(&self) -> io::Result<Stdio> {
        let Some(text) = &self.program.input else { return Ok(Stdio::null()) };
        let file = self.world.input(&self.program);
        fs::write(&file, text)?;
        Ok(File::open(file)?.into())
    }
}

/// How long until the next look after so long a wait.
fn look_ns(waited_ns: i64) -> i64 {
    if waited_ns < PATIENCE_NS {
        LOOK_NS
    } else {
        LATER_NS
    }
}

impl Live<'_> {
    /// Reads what it prints until it has ended.
    fn follow(&mut self) -> io::Result<ExitStatus> {
        loop {
            let wake_ns = self.next_look();
            let waited: Vec<_> = self
                .streams
                .iter()
                .filter_map(|(stream, _)| stream.as_ref().map(AsFd::as_fd))
                .chain([self.end.as_fd()])
                .chain(self.asked_ns.is_none().then(|| self.of.over.as_fd()))
                .collect();
            let wake_ns = wake_ns.map(|t_ns| self.of.clock.start_ns() + t_ns);
            let due_ns = self.screen.as_ref().map(Screen::due_ns);
            let found = files::wait(&waited, wake_ns.into_iter().chain(due_ns).min())?;
            let open = self.streams.iter().filter(|(stream, _)| stream.is_some()).count();
            let over = found.get(open + 1).copied().unwrap_or(false);
            let ended = found[open];
            self.read(&found[..open])?;
            if ended {
                self.ended_ns = Some(self.of.clock.now());
                // What it left in its pipes, but not what its children go on to write.
                while self.read_what_is_there()? {}
                self.end_lines();
                self.screen.as_mut().map_or(Ok(()), |screen| screen.turn(true))?;
                self.of.clock.sleep_until(self.of.clock.now() + LAST_NS);
                return self.child.wait();
            }
            self.screen.as_mut().map_or(Ok(()), Screen::turn_if_due)?;
            self.look_for_port();
            self.end_if_due(over);
        }
    }

    /// When there is something to be done, whatever happens.
    fn next_look(&self) -> Option<i64> {
        let now_ns = self.of.clock.now();
        let begun_ns = self.of.program.start_ns;
        let port = (!self.ready && self.of.program.ready_port.is_some())
            .then(|| now_ns + look_ns(now_ns - begun_ns));
        let stop = match self.asked_ns {
            Some(asked_ns) => Some(asked_ns + GRACE_NS),
            None => self.of.stop_ns(),
        };
        port.into_iter().chain(stop).min()
    }

    /// Reads from those of the open streams in which there is something; closes those that hung up.
    fn read(&mut self, found: &[bool]) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut heard = false;
        let open: Vec<usize> =
            (0..self.streams.len()).filter(|number| self.streams[*number].0.is_some()).collect();
        for number in open.into_iter().zip(found).filter_map(|(number, ready)| ready.then_some(number)) {
            let (stream, lines) = &mut self.streams[number];
            let Some(file) = stream else { continue };
            match files::read(file, &mut piece) {
                Ok(0) => *stream = None,
                Ok(some) => {
                    let t_ns = self.of.clock.now();
                    let text = self.of.program.ready_text.as_deref().filter(|_| !self.ready);
                    let mut listen = |line: &str| heard |= text.is_some_and(|text| line.contains(text));
                    let listens: Option<&mut dyn FnMut(&str)> =
                        if text.is_some() { Some(&mut listen) } else { None };
                    lines.take(&piece[..some], t_ns, &mut self.kept, &self.of.output, listens);
                    if let Some(screen) = &mut self.screen {
                        screen.show(&piece[..some]);
                    }
                    if text.is_some() {
                        listen(&lines.begun());
                    }
                }
                Err(cause)
                    if [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].contains(&cause.kind()) => {}
                // All that had the terminal are gone.
                Err(_) if self.screen.is_some() => *stream = None,
                Err(cause) => return Err(cause),
            }
        }
        if heard {
            self.is_ready();
        }
        Ok(())
    }

    /// Whether there was something.
    fn read_what_is_there(&mut self) -> io::Result<bool> {
        let now_ns = sys::time::monotonic_ns();
        let open: Vec<_> = self.streams.iter().filter_map(|(stream, _)| stream.as_ref()).collect();
        if open.is_empty() {
            return Ok(false);
        }
        let waited: Vec<_> = open.into_iter().map(AsFd::as_fd).collect();
        let found = files::wait(&waited, Some(now_ns))?;
        let some = found.contains(&true);
        self.read(&found)?;
        Ok(some)
    }

    fn end_lines(&mut self) {
        let t_ns = self.of.clock.now();
        for (_, lines) in &mut self.streams {
            lines.finish(t_ns, &mut self.kept, &self.of.output);
        }
    }

    fn look_for_port(&mut self) {
        if let Some(port) = self.of.program.ready_port.filter(|_| !self.ready) {
            if TABLES.into_iter().any(|(table, state)| {
                files::read_text(format!("/proc/thread-self/net/{table}"))
                    .is_ok_and(|text| listed::has(&text, port, state))
            }) {
                self.is_ready();
            }
        }
    }

    fn is_ready(&mut self) {
        if !self.ready {
            self.ready = true;
            self.ready_ns = Some(self.of.clock.now());
            self.of.order.is_ready(self.of.program.id);
        }
    }

    /// Asks it to end when its time has come or all is over, and ends it if it does not.
    fn end_if_due(&mut self, over: bool) {
        let now_ns = self.of.clock.now();
        match self.asked_ns {
            None => {
                if over || self.of.stop_ns().is_some_and(|stop_ns| now_ns >= stop_ns) {
                    self.asked_ns = Some(now_ns);
                    // Who sits at a terminal does not end when asked, but when it hangs up.
                    process::ask_group_to_end(self.child.id(), self.screen.is_some());
                }
            }
            Some(asked_ns) if now_ns >= asked_ns + GRACE_NS => process::kill_group(self.child.id()),
            Some(_) => {}
        }
    }
}

impl Drop for Live<'_> {
    /// It takes along whom it started and did not wait for.
    fn drop(&mut self) {
        process::kill_group(self.child.id());
        let _gone = self.child.wait();
    }
}
