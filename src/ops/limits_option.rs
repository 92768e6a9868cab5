//! The limits in the options of operations that open shards.

/// Implements the getter and the setter of the limits of options that open shards.
macro_rules! limits {
    ($options:ident) => {
        impl $options {
            /// Returns the limits of the reader.
            pub fn limits(&self) -> &crate::limits::Limits {
                &self.limits
            }

            /// Sets the limits of the reader, for shards that you do not trust: see [`Limits`](crate::limits::Limits).
            #[must_use]
            pub fn with_limits(mut self, limits: crate::limits::Limits) -> Self {
                self.limits = limits;
                self
            }

            /// Returns the options for opening shards.
            fn shard_options(&self) -> crate::read::ShardOptions {
                crate::read::ShardOptions::default().with_limits(self.limits.clone())
            }
        }
    };
}

pub(crate) use limits;
