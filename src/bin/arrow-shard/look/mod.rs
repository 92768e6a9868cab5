//! Commands that answer questions about files.

pub(crate) mod count;
mod files;

pub(crate) use files::expanded;
