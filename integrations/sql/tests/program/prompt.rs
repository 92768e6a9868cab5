//! The prompt, on a pseudo-terminal.

use super::Folder;
use rexpect::session::{Options, PtySession, spawn_with_options};
use std::time::Duration;

/// Starts the prompt in a folder, which also keeps the history.
fn prompt(folder: &Folder) -> PtySession {
    let mut command = folder.command(&["--threads", "2"]);
    command
        .env("XDG_STATE_HOME", folder.path("state"))
        .env("TERM", "xterm");
    let options = Options::new()
        .timeout_ms(Some(60_000))
        .strip_ansi_escape_codes(true);
    let mut session = spawn_with_options(command, options).unwrap();
    session.exp_string("sql> ").unwrap();
    session
}

/// Presses keys without Enter.
fn press(session: &mut PtySession, keys: &str) {
    session.send(keys).unwrap();
    session.flush().unwrap();
}

#[test]
fn a_session_at_the_prompt() {
    let folder = Folder::new();
    folder.numbers("days.amudai.shard", 3);
    let mut session = prompt(&folder);

    // A statement of two lines, whose table is completed.
    session.send_line("SELECT count(*) AS n").unwrap();
    press(&mut session, "FROM 'day\t");
    session.exp_string("days.amudai.shard'").unwrap();
    session.send_line(";").unwrap();
    session.exp_string("| n |").unwrap();
    session.exp_string("| 3 |").unwrap();
    session.exp_string("1 row").unwrap();
    session.exp_string("sql> ").unwrap();

    // An error does not end the prompt.
    session
        .send_line("SELECT nme FROM 'days.amudai.shard';")
        .unwrap();
    session.exp_string("did you mean `name`?").unwrap();
    session.exp_string("sql> ").unwrap();

    // Columns of a file in an earlier statement are completed, and keywords.
    press(&mut session, "SELECT nam\t");
    session.exp_string("name").unwrap();
    session
        .send_line(" AS x FROM 'days.amudai.shard' LIMIT 1;")
        .unwrap();
    session.exp_string("| n1 |").unwrap();
    session.exp_string("sql> ").unwrap();

    session.send_line(".schema days.amudai.shard").unwrap();
    session.exp_string("id Int64").unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line(".format csv").unwrap();
    session.exp_string("sql> ").unwrap();
    session
        .send_line("CREATE TABLE t AS SELECT 1 AS a;")
        .unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line(".tables").unwrap();
    session.exp_regex("\r\nt\r\n").unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line(".help").unwrap();
    session.exp_string(".timing on|off").unwrap();
    session.exp_string("sql> ").unwrap();
    // Habits from other prompts.
    session.send_line("\\?").unwrap();
    session.exp_string(".timing on|off").unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line(".help").unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line("exit").unwrap();
    session.exp_eof().unwrap();

    let history = std::fs::read_to_string(folder.path("state/arrow-shard/sql_history")).unwrap();
    assert!(
        history.contains("CREATE TABLE t AS SELECT 1 AS a;"),
        "{history}"
    );

    // The next session has the history.
    let mut session = prompt(&folder);
    press(&mut session, "\u{1b}[A\u{1b}[A");
    session.exp_string(".help").unwrap();
    session.send_control('c').unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_control('d').unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn an_interrupt_ends_the_query_and_not_the_prompt() {
    let folder = Folder::new();
    let mut session = prompt(&folder);
    let sql = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b \
               WHERE a.value + b.value < 0;";
    session.send_line(sql).unwrap();
    session.exp_string("< 0;").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    session.send_control('c').unwrap();
    session.exp_string("interrupted").unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line("SELECT 40 + 2 AS answer;").unwrap();
    session.exp_string("|     42 |").unwrap();
    session.exp_string("sql> ").unwrap();

    // At the prompt, an interrupt drops the line.
    press(&mut session, "SELECT 1");
    session.send_control('c').unwrap();
    session.exp_string("sql> ").unwrap();
    session.send_line(".quit").unwrap();
    session.exp_eof().unwrap();
}
