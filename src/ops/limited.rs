//! The limits of the options of operations that open shards.

/// Implements the getter and the setter of the limits of options that open shards.
macro_rules! limits {
    ($options:ident) => {
        impl $options {
            /// What a shard may ask of the reader.
            pub fn limits(&self) -> &crate::limits::Limits {
                &self.limits
            }

            /// Sets what a shard may ask of the reader, for shards that you do not trust: see
            /// [`Limits`](crate::limits::Limits).
            #[must_use]
            pub fn with_limits(mut self, limits: crate::limits::Limits) -> Self {
                self.limits = limits;
                self
            }

            /// The options that shards are opened with.
            fn shard_options(&self) -> crate::read::ShardOptions {
                crate::read::ShardOptions::default().with_limits(self.limits.clone())
            }
        }
    };
}

pub(crate) use limits;
