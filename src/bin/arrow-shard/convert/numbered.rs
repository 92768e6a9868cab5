//! Numbered outputs: `out-00001.parquet`, `out-00002.parquet`, and so on.

use crate::compression::Compression;
use crate::failure::Failure;
use crate::file_format::{FileFormat, decompressed_name, is_standard};
use arrow_shard::io::is_url;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the name of numbered outputs in the folder that `target` names: a folder that exists, or a name that ends in
/// `/` or shows no format. Their format is `to`, by default a shard. `None` if `target` is the name of a file.
pub(super) fn part_in_folder(target: &Path, to: Option<FileFormat>) -> Option<PathBuf> {
    let text = target.as_os_str().as_encoded_bytes();
    let is_file = FileFormat::by_name(target).is_some() || Compression::by_name(target).is_some();
    let is_folder = !is_file || text.ends_with(b"/") || target.is_dir();
    let suffix = to.unwrap_or(FileFormat::Shard).suffix();
    (is_folder && !is_standard(target)).then(|| target.join(format!("part{suffix}")))
}

/// The name of outputs before and after their number.
#[derive(Debug, Clone)]
pub(super) struct Numbered {
    folder: PathBuf,
    stem: String,
    suffix: String,
}

impl Numbered {
    /// Returns the names of outputs like `path`. The number is before the suffixes that show the format.
    pub(super) fn like(path: &Path) -> Result<Self, Failure> {
        let invalid = || {
            Failure::Usage(format!(
                "`{}` has no name that can be numbered",
                path.display()
            ))
        };
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(invalid)?;
        let mut bare = Path::new(name);
        if Compression::by_name(bare).is_some() {
            bare = decompressed_name(bare).unwrap_or(bare);
        }
        if FileFormat::by_name(bare).is_some() {
            bare = bare.file_stem().map_or(bare, Path::new);
        }
        let text = bare.to_str().ok_or_else(invalid)?;
        let stem = text.strip_suffix(".amudai").unwrap_or(text);
        Ok(Self {
            folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
            stem: stem.to_owned(),
            suffix: name[stem.len()..].to_owned(),
        })
    }

    /// Returns the path of the output with this number.
    pub(super) fn path(&self, number: u64) -> PathBuf {
        self.folder
            .join(format!("{}-{number:05}{}", self.stem, self.suffix))
    }

    /// Returns the local outputs with a number of at least `first` that exist already, such as outputs of an earlier
    /// run, in the order of their names.
    pub(super) fn existing(&self, first: u64) -> Vec<PathBuf> {
        let folder = match self.folder.to_str() {
            Some("") => Path::new("."),
            Some(url) if is_url(url) => return Vec::new(),
            _ => self.folder.as_path(),
        };
        let entries = fs::read_dir(folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut found: Vec<String> = names
            .filter(|name| self.number(name).is_some_and(|number| number >= first))
            .collect();
        found.sort();
        found.iter().map(|name| self.folder.join(name)).collect()
    }

    /// Whether a path is the name of an output, which need not exist.
    pub(super) fn has(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        path.parent() == Some(self.folder.as_path())
            && name.is_some_and(|name| self.number(name).is_some())
    }

    /// Returns the number in the name of an output.
    fn number(&self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(self.stem.as_str())?.strip_prefix('-')?;
        let digits = number.strip_suffix(self.suffix.as_str())?;
        let is_number = digits.len() >= 5 && digits.bytes().all(|it| it.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_format_is_a_folder() {
        for (target, to, want) in [
            ("lake", None, Some("lake/part.amudai.shard")),
            ("lake/v1.2", None, Some("lake/v1.2/part.amudai.shard")),
            ("lake", Some(FileFormat::Csv), Some("lake/part.csv")),
            ("a.parquet/", None, Some("a.parquet/part.amudai.shard")),
            (
                "s3://b/x",
                Some(FileFormat::Parquet),
                Some("s3://b/x/part.parquet"),
            ),
            ("a.parquet", None, None),
            ("a.csv.gz", None, None),
            ("-", None, None),
        ] {
            let part = part_in_folder(Path::new(target), to);
            assert_eq!(part.as_deref(), want.map(Path::new), "{target}");
        }
    }

    #[test]
    fn the_number_is_before_the_suffixes() {
        for (path, want) in [
            ("out.parquet", "out-00007.parquet"),
            ("a.b/t.amudai.shard", "a.b/t-00007.amudai.shard"),
            ("t.csv.gz", "t-00007.csv.gz"),
            ("v1.2.ndjson.zst", "v1.2-00007.ndjson.zst"),
            ("bare", "bare-00007"),
            ("t.gz", "t-00007.gz"),
            ("s3://b/x/t.csv", "s3://b/x/t-00007.csv"),
        ] {
            let numbered = Numbered::like(Path::new(path)).unwrap();
            assert_eq!(numbered.path(7), Path::new(want), "{path}");
        }
        assert!(Numbered::like(Path::new("/")).is_err());
        let numbered = Numbered::like(Path::new("s3://b/x/t.csv")).unwrap();
        for (path, want) in [
            ("s3://b/x/t-00002.csv", true),
            ("s3://b/x/t-123456.csv", true),
            ("s3://b/x/t-2.csv", false),
            ("s3://b/y/t-00002.csv", false),
        ] {
            assert_eq!(numbered.has(Path::new(path)), want, "{path}");
        }
    }
}
