//! Checks stripe fields: descriptors, and the buffers of each type.

use super::blocks::{self, Stream};
use super::bytes::{Check, DataRef, Field, Message, at, is_zero, part, rule};
use super::dictionary;
use super::encodings::{Kind, Values};
use super::schema::{BOOLEAN, DATE_TIME, FIXED_LIST, LIST, MAP, Node, STRING, STRUCT};
use super::shard::Files;

const DATA: u64 = 0;
const PRESENCE: u64 = 1;
const OFFSETS: u64 = 2;
const VALUE_DICTIONARY: u64 = 3;
const RANGE_INDEX: u64 = 5;

/// Tags of `AnyValue`.
const NULL_VALUE: u64 = 1;
const BOOL_VALUE: u64 = 2;
const U64_VALUE: u64 = 3;
const I64_VALUE: u64 = 4;
const DOUBLE_VALUE: u64 = 5;
const STRING_VALUE: u64 = 8;
const BYTES_VALUE: u64 = 9;
const DECIMAL_VALUE: u64 = 10;

/// The parsed descriptor of a field.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) positions: u64,
    pub(crate) nulls: Option<u64>,
    pub(crate) raw_size: Option<u64>,
    pub(crate) dictionary_size: Option<u64>,
    constant: Option<u64>,
}

impl Descriptor {
    /// Parses a `FieldDescriptor`, and checks its own consistency.
    pub(crate) fn parse(bytes: &[u8], node: &Node) -> Result<Self, String> {
        const TAGS: [u64; 16] = [1, 2, 3, 4, 6, 7, 8, 20, 21, 22, 23, 24, 25, 40, 41, 10];
        let message = Message::parse(bytes, "FieldDescriptor", &TAGS)?;
        let constant = message
            .len(3)?
            .map(|value| constant_kind(value, node))
            .transpose()?;
        statistics_are_those_of_the_type(&message, node)?;
        let ranges = message
            .len(6)?
            .map(|range| range_is_of_the_type(range, node));
        ranges.unwrap_or(Ok(()))?;
        properties_are_those_of_the_caller(&message)?;
        let descriptor = Self {
            positions: message.fixed(1)?,
            nulls: message.optional(2)?,
            raw_size: message.optional(41)?,
            dictionary_size: message.optional(4)?,
            constant,
        };
        let (nulls, positions) = (descriptor.nulls, descriptor.positions);
        let known = positions == 0 || nulls.is_some();
        rule(
            known && nulls.unwrap_or(0) <= positions,
            "null_count is at most position_count",
            || format!("{nulls:?} of {positions}"),
        )?;
        descriptor.nested_fields_are_not_constant(node)?;
        descriptor.null_is_the_constant_of_fields_without_values()?;
        Ok(descriptor)
    }

    /// Returns positions, nulls and raw size.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [
            self.positions,
            self.nulls.unwrap_or(0),
            self.raw_size.unwrap_or(0),
        ]
    }

    fn nested_fields_are_not_constant(&self, node: &Node) -> Check {
        let nested = matches!(node.basic_type, LIST | MAP | STRUCT | FIXED_LIST);
        rule(
            !nested || self.constant.is_none(),
            "PRESENCE says that nested values are null, no constant",
            || format!("{:?}", self.constant),
        )
    }

    fn null_is_the_constant_of_fields_without_values(&self) -> Check {
        let all_null = self.nulls == Some(self.positions);
        rule(
            self.constant
                .is_none_or(|kind| (kind == NULL_VALUE) == all_null),
            "a constant is null if all values are",
            || format!("{:?}, {:?} nulls", self.constant, self.nulls),
        )
    }

    /// Checks the raw size of one stripe's field; a shard has the sum over its stripes.
    fn raw_size_counts_bitmaps(&self, node: &Node) -> Check {
        let (n, k) = (self.positions, self.nulls.unwrap_or(0));
        let bitmap = if k > 0 { n.div_ceil(8) } else { 0 };
        let values = match (node.basic_type, node.width()) {
            (BOOLEAN, _) => Some(n.div_ceil(8)),
            (LIST | MAP, _) => Some(8 * n),
            (STRUCT | FIXED_LIST, _) => Some(0),
            (_, Some(width)) => Some((n - k) * width as u64),
            _ => None,
        };
        let holds = match (self.raw_size, values) {
            (Some(size), _) if n == k => size == 0,
            (Some(size), Some(values)) => size == values + bitmap,
            (Some(size), None) => size >= bitmap,
            (None, _) => n == 0,
        };
        rule(holds, "raw_data_size counts values and bitmaps", || {
            format!("{:?} of {n} values, {k} null", self.raw_size)
        })
    }
}

