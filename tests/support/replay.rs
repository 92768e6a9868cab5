//! Cases by seed: which are run, and how one that fails is repeated.

/// Prints how to repeat the case in which the thread panics.
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

/// The one seed that `ARROW_SHARD_SEED` asks for.
pub(crate) fn single_seed() -> Option<u64> {
    number("ARROW_SHARD_SEED")
}

/// Runs the cases of a test, by seed: one if one is asked for, else `ARROW_SHARD_CASES` times as many. `module` is
/// that of the test, as `module_path!` has it.
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
