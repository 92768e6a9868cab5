//! Spec: docs/format.md, "Properties" (`arrow_shard.writers`).

use super::any_value::{AnyValue, NameValuePair, find_property};

/// Name of the shard property that lists the writers of the rows.
pub const WRITERS_PROPERTY: &str = "arrow_shard.writers";

/// Most writers in the list of a shard. Real shards have few. Merging two lists compares each pair.
pub(crate) const MAX_WRITERS: usize = 64;

/// What wrote rows of a shard, for people who look at the file. Readers do not depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WriterInfo {
    /// The program with its version, such as `arrow-shard 0.1.0`.
    pub program: String,
    /// The [profile](crate::write::Profile) of the writer, such as `Balanced`. `None` if the values stay in Parquet
    /// files.
    pub profile: Option<String>,
}

impl WriterInfo {
    /// Returns this version of the crate as a writer with a profile.
    pub(crate) fn this(profile: Option<String>) -> Self {
        Self {
            program: concat!("arrow-shard ", env!("CARGO_PKG_VERSION")).to_owned(),
            profile,
        }
    }

    /// Returns the value of the property for these writers.
    pub(crate) fn to_value(writers: &[Self]) -> AnyValue {
        let writer = |writer: &Self| -> AnyValue {
            let mut members = vec![NameValuePair::new("program", writer.program.as_str())];
            if let Some(profile) = &writer.profile {
                members.push(NameValuePair::new("profile", profile.as_str()));
            }
            members.into()
        };
        writers.iter().map(writer).collect::<Vec<_>>().into()
    }

    /// Adds writers that a list does not yet have, as long as there is room: the list only informs.
    pub(crate) fn add_new(list: &mut Vec<Self>, writers: Vec<Self>) {
        for writer in writers {
            if list.len() < MAX_WRITERS && !list.contains(&writer) {
                list.push(writer);
            }
        }
    }

    /// Returns the first [`MAX_WRITERS`] writers that a property lists. Items of another shape are left out, because
    /// the property only informs.
    pub(crate) fn of_value(value: &AnyValue) -> Vec<Self> {
        let writers = value.as_list().unwrap_or_default().iter();
        let writer = |writer: &AnyValue| -> Option<Self> {
            let members = writer.as_struct()?;
            let text = |name| Some(find_property(members, name)?.as_str()?.to_owned());
            Some(Self {
                program: text("program")?,
                profile: text("profile"),
            })
        };
        writers.filter_map(writer).take(MAX_WRITERS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_come_back_and_items_of_another_shape_are_left_out() {
        let writers = vec![
            WriterInfo::this(Some("Balanced".to_owned())),
            WriterInfo::this(None),
        ];
        let value = WriterInfo::to_value(&writers);
        assert_eq!(WriterInfo::of_value(&value), writers);
        let mut items = value.as_list().unwrap().to_vec();
        items.push(AnyValue::from("a text"));
        items.push(vec![NameValuePair::new("profile", "Fast")].into());
        assert_eq!(WriterInfo::of_value(&items.into()), writers);
        assert_eq!(WriterInfo::of_value(&AnyValue::from(1)), []);
    }

    #[test]
    fn long_lists_are_cut() {
        let writer = |i: usize| WriterInfo {
            program: format!("writer {i}"),
            profile: None,
        };
        let long: Vec<WriterInfo> = (0..200_000).map(writer).collect();
        let read = WriterInfo::of_value(&WriterInfo::to_value(&long));
        assert_eq!(read, long[..MAX_WRITERS]);
        let mut list = vec![writer(0), writer(1)];
        WriterInfo::add_new(&mut list, vec![writer(1), writer(2)]);
        assert_eq!(list, long[..3]);
        WriterInfo::add_new(&mut list, long.clone());
        assert_eq!(list, long[..MAX_WRITERS]);
    }
}
