//! Spec: docs/format.md, "Properties" (`arrow_shard.writers`).

use super::any_value::{AnyValue, NameValuePair, find_property};

/// Name of the shard property that lists the writers of the rows.
pub const WRITERS_PROPERTY: &str = "arrow_shard.writers";

/// What wrote rows of a shard, for people who look at the file. Readers do not depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WriterInfo {
    /// The program with its version, such as `arrow-shard 0.1.0`.
    pub program: String,
    /// The [profile](crate::write::Profile) of the writer, such as `Balanced`. `None` if the values stay in Parquet files.
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

    /// Returns the writers that a property lists. Items of another shape are left out, because the property only
    /// informs.
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
        writers.filter_map(writer).collect()
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
}
