//! pp, ping-pong after the test of the 2003 requeue patch: in each game two threads pass a turn to
//! one another by a mutex and a condition variable, and all games are played at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::gate::Gate;
use super::implementation::{Implementation, for_monitors};
use super::locks::{Condvar, Monitor, Monitors};
use super::parameters::{BadParameter, Parameters};
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::usage::Usage;
use super::watchdog;

const PLAYERS: u64 = 2;

struct Game<F: Monitors> {
    state: F::Monitor<State>,
    turn_passed: F::Condvar,
}

struct State {
    /// Whose turn it is: player 0's or player 1's.
    turn: u64,
    turns_played: u64,
    /// Turns that were not the very next after the other player's last.
    out_of_order: u64,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let games = parameters.take_count("games", 128)?;
    let iterations = parameters.take_count("iterations", 1000)? as u64;
    let stack_bytes = parameters.take_count("stack", 32768)?;
    let limit_s = parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?;
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_monitors!(implementation, measure(games, iterations, stack_bytes, limit_s)))
}

fn measure<F: Monitors>(
    games: usize,
    iterations: u64,
    stack_bytes: usize,
    limit_s: f64,
) -> Result<Figures, String> {
    let games_over = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&games_over);
    watchdog::start(limit_s, move || figures([("players_finished", watched.load(Relaxed) as f64)]));
    let games: Vec<_> = (0..games).map(|_| Arc::new(new_game::<F>())).collect();
    let gate = Arc::new(Gate::new(games.len() * PLAYERS as usize));
    let players = games.iter().flat_map(|game| (0..PLAYERS).map(move |player| (game, player)));
    let players: Vec<_> = players
        .map(|(game, player)| {
            let (game, gate, over) = (Arc::clone(game), Arc::clone(&gate), games_over.clone());
            spawn(stack_bytes, move || {
                gate.pass();
                play(&game, player, iterations);
                over.fetch_add(1, Relaxed);
            })
        })
        .collect();

    gate.wait_for_all();
    let usage = Usage::now();
    gate.open();
    players.into_iter().for_each(|thread| thread.join());
    let used = usage.since();

    games.iter().try_for_each(|game| check(&game.state.lock(), iterations))?;
    let turns = (games.len() as u64 * PLAYERS * iterations) as f64;
    Ok(figures([
        ("seconds", used.wall_s),
        ("turns_per_second", turns / used.wall_s),
        ("voluntary_per_op", used.voluntary_switches / turns),
        ("involuntary_per_op", used.involuntary_switches / turns),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / turns),
    ]))
}

fn new_game<F: Monitors>() -> Game<F> {
    let state = State { turn: 0, turns_played: 0, out_of_order: 0 };
    Game { state: F::Monitor::new(state), turn_passed: F::Condvar::new() }
}

fn play<F: Monitors>(game: &Game<F>, player: u64, iterations: u64) {
    for iteration in 0..iterations {
        let mut state = game.state.lock();
        while state.turn != player {
            state = F::Monitor::wait(state, &game.turn_passed);
        }
        let in_order = state.turns_played == PLAYERS * iteration + player;
        state.out_of_order += u64::from(!in_order);
        state.turns_played += 1;
        state.turn = 1 - player;
        game.turn_passed.signal();
    }
}

fn check(state: &State, iterations: u64) -> Result<(), String> {
    let expected = PLAYERS * iterations;
    match (state.turns_played, state.out_of_order) {
        (played, 0) if played == expected => Ok(()),
        (played, 0) => Err(format!("a game of {expected} turns had {played}")),
        (_, count) => Err(format!("{count} turns of a game were out of order")),
    }
}

#[cfg(test)]
mod tests {
    use super::{State, check};

    #[test]
    fn rejects_lost_and_doubled_turns() {
        let state = |turns_played, out_of_order| State { turn: 0, turns_played, out_of_order };
        assert!(check(&state(6, 0), 3).is_ok());
        assert!(check(&state(5, 0), 3).is_err());
        assert!(check(&state(6, 1), 3).is_err());
    }
}
