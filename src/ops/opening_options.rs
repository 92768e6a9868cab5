//! The options of operations about opening shards.

/// Implements the getters and the setters of options that open shards, and keep in `opening` how to open them.
macro_rules! opening {
    ($options:ident) => {
        impl $options {
            /// Returns the limits of the reader.
            pub fn limits(&self) -> &crate::limits::Limits {
                self.opening.limits()
            }

            /// Sets the limits of the reader, for shards that you do not trust: see [`Limits`](crate::limits::Limits).
            #[must_use]
            pub fn with_limits(mut self, limits: crate::limits::Limits) -> Self {
                self.opening = self.opening.with_limits(limits);
                self
            }

            /// Returns the folders outside of a shard's folder where its Parquet files may be.
            pub fn external_files(&self) -> &crate::io::ExternalFiles {
                self.opening.external_files()
            }

            /// Allows Parquet files outside of a shard's folder, in the given folders; none by default.
            #[must_use]
            pub fn with_external_files(mut self, files: crate::io::ExternalFiles) -> Self {
                self.opening = self.opening.with_external_files(files);
                self
            }

            /// Returns the options for opening shards.
            fn shard_options(&self) -> crate::read::ShardOptions {
                self.opening.clone()
            }
        }
    };
}

pub(crate) use opening;
