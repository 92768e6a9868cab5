//! Steps that turn bytes into rows.

pub(in crate::read) mod constant;
pub(in crate::read) mod opening;
pub(in crate::read) mod row_limiter;
pub(in crate::read) mod row_selection;
pub(in crate::read) mod rows;
pub(in crate::read) mod sizing;
pub(in crate::read) mod source;
pub(in crate::read) mod stripe_reader;
pub(in crate::read) mod take;
mod value_descriptions;
mod whole_windows;
pub(in crate::read) mod windows;
