//! Getters and `with_*` setters of options, written once.

/// Implements, for every named field of a `Copy` type, a getter and a setter that takes the options
/// by value. Both have the given documentation, which says what the setting does, its unit and its
/// default.
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
