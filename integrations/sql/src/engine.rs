//! Runs statements one by one, prints their results, and stops on signals.

use crate::args::Args;
use crate::failure::Failure;
use crate::files::FileTables;
use crate::interrupt::Interrupts;
use crate::output::{Printer, Style};
use crate::session;
use crate::work::{Done, Piece, Work};
use datafusion::prelude::SessionContext;
use futures::FutureExt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Time for an interrupted statement to delete its files, before the program ends without waiting for it.
const GRACE: Duration = Duration::from_secs(2);

/// Time for the tasks of a statement that has failed to end, and for a worker to answer.
const SETTLE: Duration = Duration::from_millis(500);

/// Stack of threads: plans of long expressions are deep.
const STACK_BYTES: usize = 8 << 20;

/// A session, its threads, and settings that commands of the prompt change.
pub(crate) struct Engine {
    pub(crate) ctx: SessionContext,
    pub(crate) files: Arc<FileTables>,
    pub(crate) style: Style,
    pub(crate) timing: bool,
    pub(crate) force: bool,
    /// The file for the rows of the only query.
    pub(crate) output: Option<PathBuf>,
    quiet: bool,
    interrupts: Interrupts,
    /// Receives signals and prints, on the thread of the caller. Operators may keep all workers busy for minutes
    /// without a pause, in which workers would receive no signal.
    front: Runtime,
    /// Runs statements.
    workers: Runtime,
    threads: usize,
}

impl Engine {
    /// Starts a session with the options of the command line.
    pub(crate) fn new(args: &Args) -> Result<Self, Failure> {
        let (ctx, files) = session::create(args)?;
        let front = Builder::new_current_thread().enable_all().build()?;
        let interrupts = {
            let _inside = front.enter();
            Interrupts::new()?
        };
        let threads = session::threads(args);
        Ok(Self {
            ctx,
            files,
            style: Style::new(args.format, args.max_rows, args.width),
            timing: args.timing,
            force: args.force,
            output: args.output.clone(),
            quiet: args.quiet,
            interrupts,
            front,
            workers: workers(threads)?,
            threads,
        })
    }

    /// Waits for a future, on the threads of the session.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.workers.block_on(future)
    }

    /// Returns a handle of the threads of the session.
    pub(crate) fn handle(&self) -> Handle {
        self.workers.handle().clone()
    }

    /// Runs a statement, and reports its time and the number of written rows.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        let start = Instant::now();
        let done = self.statement(sql);
        if self.timing {
            eprintln!("time: {:.3} s", start.elapsed().as_secs_f64());
        }
        if self.quiet {
            return done.map(|_| ());
        }
        let rows = |rows: u64| {
            if rows == 1 {
                "1 row".to_owned()
            } else {
                format!("{rows} rows")
            }
        };
        match done? {
            Done::Nothing => {}
            Done::Copied { rows: n, target } => eprintln!("{} written to {target}", rows(n)),
            Done::Inserted { rows: n } => eprintln!("{} inserted", rows(n)),
        }
        Ok(())
    }

    fn statement(&mut self, sql: &str) -> Result<Done, Failure> {
        let work = Work {
            sql: sql.to_owned(),
            output: self.output.clone(),
            force: self.force,
        };
        let (ctx, style) = (self.ctx.clone(), self.style);
        let interrupts = &mut self.interrupts;
        let quiet = self.quiet;
        let workers = self.workers.handle();
        let mut is_stuck = false;
        let done = self.front.block_on(async {
            // A signal that came before the statement does not end it.
            while interrupts.next().now_or_never().is_some() {}
            let (sender, mut pieces) = mpsc::channel(2);
            let mut task = workers.spawn(work.run(ctx, sender));
            let mut printer = None;
            loop {
                let piece = tokio::select! {
                    biased;
                    signal = interrupts.next() => {
                        is_stuck = stop(&mut task, interrupts, workers).await;
                        return Err(Failure::Interrupted(signal));
                    }
                    piece = pieces.recv() => piece,
                };
                let printed = match piece {
                    Some(Piece::Columns { schema, is_plan }) => {
                        Printer::new(style, quiet, schema, is_plan).map(|it| printer = Some(it))
                    }
                    Some(Piece::Rows(batch)) => match &mut printer {
                        Some(printer) => printer.print(&batch),
                        None => Ok(()),
                    },
                    None => break,
                };
                if let Err(failure) = printed {
                    is_stuck = stop(&mut task, interrupts, workers).await;
                    return Err(failure);
                }
            }
            // The statement may still have work to do that gives no rows.
            let result = tokio::select! {
                biased;
                signal = interrupts.next() => {
                    is_stuck = stop(&mut task, interrupts, workers).await;
                    return Err(Failure::Interrupted(signal));
                }
                result = &mut task => result,
            };
            let done = result.unwrap_or_else(|error| Err(panicked(error)))?;
            if let Some(printer) = printer {
                printer.finish()?;
            }
            Ok(done)
        });
        if is_stuck {
            // Its threads compute until the program ends; the next statement gets others.
            let stuck = std::mem::replace(&mut self.workers, self::workers(self.threads)?);
            stuck.shutdown_background();
        }
        done
    }

    /// Ends the session. A statement that does not stop is left behind. After a failure, waits until the tasks of the
    /// statement have deleted their files.
    pub(crate) fn close(self, failed: bool) {
        drop(self.ctx);
        if failed {
            let workers = self.workers.handle();
            let settled = async { tokio::time::timeout(SETTLE, settled(workers)).await };
            // Tasks of connections may stay.
            let _left = self.front.block_on(settled);
        }
        self.workers.shutdown_timeout(GRACE);
        let _discarded = arrow_shard::io::discard_uncommitted();
    }
}

