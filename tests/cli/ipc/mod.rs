//! Arrow IPC files and streams.

mod made;
mod malformed;
mod reading;
mod writing;
