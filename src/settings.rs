//! Getters and `with_*` setters of options.

use crate::error::{Error, Result};

/// Implements, for every named field of a `Copy` type, a getter and a setter that takes the options by value. The
/// getter and the setter share the given documentation: effect, unit and default.
macro_rules! settings {
    ($options:ident { $($(#[$doc:meta])* $name:ident, $with:ident: $ty:ty;)* }) => {
        impl $options {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> $ty {
                    self.$name
                }

                $(#[$doc])*
                #[must_use]
                pub fn $with(mut self, value: $ty) -> Self {
                    self.$name = value;
                    self
                }
            )*
        }
    };
}

pub(crate) use settings;

/// Refuses a thread count of 0.
pub(crate) fn check_threads(threads: usize) -> Result<()> {
    match threads {
        0 => Err(Error::invalid("threads is 0, expected 1 or more")),
        _ => Ok(()),
    }
}
