//! Modules that `filter_sweep` and `take` share.

pub(crate) mod clock;
pub(crate) mod options;
pub(crate) mod panels;
