//! The names of a shard's files in errors and reports.

use crate::io::RelativeUrl;

/// The names of the files of a shard.
#[derive(Debug)]
pub(in crate::read) struct FileNames {
    /// The name of the directory file.
    name: String,
    /// The directory file as a place in errors.
    place: String,
    /// The path of the folder where references start; empty, or ends in a separator.
    folder: String,
    /// The noun for a file of the store.
    noun: &'static str,
    /// The owner of the columns in messages: "the shard" or "the file".
    owner: &'static str,
}

/// The noun for files behind a blocking reader.
pub(in crate::read) const FILE: &str = "file";
/// The noun for files behind an asynchronous reader.
pub(in crate::read) const OBJECT: &str = "object";

/// Name of a directory file behind a reader without a name.
const NAMELESS: &str = "shard";

impl FileNames {
    /// Creates the names of a directory file and the files in `folder`; if `folder` is `None`, it is the folder of the
    /// directory file.
    pub(in crate::read) fn new(
        name: Option<String>,
        folder: Option<String>,
        noun: &'static str,
    ) -> Self {
        let is_separator = |c| c == '/' || (cfg!(windows) && c == '\\');
        let folder = match (folder, &name) {
            (Some(mut folder), _) => {
                if !folder.is_empty() && !folder.ends_with(is_separator) {
                    folder.push('/');
                }
                folder
            }
            (None, Some(name)) => {
                let end = name.rfind(is_separator).map_or(0, |last| last + 1);
                name[..end].to_owned()
            }
            (None, None) => String::new(),
        };
        let place = match &name {
            Some(name) => format!("{noun} `{name}`"),
            None => NAMELESS.to_owned(),
        };
        Self {
            name: name.unwrap_or_else(|| NAMELESS.to_owned()),
            place,
            folder,
            noun,
            owner: "the shard",
        }
    }

    /// Creates the names of a shard in memory that has the schema of a file of another format.
    pub(in crate::read) fn of_file_schema() -> Self {
        Self {
            place: FILE.to_owned(),
            owner: "the file",
            ..Self::new(None, None, FILE)
        }
    }

    /// Creates the names of a table of shards: its directory is in memory, and its files are below `folder`.
    pub(in crate::read) fn of_table(folder: String, noun: &'static str) -> Self {
        let place = if folder.is_empty() {
            "table".to_owned()
        } else {
            format!("table in `{folder}`")
        };
        Self {
            place,
            ..Self::new(None, Some(folder), noun)
        }
    }

    /// Returns the owner of the columns in messages: "the shard" or "the file".
    pub(in crate::read) fn owner(&self) -> &'static str {
        self.owner
    }

    /// Returns the name of the directory file.
    pub(in crate::read) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a file as a place in errors; `None` is the directory file.
    pub(in crate::read) fn place_of(&self, url: Option<&RelativeUrl>) -> String {
        match url {
            Some(url) => format!("{} `{}{}`", self.noun, self.folder, url.path()),
            None => self.place.clone(),
        }
    }

    /// Returns a file outside of the folder as a place in errors.
    pub(in crate::read) fn place_elsewhere(&self, name: &str) -> String {
        format!("{} `{name}`", self.noun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_the_directory_file_is_named_with_its_folder() {
        let url: RelativeUrl = "parts/a%20b.stripe".parse().unwrap();
        let places = |names: FileNames| [names.place_of(None), names.place_of(Some(&url))];
        let owned = |name: &str| Some(name.to_owned());
        assert_eq!(
            places(FileNames::new(owned("my://bucket/x/f.shard"), None, OBJECT)),
            [
                "object `my://bucket/x/f.shard`",
                "object `my://bucket/x/parts/a b.stripe`"
            ]
        );
        assert_eq!(
            places(FileNames::new(owned("f.shard"), None, FILE)),
            ["file `f.shard`", "file `parts/a b.stripe`"]
        );
        assert_eq!(
            places(FileNames::new(None, None, FILE)),
            ["shard", "file `parts/a b.stripe`"]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_known_folder_comes_before_that_of_the_name() {
        let url: RelativeUrl = "a.stripe".parse().unwrap();
        let owned = |name: &str| Some(name.to_owned());
        let linked = FileNames::new(owned("link.shard"), owned("/data"), FILE);
        assert_eq!(linked.place_of(Some(&url)), "file `/data/a.stripe`");
        let root = FileNames::new(None, owned("/"), FILE);
        assert_eq!(root.place_of(Some(&url)), "file `/a.stripe`");
        let table = FileNames::of_table("/data".to_owned(), FILE);
        assert_eq!(table.place_of(None), "table in `/data`");
        assert_eq!(table.place_of(Some(&url)), "file `/data/a.stripe`");
    }
}
