//! The properties of an open shard.

use super::open_shard::Shard;
use super::shard::metadata::ready;
use super::shard::waiting::ready_now_or;
use crate::column::TypeMapping;
use crate::error::{Error, Result};
use crate::format::{
    AnyValue, ShardProperties, ValueKind, WRITERS_PROPERTY, WriterInfo, find_property,
};
use crate::sorting::{SORTING_COLUMNS_PROPERTY, SortingColumn};

impl Shard {
    /// Returns the properties of the shard: the ones that writers add, and the ones set by
    /// [`WriterOptions::with_property`](crate::WriterOptions::with_property).
    ///
    /// # Errors
    /// Fails if they are damaged.
    pub fn properties(&self) -> Result<&ShardProperties> {
        ready_now_or("`properties_async`", self.properties_async())
    }

    /// Returns the properties of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`properties`](Self::properties).
    pub async fn properties_async(&self) -> Result<&ShardProperties> {
        let loaded = self.metadata.run(|step| {
            ready!(self.metadata.properties(step));
            Ok(Some(()))
        });
        loaded.await?;
        self.metadata
            .loaded_properties()
            .ok_or_else(|| Error::corrupt("shard properties are gone"))
    }

    /// Returns the value of the property `name`, or `None` if there is no such property or it has no value. A property
    /// set by the user takes precedence over one that the format defines.
    ///
    /// ```no_run
    /// # let shard = arrow_shard::Shard::open("flights.amudai.shard")?;
    /// let source = shard.property("source")?.and_then(|value| value.as_str());
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the properties are damaged.
    pub fn property(&self, name: &str) -> Result<Option<&AnyValue>> {
        ready_now_or("`property_async`", self.property_async(name))
    }

    /// Returns the value of the property `name` of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`property`](Self::property).
    pub async fn property_async(&self, name: &str) -> Result<Option<&AnyValue>> {
        let properties = self.properties_async().await?;
        Ok(find_property(&properties.custom_properties, name)
            .or_else(|| find_property(&properties.standard_properties, name)))
    }

    /// Returns the mapping of Arrow types to types of the shard that its writer used, if a column reveals it.
    ///
    /// # Errors
    /// Fails if the schema is damaged.
    pub fn type_mapping(&self) -> Result<Option<TypeMapping>> {
        ready_now_or("`type_mapping_async`", self.type_mapping_async())
    }

    /// Returns the mapping of types of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`type_mapping`](Self::type_mapping).
    pub async fn type_mapping_async(&self) -> Result<Option<TypeMapping>> {
        Ok(TypeMapping::of(&self.stored_schema().await?))
    }

    /// Returns the columns that the rows are sorted by, as the writer declared them; empty if it declared no order.
    ///
    /// # Errors
    /// Fails if the properties are damaged.
    pub fn sorting_columns(&self) -> Result<Vec<SortingColumn>> {
        ready_now_or("`sorting_columns_async`", self.sorting_columns_async())
    }

    /// Returns the columns that the rows of a shard behind an asynchronous reader are sorted by.
    ///
    /// # Errors
    /// Returns the same errors as [`sorting_columns`](Self::sorting_columns).
    pub async fn sorting_columns_async(&self) -> Result<Vec<SortingColumn>> {
        let properties = &self.properties_async().await?.custom_properties;
        let Some(value) = find_property(properties, SORTING_COLUMNS_PROPERTY) else {
            return Ok(Vec::new());
        };
        match &value.kind {
            Some(ValueKind::List(columns)) => columns.iter().map(sorting_column).collect(),
            _ => None,
        }
        .ok_or_else(|| {
            Error::corrupt(format!("property {SORTING_COLUMNS_PROPERTY} is malformed"))
                .within(self.metadata.artifacts.place())
        })
    }

    /// Returns what wrote the rows, each writer once: an edited shard lists the writers of all its parts, even if their
    /// rows were rewritten later. Empty if the shard does not say, such as one of another implementation.
    ///
    /// # Errors
    /// Fails if the properties are damaged.
    pub fn writers(&self) -> Result<Vec<WriterInfo>> {
        ready_now_or("`writers_async`", self.writers_async())
    }

    /// Returns what wrote the rows of a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`writers`](Self::writers).
    pub async fn writers_async(&self) -> Result<Vec<WriterInfo>> {
        let properties = &self.properties_async().await?.custom_properties;
        let writers = find_property(properties, WRITERS_PROPERTY);
        Ok(writers.map(WriterInfo::of_value).unwrap_or_default())
    }
}

fn sorting_column(value: &AnyValue) -> Option<SortingColumn> {
    let Some(ValueKind::Struct(fields)) = &value.kind else {
        return None;
    };
    let field = |name| find_property(fields, name)?.kind.as_ref();
    let flag = |name| match field(name)? {
        ValueKind::Bool(flag) => Some(*flag),
        _ => None,
    };
    let Some(ValueKind::String(path)) = field("path") else {
        return None;
    };
    Some(SortingColumn {
        path: path.clone(),
        descending: flag("descending")?,
        nulls_first: flag("nulls_first")?,
    })
}
