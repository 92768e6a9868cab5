//! Adapts the descriptors of stripe fields to the wire and the types of another directory.

use super::deletes::EditedStripe;
use super::edited_columns::EditedColumn;
use super::source::SourceShard;
use super::unify::Unify;
use super::united_node::{LeafType, UnitedNode};
use super::wires;
use crate::column::StoredAs;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{DataEncoding, DataType, StripeFieldDescriptor, Wire};
use crate::read::widen_field;

/// A field of a stripe that a new directory lists.
pub(super) struct FieldAdapter<'a> {
    pub(super) column: &'a EditedColumn,
    pub(super) node: &'a UnitedNode,
    /// The number of the node in the new directory.
    pub(super) id: u32,
    pub(super) source: &'a SourceShard,
    pub(super) stripe: &'a EditedStripe,
    /// The wire of the descriptor.
    pub(super) wire: Wire,
    /// The wire of the new directory.
    pub(super) new_wire: Wire,
    /// How a table in memory unites types; `None` for a file.
    pub(super) unify: Option<Unify>,
}

impl FieldAdapter<'_> {
    /// Adapts the descriptor of the field. Returns how the values are stored, if they are widened when they are read.
    ///
    /// # Errors
    /// Returns [`SchemaMismatch`](ErrorKind::SchemaMismatch) if the stored integers are narrower than the column, and
    /// readers do not widen them.
    pub(super) fn adapt(&self, described: &mut StripeFieldDescriptor) -> Result<Option<StoredAs>> {
        let stored = self.stored_as()?;
        let is_narrow = self.node.is_narrow_in(self.stripe.source);
        // The stored values of a constant need not be read. They are of the other type, or the wire has none.
        let is_dropped =
            is_narrow || stored.is_some() || !self.new_wire.capabilities().stored_constants;
        if is_dropped && described.field.constant_value.is_some() && has_data(described) {
            described.encodings.clear();
        }
        if is_narrow && has_data(described) {
            return Err(self.narrow_integers());
        }
        let there = stored
            .as_ref()
            .map_or(&self.node.stored, |stored| &stored.node);
        wires::translate(
            &mut described.field,
            there.label(),
            self.wire,
            self.new_wire,
        );
        let Some(stored) = stored else {
            return Ok(None);
        };
        let is_widened = widen_field(&mut described.field, &stored, &self.node.stored)
            .within(|| format!("column `{}`", self.column.node.name()))?;
        Ok(is_widened.then_some(stored))
    }

    /// Returns how the source stores the node, if it has another type there than in the new directory.
    fn stored_as(&self) -> Result<Option<StoredAs>> {
        let Some(LeafType { stored, arrow }) = self.node.type_in(self.stripe.source) else {
            return Ok(None);
        };
        let Some(wide) = self.node.arrow.clone() else {
            return Err(Error::corrupt("a widened column has no type"));
        };
        let stored = DataType {
            schema_id: self.id,
            name: self.node.name().to_owned(),
            ..stored.clone()
        };
        Ok(Some(StoredAs {
            node: stored,
            own: arrow.clone(),
            wide,
            place: format!(
                "{}, stripe {}",
                self.source.place.element(),
                self.stripe.ordinal
            ),
        }))
    }

    /// Returns the error for integers that are narrower than the column, and are not widened.
    fn narrow_integers(&self) -> Error {
        let advice = match self.unify {
            Some(Unify::Strict) => {
                "set the option `unify` of the table to widen the types, or rewrite"
            }
            // Maps, fixed-size lists and unions are not widened.
            Some(Unify::Widen) | None => "rewrite",
        };
        Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "column `{}` holds 32-bit integers in stripe {} of `{}` and 64-bit ones in another shard; {advice} \
                 that shard with the wider type",
                self.node.name(),
                self.stripe.ordinal,
                self.source.place
            ),
        )
    }
}

fn has_data(described: &StripeFieldDescriptor) -> bool {
    described.encodings.iter().any(DataEncoding::has_data)
}