/// Returns the kind of a constant, which must match the type.
fn constant_kind(value: &[u8], node: &Node) -> Result<u64, String> {
    let value = Message::parse(value, "AnyValue", &[1, 2, 3, 4, 5, 8, 9, 10])?;
    let kind = value.tags().next().unwrap_or(0);
    let expected = kind_of(node);
    rule(
        kind == NULL_VALUE || Some(kind) == expected,
        "a constant is of the kind of its type",
        || format!("kind {kind} of type {}", node.basic_type),
    )?;
    if let (STRING_VALUE | BYTES_VALUE | DECIMAL_VALUE, Some(width)) = (kind, node.width()) {
        let bytes = value.len(kind)?.unwrap_or_default();
        rule(
            bytes.len() == width,
            "a constant has the size of its type",
            || format!("{} bytes of {width}", bytes.len()),
        )?;
    }
    Ok(kind)
}

fn kind_of(node: &Node) -> Option<u64> {
    match node.basic_type {
        BOOLEAN => Some(BOOL_VALUE),
        2..=5 if node.signed => Some(I64_VALUE),
        2..=5 | DATE_TIME => Some(U64_VALUE),
        6 | 7 => Some(DOUBLE_VALUE),
        STRING => Some(STRING_VALUE),
        _ if node.is_decimal() => Some(DECIMAL_VALUE),
        _ if node.is_bytes() => Some(BYTES_VALUE),
        _ => None,
    }
}

fn statistics_are_those_of_the_type(message: &Message<'_>, node: &Node) -> Check {
    let (range, specific, sketch) = match node.basic_type {
        BOOLEAN => (false, 22, false),
        2..=5 | DATE_TIME => (true, 0, false),
        6 | 7 => (true, 24, false),
        _ if node.is_decimal() => (true, 23, false),
        STRING => (false, 20, true),
        _ if node.is_bytes() => (false, 25, true),
        LIST | MAP => (false, 21, false),
        _ => (false, 0, false),
    };
    let allowed = |tag: u64| match tag {
        6 => range,
        7 | 8 => sketch,
        20..=25 => tag == specific,
        _ => true,
    };
    let wrong = message.tags().find(|tag| !allowed(*tag));
    rule(
        wrong.is_none(),
        "statistics are those that the reference has of the type",
        || format!("field {wrong:?} of type {}", node.basic_type),
    )
}

fn range_is_of_the_type(range: &[u8], node: &Node) -> Check {
    let range = Message::parse(range, "RangeStats", &[1, 2, 3, 4])?;
    rule(
        range.flag(2)? && range.flag(4)?,
        "bounds are inclusive",
        || "exclusive".to_owned(),
    )?;
    for tag in [1, 3] {
        if let Some(bound) = range.len(tag)? {
            let bound = Message::parse(bound, "AnyValue", &[3, 4, 5, 10])?;
            let kind = bound.tags().next();
            rule(
                kind == kind_of(node),
                "bounds are of the kind of the type",
                || format!("{kind:?} of type {}", node.basic_type),
            )?;
        }
    }
    Ok(())
}

/// Checks that all properties are the caller's: the reference wire does not need this library's.
fn properties_are_those_of_the_caller(message: &Message<'_>) -> Check {
    for property in message.lens(40)? {
        let property = Message::parse(property, "NameValuePair", &[1, 2])?;
        let name = property.texts(1)?.concat();
        rule(
            !name.starts_with("arrow_shard."),
            "fields have no properties of the writer's own",
            || name,
        )?;
    }
    Ok(())
}