/// Starts the threads that run statements.
fn workers(threads: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
}

/// Cancels a statement, and waits until it has stopped; not for long, and not after another signal. Returns whether it
/// still keeps threads busy.
async fn stop(
    task: &mut JoinHandle<Result<Done, Failure>>,
    interrupts: &mut Interrupts,
    workers: &Handle,
) -> bool {
    task.abort();
    let stopped = async {
        let _result = task.await;
        // Tasks of connections may stay.
        let _left = tokio::time::timeout(SETTLE, settled(workers)).await;
        all_answer(workers).await
    };
    tokio::select! {
        answers = stopped => !answers,
        _ = interrupts.next() => true,
        () = tokio::time::sleep(GRACE) => true,
    }
}

/// Returns whether no task keeps a worker busy: each must get its turn soon.
async fn all_answer(workers: &Handle) -> bool {
    let count = workers.metrics().num_workers();
    let arrivals = Arc::new((Mutex::new(0), Condvar::new()));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let arrivals = arrivals.clone();
            workers.spawn(async move {
                let (arrived, changed) = &*arrivals;
                let mut arrived = arrived.lock().unwrap_or_else(PoisonError::into_inner);
                *arrived += 1;
                changed.notify_all();
                // While it waits, this worker runs no other of these tasks.
                let waited = changed.wait_timeout_while(arrived, SETTLE, |it| *it < count);
                *waited.unwrap_or_else(PoisonError::into_inner).0 == count
            })
        })
        .collect();
    for task in tasks {
        let answer = tokio::time::timeout(2 * SETTLE, task).await;
        if !matches!(answer, Ok(Ok(true))) {
            return false;
        }
    }
    true
}

/// Waits until no task is left, and until the deletions that they have begun are under way.
async fn settled(workers: &Handle) {
    while workers.metrics().num_alive_tasks() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Deletions run in the order in which they were requested.
    let _done = workers.spawn_blocking(|| {}).await;
}

fn panicked(error: tokio::task::JoinError) -> Failure {
    let text = error.try_into_panic().ok().and_then(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()))
    });
    let text = text.unwrap_or_else(|| "it was cancelled".to_owned());
    Failure::new(format!("the statement failed unexpectedly: {text}"))
}
