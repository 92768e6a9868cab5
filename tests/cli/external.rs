//! Commands that are separate programs: `arrow-shard NAME` runs `arrow-shard-NAME`.

use super::Folder;

/// Creates a program of a shell script in the folder `bin`, and returns a value of PATH with it.
#[cfg(unix)]
pub(super) fn with_program(folder: &Folder, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let bin = folder.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", bin.display())
}

#[cfg(unix)]
#[test]
fn a_program_gets_arguments_and_streams_and_determines_the_exit_code() {
    let folder = Folder::new();
    let script = "for a in \"$@\"; do echo \"<$a>\"; done; cat; echo message >&2; exit 7";
    for name in ["sql", "hello"] {
        let path = with_program(&folder, &format!("arrow-shard-{name}"), script);
        let arguments = [name, "SELECT 1", "--help", "-c", "", "--", "-x"];
        let done = folder.run_with(&[("PATH", path)], &arguments, b"input\n");
        let want = "<SELECT 1>\n<--help>\n<-c>\n<>\n<-->\n<-x>\ninput\n";
        assert_eq!((done.code, done.text().as_str()), (7, want), "{name}");
        assert_eq!(done.err, "message\n");
    }
}

#[cfg(unix)]
#[test]
fn a_program_takes_the_place_of_the_process_and_gets_its_signals() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let script = "trap 'exit 9' TERM; echo $$; while :; do sleep 0.05; done";
    let path = with_program(&folder, "arrow-shard-wait", script);
    let mut child = Command::new(env!("CARGO_BIN_EXE_arrow-shard"))
        .arg("wait")
        .env("PATH", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    let mut out = child.stdout.take().unwrap();
    while !pid.ends_with('\n') {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        pid.push(char::from(byte[0]));
    }
    assert_eq!(pid.trim(), child.id().to_string());
    let killed = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn an_unknown_command_is_an_error_with_the_most_similar_one() {
    let folder = Folder::new();
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    let done = folder.run_with(&nowhere, &["conver", "a", "b"], &[]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("'convert'"), "{}", done.err);
    let done = folder.run_with(&nowhere, &["../bin/sh"], &[]);
    assert_eq!(done.code, 2);
}

#[test]
fn a_missing_program_for_sql_is_explained_and_listed() {
    let folder = Folder::new();
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    let done = folder.run_with(&nowhere, &["sql", "SELECT 1"], &[]);
    let error = done.error(1);
    assert!(
        error.contains("cargo install --path integrations/sql"),
        "{error}"
    );
    let help = folder.run(&["--help"]).ok();
    assert!(
        help.lines()
            .any(|line| line.trim_start().starts_with("sql ")),
        "{help}"
    );
}

#[test]
fn help_about_sql_needs_no_program() {
    let folder = Folder::new();
    let nowhere = [("PATH", folder.path("nowhere").display().to_string())];
    for arguments in [&["sql", "--help"][..], &["sql", "-h"], &["help", "sql"]] {
        let help = folder.run_with(&nowhere, arguments, &[]).ok();
        let has = |text: &str| help.contains(text);
        let is_whole = has("SELECT origin") && has("cargo install --path integrations/sql");
        assert!(is_whole && has("separate program"), "{arguments:?}: {help}");
    }
}
