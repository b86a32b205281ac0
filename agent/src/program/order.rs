//! Who waits for whom, and when all that the experiment waits for have ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::plan::Program;

/// How far a program has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Coming,
    Ready,
    /// It ended before it was ready, or never began.
    Failed,
}

/// What others are to know of every program.
#[derive(Debug)]
pub(super) struct Order {
    states: Mutex<States>,
}

#[derive(Debug)]
struct States {
    of: Vec<State>,
    names: Vec<String>,
    /// How many of those with which the experiment ends have not ended.
    awaited: usize,
}

/// What a program that waits is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    Go,
    Wait,
    /// The program of this name will never be ready.
    Never(String),
}

impl Order {
    pub fn of(programs: &[Program]) -> Self {
        let awaited = programs.iter().filter(|program| program.until_exit).count();
        let names = programs.iter().map(|program| program.name.clone()).collect();
        Self { states: Mutex::new(States { of: vec![State::Coming; programs.len()], names, awaited }) }
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all these are ready.
    pub fn ask(&self, others: &[usize]) -> Told {
        let states = self.states();
        let state = |one: usize| states.of.get(one).copied().unwrap_or(State::Failed);
        if let Some(one) = others.iter().find(|one| state(**one) == State::Failed) {
            return Told::Never(states.names.get(*one).cloned().unwrap_or_default());
        }
        if others.iter().all(|one| state(*one) == State::Ready) {
            Told::Go
        } else {
            Told::Wait
        }
    }

    pub fn is_ready(&self, program: usize) {
        self.states().of[program] = State::Ready;
    }

    /// A program has ended, or will not begin; says whether the experiment need not go on.
    pub fn has_ended(&self, program: &Program) -> bool {
        let mut states = self.states();
        if states.of[program.id] == State::Coming {
            states.of[program.id] = State::Failed;
        }
        if !program.until_exit {
            return false;
        }
        states.awaited -= 1;
        states.awaited == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_when_all_are_ready_or_one_never_will_be() {
        let program = |id| Program { id, name: format!("p{id}"), until_exit: id != 1, ..Program::default() };
        let programs = [program(0), program(1), program(2)];
        let order = Order::of(&programs);
        assert_eq!(order.ask(&[]), Told::Go);
        assert_eq!(order.ask(&[0, 1]), Told::Wait);
        order.is_ready(0);
        assert_eq!(order.ask(&[0]), Told::Go);
        assert_eq!(order.ask(&[0, 1]), Told::Wait);
        assert!(!order.has_ended(&programs[1]), "nobody waits for its end");
        assert_eq!(order.ask(&[0, 1]), Told::Never("p1".into()));
        assert!(!order.has_ended(&programs[2]));
        assert!(order.has_ended(&programs[0]), "the last one");
        assert_eq!(order.ask(&[0]), Told::Go, "it was ready");
    }
}
