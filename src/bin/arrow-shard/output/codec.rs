//! Compression of the values in Parquet and Arrow IPC.

use crate::failure::Failure;
use crate::file_format::FileFormat;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use clap::ValueEnum;
use parquet::basic::Compression;

/// A compression of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codec {
    /// Not compressed
    None,
    /// Zstandard: the smallest files
    Zstd,
    /// LZ4: fast; in Parquet LZ4_RAW
    Lz4,
    /// Snappy: fast, and read by every reader of Parquet; only in Parquet
    Snappy,
    /// Gzip, for old readers; only in Parquet
    Gzip,
}

impl Codec {
    /// Fails if an output of this format cannot have the compression.
    pub(crate) fn check(self, format: FileFormat) -> Result<(), Failure> {
        let why = match format {
            FileFormat::Parquet => return Ok(()),
            FileFormat::IpcFile | FileFormat::IpcStream => match self {
                Self::None | Self::Zstd | Self::Lz4 => return Ok(()),
                Self::Snappy | Self::Gzip => "which has only zstd, lz4 and none",
            },
            FileFormat::Shard => "which is compressed by its --profile",
            FileFormat::Csv | FileFormat::Ndjson => {
                "which is compressed as a whole if its name ends in .gz, .zst, .bz2 or .xz"
            }
            FileFormat::Cole => "which has a compression of its own",
        };
        Err(Failure::Usage(format!(
            "--compression {}: the output is {format}, {why}",
            self.name()
        )))
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the codec of Parquet, at its usual level.
    pub(super) fn parquet(self) -> Compression {
        match self {
            Self::None => Compression::UNCOMPRESSED,
            Self::Zstd => Compression::ZSTD(Default::default()),
            Self::Lz4 => Compression::LZ4_RAW,
            Self::Snappy => Compression::SNAPPY,
            Self::Gzip => Compression::GZIP(Default::default()),
        }
    }
}

/// Returns the options of Arrow IPC. Without a codec, values are not compressed, so that readers can map them.
pub(super) fn ipc_options(codec: Option<Codec>) -> Result<IpcWriteOptions, Failure> {
    let compression = match codec {
        Some(Codec::Zstd) => Some(CompressionType::ZSTD),
        Some(Codec::Lz4) => Some(CompressionType::LZ4_FRAME),
        Some(Codec::None | Codec::Snappy | Codec::Gzip) | None => None,
    };
    Ok(IpcWriteOptions::default().try_with_compression(compression)?)
}
