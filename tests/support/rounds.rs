//! A store that answers in rounds: when no other work remains, it answers all waiting requests.

use async_trait::async_trait;
use futures::future::poll_fn;
use futures::stream::BoxStream;
use futures::task::{ArcWake, waker};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// The recorded requests.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The object of each read, and the number of bytes in the answer.
    pub(crate) reads: Vec<(Path, u64)>,
    /// Number of rounds.
    pub(crate) rounds: usize,
    /// Most reads that waited at the same time.
    pub(crate) most_waiting: usize,
    waiting: Vec<Waker>,
}

/// A wrapper of another store in which each read takes a round.
#[derive(Debug)]
pub(crate) struct Rounds {
    store: Arc<dyn ObjectStore>,
    asked: Mutex<Asked>,
}

impl Rounds {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            store,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap()
    }

    /// Returns and clears the recorded requests.
    pub(crate) fn take(&self) -> Asked {
        std::mem::take(&mut *self.asked())
    }

    /// Runs `work` to its end, round by round.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = waker(woken.clone());
        let mut work = pin!(work);
        loop {
            while woken.0.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return done;
                }
            }
            let waiting = {
                let mut asked = self.asked();
                asked.rounds += 1;
                asked.most_waiting = asked.most_waiting.max(asked.waiting.len());
                std::mem::take(&mut asked.waiting)
            };
            assert!(
                !waiting.is_empty(),
                "nothing is asked for, and nothing done"
            );
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// Waits for the end of the round.
    async fn answer(&self) {
        let mut has_waited = false;
        poll_fn(|context| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            self.asked().waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &Arc<Self>) {
        woken.0.store(true, Ordering::SeqCst);
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rounds")
    }
}

#[async_trait]
impl ObjectStore for Rounds {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.answer().await;
        let answer = self.store.get_opts(location, options).await?;
        let bytes = answer.range.end - answer.range.start;
        self.asked().reads.push((location.clone(), bytes));
        Ok(answer)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}