/// A buffer and its flags.
#[derive(Debug)]
struct Buffer {
    kind: u64,
    place: DataRef,
    map: Option<DataRef>,
    blocks: Option<u64>,
    checksums: bool,
    embedded_presence: bool,
    embedded_offsets: bool,
    has_ids: bool,
}

impl Buffer {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let message = Message::parse(bytes, "EncodedBuffer", &[1, 2, 3, 4, 5, 6, 7, 20, 21])?;
        let place = message.reference(2)?;
        Ok(Self {
            kind: message.varint(1)?,
            place: place.ok_or("[buffers have a place] none")?,
            map: message.reference(3)?,
            blocks: message.optional(4)?,
            checksums: message.flag(5)?,
            embedded_presence: message.flag(6)?,
            embedded_offsets: message.flag(7)?,
            has_ids: message
                .all(20)
                .chain(message.all(21))
                .any(|id| matches!(id, Field::I32)),
        })
    }

    fn starts_on_a_multiple_of_64(&self) -> Check {
        rule(
            self.place.start.is_multiple_of(64) && self.place.start > 0,
            "buffers start on a multiple of 64",
            || format!("byte {}", self.place.start),
        )
    }

    fn flags_are(&self, presence: bool, offsets: bool) -> Check {
        let holds = (self.embedded_presence, self.embedded_offsets) == (presence, offsets);
        rule(holds, "flags match the type", || format!("{self:?}"))
    }

    /// Returns the last of plain offsets, which must begin at 0 and never descend.
    fn offsets(&self, files: &Files) -> Result<Option<u64>, String> {
        let (Some(map), Some(blocks)) = (&self.map, self.blocks) else {
            return Ok(None);
        };
        let bytes = part(
            files.file(&self.place.url)?,
            self.place.start,
            self.place.end,
        )?;
        let map_start = usize::try_from(map.start - self.place.start).unwrap();
        let Some(offsets) = blocks::plain_numbers(bytes, map_start, blocks)? else {
            return Ok(None);
        };
        rule(
            offsets.first() == Some(&0) && offsets.is_sorted(),
            "offsets of lists begin at 0 and never descend",
            || format!("{offsets:?}"),
        )?;
        Ok(offsets.last().copied())
    }

    /// Checks a block stream, and counts its embedded nulls.
    fn stream(&self, files: &Files, stream: &Stream) -> Result<u64, String> {
        let Some(map) = &self.map else {
            return Err("[values lie in blocks] no block map".to_owned());
        };
        let (buffer, start) = (&self.place, map.start.checked_sub(self.place.start));
        rule(
            map.url == buffer.url && map.end == buffer.end && start.is_some(),
            "a block map is the tail of its buffer",
            || format!("{map:?} of {buffer:?}"),
        )?;
        rule(self.checksums, "blocks have checksums", || {
            "none".to_owned()
        })?;
        rule(
            !self.has_ids,
            "buffers have neither ids nor places in groups",
            || format!("{self:?}"),
        )?;
        let blocks = self
            .blocks
            .ok_or("[block streams have a block_count] none")?;
        let bytes = part(
            files.file(&self.place.url)?,
            self.place.start,
            self.place.end,
        )?;
        blocks::check(
            bytes,
            usize::try_from(start.unwrap_or(0)).unwrap(),
            blocks,
            stream,
        )
    }
}

/// A field of a stripe.
pub(crate) struct StripeField<'a> {
    pub(crate) files: &'a Files,
    pub(crate) node: &'a Node,
    /// Expected number of positions.
    pub(crate) positions: u64,
}

/// Results of a field for checks of other fields.
pub(crate) struct Found {
    pub(crate) descriptor: Descriptor,
    /// All buffers.
    pub(crate) places: Vec<DataRef>,
    /// The last offset of a list with plain offsets.
    pub(crate) last_offset: Option<u64>,
}

