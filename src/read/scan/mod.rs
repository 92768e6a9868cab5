//! Steps that turn bytes into rows.

pub(in crate::read) mod constant;
mod described;
pub(in crate::read) mod fit;
pub(in crate::read) mod opening;
pub(in crate::read) mod row_selection;
pub(in crate::read) mod rows;
pub(in crate::read) mod sizing;
pub(in crate::read) mod source;
pub(in crate::read) mod stripe_reader;
pub(in crate::read) mod take;
pub(in crate::read) mod windows;
