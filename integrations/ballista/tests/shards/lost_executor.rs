//! Queries survive an executor that is lost while it works.

use crate::cluster::Cluster;
use crate::process::until;
use crate::tables::{answer, create_tables, local, run, write_tables};
use tempfile::TempDir;

/// A query with two tasks of at least a second for each executor: hashes of long texts.
const SLOW: &str = "SELECT customer, count(*), min(hash), sum(id) FROM (
        SELECT customer, id, encode(sha512(repeat(coalesce(note, 'none') || id, 400)), 'hex') AS hash
        FROM orders) GROUP BY customer";

#[tokio::test(flavor = "multi_thread")]
async fn a_query_survives_an_executor_that_is_killed() {
    let folder = TempDir::new().unwrap();
    let at = format!("{}/", folder.path().display());
    let one = local();
    run(&one, &write_tables(&at, 6, 2000)).await;
    run(&one, &create_tables(&at)).await;
    let expected = answer(&one, SLOW).await;

    let mut cluster = Cluster::start(3, &[]);
    let many = cluster.session(None).await;
    run(&many, &create_tables(&at)).await;
    let query = tokio::spawn(async move { answer(&many, SLOW).await });
    // One task has ended, and other tasks need its rows; another task is running.
    let victim = until("no executor is at work", || {
        cluster.executors.iter().position(|executor| {
            let (begun, ended) = Cluster::tasks(executor);
            ended > 0 && begun > ended
        })
    });
    let mut victim = cluster.executors.remove(victim);
    victim.kill();
    let (begun, ended) = Cluster::tasks(&victim);
    assert!(begun > ended, "{begun} tasks begun, {ended} ended");
    assert!(!query.is_finished(), "the query ended before");
    assert_eq!(query.await.unwrap(), expected);
    // All of its tasks ran again, including the ended ones.
    let log = cluster.scheduler.log();
    assert!(log.contains(&format!("Reset {begun} tasks")), "{log}");
}
