//! Finds fields by name. A search for each of many columns would take the square of their number.

use arrow::datatypes::{FieldRef, Fields};
use std::collections::HashMap;

/// The places of fields by name. The first field of a name counts, as in Arrow.
pub(crate) struct ByName<'a> {
    fields: &'a Fields,
    places: HashMap<&'a str, usize>,
}

impl<'a> ByName<'a> {
    pub(crate) fn new(fields: &'a Fields) -> Self {
        let mut places = HashMap::with_capacity(fields.len());
        for (place, field) in fields.iter().enumerate() {
            places.entry(field.name().as_str()).or_insert(place);
        }
        Self { fields, places }
    }

    /// Returns the field of a name with its place.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &'a FieldRef)> {
        let place = *self.places.get(name)?;
        Some((place, self.fields.get(place)?))
    }
}
