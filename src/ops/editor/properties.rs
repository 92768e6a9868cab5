//! Edits of a shard's properties, and of the metadata of its Arrow schema.

use super::ShardEditor;
use crate::error::Result;
use crate::format::NameValuePair;
use crate::write::{check_property, is_reserved_property};
use std::collections::HashMap;

impl ShardEditor {
    /// Returns the properties that users have set, with the changes applied. The writer's own properties, such as the
    /// Arrow schema and the sorting columns, are left out.
    pub fn properties(&self) -> &[NameValuePair] {
        &self.properties.custom_properties
    }

    /// Sets a property of the shard. A property of the same name is replaced. Names that start with `arrow_shard.` and
    /// the name `ARROW:schema` are reserved.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// use arrow_shard::metadata::NameValuePair;
    /// let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// editor.set_property(NameValuePair::new("source", "2026-11"))?;
    /// editor.commit()?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a reserved name, or a value that the metadata
    /// cannot hold.
    pub fn set_property(&mut self, property: NameValuePair) -> Result<()> {
        check_property(&property, self.wire)?;
        let own = &mut self.properties.custom_properties;
        match own.iter_mut().find(|own| own.name == property.name) {
            Some(own) => *own = property,
            None => own.push(property),
        }
        Ok(())
    }

    /// Removes the properties with a name, and returns whether there were any. Reserved names are never removed.
    pub fn remove_property(&mut self, name: &str) -> bool {
        let own = &mut self.properties.custom_properties;
        let before = own.len();
        own.retain(|own| own.name != name || is_reserved_property(name));
        own.len() < before
    }

    /// Returns the metadata of the Arrow schema, to change it.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// editor.metadata_mut().insert("owner".to_owned(), "operations".to_owned());
    /// editor.commit()?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    pub fn metadata_mut(&mut self) -> &mut HashMap<String, String> {
        &mut self.metadata
    }
}
