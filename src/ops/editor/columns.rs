//! Edits of a shard's columns.

use super::ShardEditor;
use crate::error::{Error, Result, Within};
use crate::format::DataType;
use crate::ops::added_column::{AddedColumn, check_type, encode};
use crate::ops::constant::Constants;
use crate::ops::edited_columns::EditedColumns;
use crate::read::ready_now;
use crate::write::ColumnOptions;
use arrow_array::ArrayRef;
use arrow_schema::Field;
use std::sync::Arc;

impl ShardEditor {
    /// Keeps the columns with these names, in this order, and drops all others.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](crate::ErrorKind::UnknownColumn),
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a repeated name.
    pub fn select_columns<S: AsRef<str>>(
        &mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        let names: Vec<S> = names.into_iter().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut columns = self.columns.clone();
        columns.select(&names)?;
        self.set_columns(columns, None);
        Ok(())
    }

    /// Drops columns by name, or members of structs by path.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](crate::ErrorKind::UnknownColumn),
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), or [`Unsupported`](crate::ErrorKind::Unsupported) for
    /// members that are stored as one packed group; no column is dropped then.
    pub fn drop_columns<S: AsRef<str>>(
        &mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        let mut columns = self.columns.clone();
        for path in paths {
            columns.drop(path.as_ref())?;
        }
        self.set_columns(columns, None);
        Ok(())
    }

    /// Renames a column, or the member of a struct at a path.
    ///
    /// # Errors
    /// Returns [`UnknownColumn`](crate::ErrorKind::UnknownColumn),
    /// [`AmbiguousColumn`](crate::ErrorKind::AmbiguousColumn), [`Unsupported`](crate::ErrorKind::Unsupported) for
    /// members that are stored as one packed group, or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if
    /// another column or member has the new name.
    pub fn rename_column(&mut self, path: &str, name: &str) -> Result<()> {
        let mut columns = self.columns.clone();
        let old = columns.rename(path, name)?;
        self.set_columns(columns, Some((&old, name)));
        Ok(())
    }

    /// Adds a last column that has the same value in every row: the value of an array of length 1.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// # let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// use arrow_shard::arrow_array::{ArrayRef, StringArray};
    /// use arrow_shard::arrow_schema::{DataType, Field};
    /// use std::sync::Arc;
    /// let source = Arc::new(StringArray::from(vec!["2026-11"])) as ArrayRef;
    /// editor.add_column(Field::new("source", DataType::Utf8, false), &source)?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the array does not have exactly one value, or
    /// if a column of that name exists; [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the array is not of the
    /// field's type; [`Unsupported`](crate::ErrorKind::Unsupported) for a nested value that is not null.
    pub fn add_column(&mut self, field: Field, value: &ArrayRef) -> Result<()> {
        self.columns.check_is_new(field.name())?;
        let place = || format!("column `{}`", field.name());
        check_type(&field, value).within(place)?;
        let sources = self.sources.len();
        let constants = ready_now(Constants::of_one(&field, value, sources, self.wire));
        let (node, constants) = constants.within(place)?;
        self.add(
            field,
            node,
            Some(AddedColumn::Constant(Arc::new(constants))),
        );
        Ok(())
    }

    /// Adds a last column with one value for all rows of each source: the array has a value for each of them.
    pub(in crate::ops) fn add_column_of_shards(
        &mut self,
        field: Field,
        values: &ArrayRef,
    ) -> Result<()> {
        self.columns.check_is_new(field.name())?;
        let place = || format!("column `{}`", field.name());
        check_type(&field, values).within(place)?;
        if values.len() != self.sources.len() {
            let (values, shards) = (values.len(), self.sources.len());
            let message = format!("expected a value for each of {shards} shards, found {values}");
            return Err(Error::invalid(message)).within(place);
        }
        let constants = ready_now(Constants::of_each(&field, values, self.wire));
        let (node, constants) = constants.within(place)?;
        self.add(
            field,
            node,
            Some(AddedColumn::Constant(Arc::new(constants))),
        );
        Ok(())
    }

    /// Adds a last column with one value per row, deleted rows included. The arrays may have any lengths. Values are
    /// encoded immediately, and held in memory until a commit writes them to a file next to the directory.
    ///
    /// ```no_run
    /// # use arrow_shard::ops::ShardEditor;
    /// # let mut editor = ShardEditor::open("flights.amudai.shard")?;
    /// use arrow_shard::arrow_array::{ArrayRef, Int32Array};
    /// use arrow_shard::arrow_schema::{DataType, Field};
    /// use arrow_shard::write::ColumnOptions;
    /// use std::sync::Arc;
    /// let places = Arc::new(Int32Array::from(vec![2, 1, 3])) as ArrayRef;
    /// let field = Field::new("place", DataType::Int32, false);
    /// editor.add_column_values(field, [places], ColumnOptions::default())?;
    /// # Ok::<(), arrow_shard::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if there are more or fewer values than rows, or
    /// if a column of that name exists; [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if an array is not of the
    /// field's type; [`Unsupported`](crate::ErrorKind::Unsupported) if the values for one stripe do not fit into one
    /// stripe; and the errors of a writer. After an error, the editor is unchanged.
    pub fn add_column_values(
        &mut self,
        field: Field,
        values: impl IntoIterator<Item = ArrayRef>,
        options: ColumnOptions,
    ) -> Result<()> {
        self.columns.check_is_new(field.name())?;
        let place = || format!("column `{}`", field.name());
        let encoded = encode(&field, values, options, &self.stripes, self.wire);
        let (node, values) = encoded.within(place)?;
        let added = AddedColumn::Values(Arc::new(values));
        self.add(field, node, Some(added));
        Ok(())
    }

    fn add(&mut self, field: Field, node: DataType, added: Option<AddedColumn>) {
        let mut columns = self.columns.clone();
        columns.add(field, node, added);
        self.set_columns(columns, None);
    }

    /// Replaces the columns. `renamed` is the path of a column before the change, and its new name.
    fn set_columns(&mut self, columns: EditedColumns, renamed: Option<(&[String], &str)>) {
        columns.follow(&self.columns, renamed, &mut self.sorting_columns);
        self.columns = columns;
    }
}
