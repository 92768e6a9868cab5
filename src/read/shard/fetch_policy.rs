//! Which bytes are fetched, and in which requests, when a step lacks some.

use super::requests::SPARSE_GAP;

/// The gaps between wanted bytes that a request may span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::read) enum Span {
    /// Any gap that is small enough.
    #[default]
    Any,
    /// No gap with bytes that other readers will read later, because they would fetch these bytes again.
    NotOthers,
    /// Like [`NotOthers`](Self::NotOthers), unless all bytes to be read later fit in one fetch: this reader then keeps
    /// them until it needs them.
    Few,
}

/// Which bytes are fetched in addition to the missing ones.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::read) struct FetchPolicy {
    pub(super) span: Span,
    /// Most bytes to fetch along with others, in the same round, because they will be needed.
    pub(super) along: u64,
    /// Places of at most this many bytes are fetched along with others, regardless of `along`.
    pub(super) along_each: u64,
    /// Whether requests span as few unwanted bytes as a small number of requests allows.
    pub(super) is_sparse: bool,
    /// Whether steps guess places that they cannot know yet.
    pub(super) guesses: bool,
}

impl FetchPolicy {
    pub(in crate::read) fn new(span: Span) -> Self {
        Self {
            span,
            ..Self::default()
        }
    }

    /// Returns the policy for few or scattered rows. Their bytes are few, so rounds of requests take most of the time:
    /// small buffers and the places that steps guess are fetched together with the metadata that locate the rows.
    /// Requests span gaps only to keep the number of requests small.
    pub(in crate::read) fn for_sparse_rows() -> Self {
        Self {
            is_sparse: true,
            along_each: SPARSE_GAP,
            guesses: true,
            ..Self::default()
        }
    }

    /// Spans gaps only to keep the number of requests small.
    pub(in crate::read) fn with_small_gaps(self) -> Self {
        Self {
            is_sparse: true,
            ..self
        }
    }

    /// Fetches bytes that steps announce for later along with those that they need now, up to this many bytes.
    pub(in crate::read) fn with_along(self, bytes: u64) -> Self {
        Self {
            along: bytes,
            ..self
        }
    }
}
