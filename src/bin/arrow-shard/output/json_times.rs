//! Dates and times in JSON.

use crate::failure::Failure;
use arrow_array::Array;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder};
use arrow_schema::{ArrowError, FieldRef};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes dates and times like `arrow-json`, and records an error for impossible ones. `arrow-json` would write the
/// text of the error as the value.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonTimes {
    failed: Arc<Mutex<Option<Failure>>>,
}

impl JsonTimes {
    /// Returns the first error since the last call.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

impl EncoderFactory for JsonTimes {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        if !array.data_type().is_temporal() {
            return Ok(None);
        }
        let options = FormatOptions::new().with_display_error(false);
        let encoder = Times {
            formatter: ArrayFormatter::try_new(array, &options)?,
            field: field.name(),
            times: self.clone(),
        };
        let nulls = array.nulls().cloned();
        Ok(Some(NullableEncoder::new(Box::new(encoder), nulls)))
    }
}

struct Times<'a> {
    formatter: ArrayFormatter<'a>,
    field: &'a str,
    times: JsonTimes,
}

impl Encoder for Times<'_> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        match self.formatter.value(i).try_to_string() {
            Ok(text) => out.extend_from_slice(text.as_bytes()),
            Err(error) => {
                let failure = Failure::from(error).within(format!("field `{}`", self.field));
                let failed = &mut self
                    .times
                    .failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(failure);
            }
        }
        out.push(b'"');
    }
}
