//! The report: tables with ratios, and a plot.

mod answers;
mod markdown;
mod numbers;
mod pairs;
mod plot;
mod table;

use crate::question::Question;
use crate::run::results;
use answers::Answers;
use anyhow::Result;
use std::path::Path;

/// Writes `benchmarks.md`, `benchmarks.svg`, and `benchmarks-store.md` if a store was measured, to the folder `out`.
///
/// # Errors
/// Returns an error if the machine is not known to have been idle, unless `although_busy`.
pub(crate) fn write(data: &Path, out: &Path, although_busy: bool) -> Result<()> {
    let answers = Answers::read(&results(data))?;
    answers.idleness.check(although_busy)?;
    if let Some(page) = markdown::store_page(&answers)? {
        std::fs::write(out.join("benchmarks-store.md"), page)?;
    }
    // A run may have measured nothing but stores.
    let local = |key: &(_, _, _, Question)| key.3 == Question::Scan;
    if answers.answers.keys().any(local) {
        std::fs::write(out.join("benchmarks.svg"), plot::plot(&answers)?)?;
        std::fs::write(out.join("benchmarks.md"), markdown::page(&answers)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::run::results;
    use std::path::Path;

    const HEADER: &str = r#"{"time":1,"cpu":"Abacus","cores":2,"kernel":"6.1","memory_bytes":1,"load":0.6,"repeat":1,"versions":{}"#;
    const LINE: &str = r#"{"table":"log","format":"shard-balanced","question":"scan","allocator":"mimalloc","rows":1,"file_bytes":2,"samples":[{"wall":3000000,"cpu":1}],"peak":4,"peak_before":5,"threads":1,"requests":6,"rounds":7,"read_bytes":8"#;

    /// Writes the report of a scan with one thread and of one with two, with more fields in each line.
    fn report(header: &str, line: &str, although_busy: bool) -> anyhow::Result<String> {
        let folder = tempfile::tempdir()?;
        let two = LINE.replace("\"scan\"", "\"scan-2-threads\"");
        let text = format!("{HEADER}{header}}}\n{LINE}{line}}}\n{two}{line}}}\n");
        std::fs::write(results(folder.path()), text)?;
        write(folder.path(), folder.path(), although_busy)?;
        let page = |name| std::fs::read_to_string(Path::join(folder.path(), name));
        Ok(page("benchmarks.md")?)
    }

    const IDLE: &str = r#","load":{"average":0.2,"wall":2.0,"others":0.01}"#;
    const BUSY: &str = r#","load":{"average":0.2,"wall":2.0,"others":1.0}"#;

    #[test]
    fn a_run_on_a_busy_machine_is_reported_only_on_request() {
        assert!(report("", BUSY, false).is_err());
        let page = report("", BUSY, true).unwrap();
        assert!(page.contains("**Other programs used 50.0 %"), "{page}");
    }

    #[test]
    fn results_of_earlier_versions_are_reported_only_on_request() {
        let refusal = report("", "", false).unwrap_err().to_string();
        assert!(refusal.contains("--although-busy"), "{refusal}");
        let page = report("", "", true).unwrap();
        assert!(page.contains("on Abacus (2 processors"), "{page}");
        assert!(page.contains("**For 2 of 2 measurements"), "{page}");
    }

    #[test]
    fn two_threads_are_reported_if_the_machine_has_two_processors() {
        let page = report(r#","speed_of_two":1.0"#, IDLE, false).unwrap();
        assert!(page.contains("scan, 2 threads"), "{page}");
        for header in ["", r#","speed_of_two":0.5"#] {
            let page = report(header, IDLE, false).unwrap();
            assert!(!page.contains("scan, 2 threads"), "{page}");
            assert!(page.contains("Left out: "), "{page}");
        }
    }
}
