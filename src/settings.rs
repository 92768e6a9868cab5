//! Getters and `with_*` setters of options, written once.

/// Implements, for every named field of a `Copy` type, a getter with the given documentation and a
/// setter that takes the options by value.
macro_rules! settings {
    ($options:ident { $($(#[$doc:meta])* $name:ident, $with:ident: $ty:ty;)* }) => {
        impl $options {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> $ty {
                    self.$name
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
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
