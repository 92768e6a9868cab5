//! Readers and writers of other file formats that need no other crate: COLE. For Parquet files in place, see
//! [`ops`](crate::ops).

pub mod cole;
