//! Runs tests in separate processes.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs a test, by its path in this program, again in a child process, after the shell commands `before`, and
/// optionally as another user. Returns whether this process is the child.
pub(crate) fn is_child(test: &str, before: &str, user: Option<u32>) -> bool {
    const CHILD: &str = "ARROW_SHARD_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut child = Command::new("sh");
    let script = format!("{before} && exec \"$0\" --exact {test}");
    child
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap());
    if let Some(user) = user {
        child.uid(user);
    }
    let output = child.env(CHILD, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
