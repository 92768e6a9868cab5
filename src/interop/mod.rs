//! Other formats that this crate reads and writes byte by byte.

pub mod cole;
