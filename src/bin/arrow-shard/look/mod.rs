//! Commands that answer questions about files.

pub(crate) mod count;
mod files;
mod reservoir;
pub(crate) mod sample;
pub(crate) mod tail;

pub(crate) use files::expanded;