impl StripeField<'_> {
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<Found, String> {
        let message = Message::parse(bytes, "StripeFieldDescriptor", &[1, 2])?;
        let descriptor = message
            .len(1)?
            .ok_or("[a stripe field has a descriptor] none")?;
        let descriptor = Descriptor::parse(descriptor, self.node)?;
        descriptor.raw_size_counts_bitmaps(self.node)?;
        rule(
            descriptor.positions == self.positions,
            "a field has the positions of its parent",
            || format!("{} of {}", descriptor.positions, self.positions),
        )?;
        let encodings = message.lens(2)?;
        rule(encodings.len() == 1, "a field has one encoding", || {
            format!("{}", encodings.len())
        })?;
        let encoding = Message::parse(encodings[0], "DataEncoding", &[1])?;
        let native = encoding
            .len(1)?
            .ok_or("[encodings are native] another one")?;
        let native = Message::parse(native, "NativeDataEncoding", &[1, 10])?;
        rule(!native.flag(10)?, "there are no packed groups", || {
            "one".to_owned()
        })?;
        let buffers = native.lens(1)?.into_iter().map(Buffer::parse);
        let buffers: Vec<Buffer> = buffers.collect::<Result<_, _>>()?;
        for buffer in &buffers {
            buffer.starts_on_a_multiple_of_64()?;
        }
        let mut values = buffers.iter().filter(|b| b.kind != RANGE_INDEX);
        self.dictionary_size_means_a_dictionary(&descriptor, &buffers)?;
        if descriptor.constant.is_some() && descriptor.dictionary_size.is_none() {
            rule(values.next().is_none(), "constants have no buffers", || {
                format!("{buffers:?}")
            })?;
        } else if !self.is_empty_without_buffers(&descriptor, &buffers) {
            let nulls = self.buffers(&descriptor, &values.collect::<Vec<_>>())?;
            rule(
                nulls.is_none_or(|nulls| descriptor.nulls == Some(nulls)),
                "null_count counts the nulls",
                || format!("{:?} of {nulls:?}", descriptor.nulls),
            )?;
        }
        for index in buffers.iter().filter(|b| b.kind == RANGE_INDEX) {
            let bytes = part(
                self.files.file(&index.place.url)?,
                index.place.start,
                index.place.end,
            )?;
            blocks::range_index(bytes, self.node.basic_type, self.positions)?;
        }
        let offsets = buffers.iter().find(|b| b.kind == OFFSETS);
        let offsets = offsets.map(|b| b.offsets(self.files)).transpose()?;
        Ok(Found {
            last_offset: offsets.flatten(),
            descriptor,
            places: buffers.into_iter().map(|buffer| buffer.place).collect(),
        })
    }

    fn dictionary_size_means_a_dictionary(
        &self,
        descriptor: &Descriptor,
        buffers: &[Buffer],
    ) -> Check {
        let stored = buffers.iter().any(|b| b.kind == VALUE_DICTIONARY);
        rule(
            stored == descriptor.dictionary_size.is_some(),
            "dictionary_size goes with a dictionary",
            || format!("{:?}", descriptor.dictionary_size),
        )
    }

    /// Returns whether a leaf has no values and no buffers: readers treat it as constant null.
    fn is_empty_without_buffers(&self, descriptor: &Descriptor, buffers: &[Buffer]) -> bool {
        let leaf = !matches!(self.node.basic_type, LIST | MAP | STRUCT | FIXED_LIST);
        leaf && buffers.is_empty() && descriptor.nulls == Some(descriptor.positions)
    }

    /// Checks the buffers in their order. Counts the nulls, if this is possible without decoding.
    fn buffers(&self, descriptor: &Descriptor, buffers: &[&Buffer]) -> Result<Option<u64>, String> {
        let kinds: Vec<u64> = buffers.iter().map(|b| b.kind).collect();
        let nulls = descriptor.nulls.unwrap_or(0);
        let expected: &[u64] = match self.node.basic_type {
            BOOLEAN if nulls > 0 => &[DATA, PRESENCE],
            LIST | MAP if nulls > 0 => &[OFFSETS, PRESENCE],
            LIST | MAP => &[OFFSETS],
            STRUCT | FIXED_LIST if nulls > 0 => &[PRESENCE],
            STRUCT | FIXED_LIST => &[],
            _ if descriptor.dictionary_size.is_some() => &[DATA, VALUE_DICTIONARY],
            _ => &[DATA],
        };
        rule(
            kinds == expected,
            "a type has its buffers in their order",
            || format!("{kinds:?} instead of {expected:?}"),
        )?;
        for (buffer, name) in buffers.iter().zip(["first", "second"]) {
            let nulls = at(self.buffer(descriptor, buffer), || format!("{name} buffer"))?;
            if nulls.is_some() {
                return Ok(nulls);
            }
        }
        Ok(None)
    }

    fn buffer(&self, descriptor: &Descriptor, buffer: &Buffer) -> Result<Option<u64>, String> {
        let unsigned = |width| Values::Number {
            width,
            kind: Kind::Unsigned,
        };
        let (node, positions) = (self.node, self.positions);
        let stream = |values, count, embedded_presence| Stream {
            values,
            count,
            embedded_presence,
        };
        match buffer.kind {
            PRESENCE => {
                buffer.flags_are(false, false)?;
                let bits = stream(unsigned(1), positions.div_ceil(8), false);
                buffer.stream(self.files, &bits).map(|_| None)
            }
            OFFSETS => {
                buffer.flags_are(false, false)?;
                let offsets = stream(unsigned(8), positions + 1, false);
                buffer.stream(self.files, &offsets).map(|_| None)
            }
            VALUE_DICTIONARY => {
                let bare = buffer.map.is_none() && buffer.blocks.is_none() && !buffer.checksums;
                rule(
                    bare && !buffer.has_ids,
                    "a dictionary has a kind and a place alone",
                    || format!("{buffer:?}"),
                )?;
                buffer.flags_are(false, false)?;
                let bytes = part(
                    self.files.file(&buffer.place.url)?,
                    buffer.place.start,
                    buffer.place.end,
                )?;
                let size = descriptor.dictionary_size.unwrap_or(0);
                let entries = at(dictionary::check(bytes, node, size), || {
                    "dictionary".to_owned()
                })?;
                let nulls = descriptor.nulls.unwrap_or(0);
                rule(
                    nulls == 0 || entries.null.is_some(),
                    "null has an entry in the dictionary",
                    || format!("{nulls} nulls, {} entries", entries.entries.len()),
                )?;
                Ok(None)
            }
            _ if node.basic_type == BOOLEAN => {
                buffer.flags_are(false, false)?;
                let bits = stream(unsigned(1), positions.div_ceil(8), false);
                buffer.stream(self.files, &bits).map(|_| None)
            }
            _ if descriptor.dictionary_size.is_some() => {
                rule(
                    node.is_bytes() && !node.is_decimal(),
                    "dictionaries are of strings, binaries and Guids",
                    || format!("type {}", node.basic_type),
                )?;
                buffer.flags_are(false, false)?;
                let codes = stream(unsigned(4), positions, false);
                buffer.stream(self.files, &codes).map(|_| None)
            }
            _ if node.is_number() => {
                buffer.flags_are(true, false)?;
                let kind = match node.basic_type {
                    6 | 7 => Kind::Float,
                    _ if node.signed => Kind::Signed,
                    _ => Kind::Unsigned,
                };
                let width = node.width().unwrap_or(0);
                let numbers = stream(Values::Number { width, kind }, positions, true);
                buffer.stream(self.files, &numbers).map(Some)
            }
            _ => {
                buffer.flags_are(true, true)?;
                let fixed = node.width();
                let bytes = stream(Values::Bytes { fixed }, positions, true);
                buffer.stream(self.files, &bytes).map(Some)
            }
        }
    }
}

/// Checks that buffers follow the header, do not overlap, and have zeros between them.
pub(crate) fn gaps_between_buffers_are_zero(files: &Files, places: &[DataRef]) -> Check {
    let mut places: Vec<&DataRef> = places.iter().collect();
    places.sort_by_key(|place| (&place.url, place.start));
    let mut last: Option<&DataRef> = None;
    for place in places {
        let from = match last {
            Some(last) if last.url == place.url => last.end,
            _ => 8,
        };
        rule(from <= place.start, "buffers do not overlap", || {
            format!("{last:?} and {place:?}")
        })?;
        // A gap smaller than the alignment contains nothing else.
        if place.start - from < 64 {
            let gap = part(files.file(&place.url)?, from, place.start)?;
            rule(is_zero(gap), "gaps between buffers are zero", || {
                format!("before {place:?}")
            })?;
        }
        last = Some(place);
    }
    Ok(())
}
