//! Readers and writers of other formats, implemented byte by byte.

pub mod cole;
