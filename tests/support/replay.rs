//! Runs random cases by seed, and prints how to repeat a failing one.

/// Prints the command that repeats a case, if the thread panics.
struct Replay(String);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat this case: {}", self.0);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|e| panic!("{name}={value}: {e}")),
    )
}

/// Returns the seed in `ARROW_SHARD_SEED`, if it is set.
pub(crate) fn single_seed() -> Option<u64> {
    number("ARROW_SHARD_SEED")
}

/// Runs the cases of a test, by seed: only the seed in `ARROW_SHARD_SEED`, or `cases` times the factor
/// `ARROW_SHARD_CASES`. `module` is the `module_path!` of the test.
pub(crate) fn run_cases(module: &str, test: &str, cases: u64, mut case: impl FnMut(u64)) {
    let (program, module) = module.split_once("::").unwrap();
    let seeds = match single_seed() {
        Some(seed) => seed..seed + 1,
        None => 0..cases * number("ARROW_SHARD_CASES").unwrap_or(1),
    };
    for seed in seeds {
        let command = format!(
            "ARROW_SHARD_SEED={seed} cargo test --features cloud,experimental --test {program} -- --exact {module}::{test}"
        );
        let _replay = Replay(command);
        case(seed);
    }
}
