//! Random schemas with every Arrow type.

use arrow_schema::{
    DataType, Field, Fields, IntervalUnit, Schema, TimeUnit, UnionFields, UnionMode,
};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The types and names that a random schema may have.
pub(crate) struct Config {
    /// Most nested types around a leaf.
    pub(crate) max_depth: u32,
    /// Most top-level columns.
    pub(crate) max_columns: usize,
    /// Duplicate, empty, dotted, long and non-ASCII names.
    pub(crate) odd_names: bool,
    /// Metadata of schema and fields, including extension types.
    pub(crate) metadata: bool,
    /// Decides which types may occur; called for each type after its children.
    pub(crate) allow: fn(&DataType) -> bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_depth: 4,
            max_columns: 8,
            odd_names: true,
            metadata: true,
            allow: |_| true,
        }
    }
}

/// Returns a schema of up to [`Config::max_columns`] columns, sometimes without columns.
pub(crate) fn random_schema(rng: &mut StdRng, config: &Config) -> Schema {
    let columns = rng.random_range(0..=config.max_columns);
    let fields = random_fields(rng, config, 0, columns);
    let metadata = random_metadata(rng, config);
    Schema::new_with_metadata(fields, metadata)
}

/// Returns `count` fields for a place below `depth` nested types, with unique or odd names.
fn random_fields(rng: &mut StdRng, config: &Config, depth: u32, count: usize) -> Fields {
    (0..count)
        .map(|i| {
            let name = if config.odd_names && rng.random_ratio(1, 4) {
                let long = "long name ".repeat(30);
                let odd = ["", "a", "a", "a.b", "größe", "名前", "`q\"'", " ", &long];
                (*odd.choose(rng).unwrap()).to_owned()
            } else {
                format!("c{i}")
            };
            random_field(rng, config, depth, &name)
        })
        .collect()
}

/// Returns a field for a place below `depth` nested types; sometimes an extension type.
pub(crate) fn random_field(rng: &mut StdRng, config: &Config, depth: u32, name: &str) -> Field {
    if config.metadata && rng.random_ratio(1, 12) {
        let (data_type, extension, parameters) = [
            (DataType::FixedSizeBinary(16), "arrow.uuid", None),
            (DataType::Utf8, "arrow.json", Some("")),
            (DataType::LargeUtf8, "arrow.json", Some("{}")),
            (DataType::Utf8View, "arrow.json", Some("")),
            (DataType::Int64, "example.unknown", Some("[1]")),
        ]
        .choose(rng)
        .unwrap()
        .clone();
        if (config.allow)(&data_type) {
            let mut metadata = random_metadata(rng, config);
            metadata.insert("ARROW:extension:name".into(), extension.into());
            if let Some(parameters) = parameters {
                metadata.insert("ARROW:extension:metadata".into(), parameters.into());
            }
            return Field::new(name, data_type, rng.random()).with_metadata(metadata);
        }
    }
    let data_type = random_type(rng, config, depth);
    field_of(rng, config, name, data_type)
}

/// Returns a field of a given type, nullable or not if the type allows both.
fn field_of(rng: &mut StdRng, config: &Config, name: &str, data_type: DataType) -> Field {
    let nullable = !can_be_valid(&data_type) || rng.random_ratio(2, 3);
    let metadata = random_metadata(rng, config);
    if matches!(data_type, DataType::Dictionary(_, _)) && rng.random_ratio(1, 4) {
        #[expect(deprecated, reason = "the only way to set `dict_is_ordered`")]
        let field = Field::new_dict(name, data_type, nullable, 0, true);
        return field.with_metadata(metadata);
    }
    Field::new(name, data_type, nullable).with_metadata(metadata)
}

/// Returns whether an array of this type can be free of logical nulls.
fn can_be_valid(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => false,
        DataType::Dictionary(_, values) => can_be_valid(values),
        DataType::RunEndEncoded(_, values) => can_be_valid(values.data_type()),
        DataType::Union(fields, _) => fields.iter().all(|(_, f)| can_be_valid(f.data_type())),
        _ => true,
    }
}

/// Returns whether the type is a union, or a dictionary or run-end encoding of unions: only the children of a union
/// have validity.
pub(crate) fn is_union(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) => true,
        DataType::Dictionary(_, values) => is_union(values),
        DataType::RunEndEncoded(_, values) => is_union(values.data_type()),
        _ => false,
    }
}

fn random_metadata(rng: &mut StdRng, config: &Config) -> HashMap<String, String> {
    if !config.metadata || !rng.random_ratio(1, 5) {
        return HashMap::new();
    }
    let pairs = [("k", "v"), ("", ""), ("ключ", "значение\0"), ("long", "")];
    pairs
        .choose_multiple(rng, 2)
        .map(|(key, value)| (key.to_string(), value.repeat(rng.random_range(1..40))))
        .collect()
}

/// Returns a type for a place below `depth` nested types.
pub(crate) fn random_type(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    loop {
        let data_type = if depth < config.max_depth && rng.random_ratio(2, 5) {
            nested(rng, config, depth + 1)
        } else {
            leaf(rng)
        };
        if (config.allow)(&data_type) {
            return data_type;
        }
    }
}

fn unit(rng: &mut StdRng) -> TimeUnit {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    *[Second, Millisecond, Microsecond, Nanosecond]
        .choose(rng)
        .unwrap()
}

fn leaf(rng: &mut StdRng) -> DataType {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256,
        Duration, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Interval,
        LargeBinary, LargeUtf8, Null, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64,
        Utf8, Utf8View,
    };
    let plain = [
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Binary,
        LargeBinary,
        BinaryView,
        Utf8,
        LargeUtf8,
        Utf8View,
    ];
    let kind = rng.random_range(0..plain.len() + 10);
    if let Some(data_type) = plain.get(kind) {
        return data_type.clone();
    }
    match kind - plain.len() {
        0 => {
            let zones = [None, Some("UTC"), Some("+05:30"), Some("Europe/Berlin")];
            Timestamp(unit(rng), zones.choose(rng).unwrap().map(Arc::from))
        }
        1 => Time32(
            *[TimeUnit::Second, TimeUnit::Millisecond]
                .choose(rng)
                .unwrap(),
        ),
        2 => Time64(
            *[TimeUnit::Microsecond, TimeUnit::Nanosecond]
                .choose(rng)
                .unwrap(),
        ),
        3 => Duration(unit(rng)),
        4 => {
            use IntervalUnit::{DayTime, MonthDayNano, YearMonth};
            Interval(*[YearMonth, DayTime, MonthDayNano].choose(rng).unwrap())
        }
        5 => FixedSizeBinary(*[0, 1, 3, 8, 16, 33, 65, 100].choose(rng).unwrap()),
        6 => decimal(rng, 9, Decimal32),
        7 => decimal(rng, 18, Decimal64),
        8 => decimal(rng, 38, Decimal128),
        _ => decimal(rng, 76, Decimal256),
    }
}

/// Returns a decimal of any precision up to `max`, with a scale from -12 to the precision.
fn decimal(rng: &mut StdRng, max: u8, new: fn(u8, i8) -> DataType) -> DataType {
    let precision = rng.random_range(1..=max);
    new(
        precision,
        rng.random_range(-12..=i8::try_from(precision).unwrap()),
    )
}

fn nested(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    match rng.random_range(0..12) {
        0 => DataType::List(item(rng, config, depth)),
        1 => DataType::LargeList(item(rng, config, depth)),
        2 => DataType::ListView(item(rng, config, depth)),
        3 => DataType::LargeListView(item(rng, config, depth)),
        4 => fixed_size_list(rng, config, depth),
        5 | 6 => {
            let children = rng.random_range(0..=3);
            DataType::Struct(random_fields(rng, config, depth, children))
        }
        7 => map(rng, config, depth),
        8 => union(rng, config, depth),
        9 | 10 => dictionary(rng, config, depth),
        _ => run_end_encoded(rng, config, depth),
    }
}

fn item(rng: &mut StdRng, config: &Config, depth: u32) -> Arc<Field> {
    let name = *["item", "item", "element", ""].choose(rng).unwrap();
    Arc::new(random_field(rng, config, depth, name))
}

fn fixed_size_list(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    loop {
        let item = item(rng, config, depth);
        // The multiple of the rows would exceed 16-bit run ends.
        if !any_type(item.data_type(), &mut has_short_runs) {
            return DataType::FixedSizeList(item, rng.random_range(0..=3));
        }
    }
}

/// Returns whether the type itself has 16-bit run ends, which allow at most 32,767 values.
pub(crate) fn has_short_runs(data_type: &DataType) -> bool {
    matches!(data_type, DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int16)
}

fn map(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    let sortable: Vec<_> = [DataType::Int32, DataType::Utf8, DataType::UInt64]
        .into_iter()
        .filter(config.allow)
        .collect();
    let sorted = !sortable.is_empty() && rng.random();
    let key_type = loop {
        let key_type = if sorted {
            sortable.choose(rng).unwrap().clone()
        } else {
            random_type(rng, config, depth)
        };
        if can_be_valid(&key_type) {
            break key_type;
        }
    };
    let names = [
        ["entries", "keys", "values"],
        ["key_value", "key", "value"],
        ["", "", ""],
    ];
    let [entries, keys, values] = *names.choose(rng).unwrap();
    let key = field_of(rng, config, keys, key_type).with_nullable(false);
    let value = random_field(rng, config, depth, values);
    let entries = Field::new(entries, DataType::Struct(vec![key, value].into()), false)
        .with_metadata(random_metadata(rng, config));
    DataType::Map(Arc::new(entries), sorted)
}

fn union(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    let count = rng.random_range(1..=4);
    let fields = random_fields(rng, config, depth, count);
    let mut ids: Vec<i8> = if rng.random() {
        (0..=i8::MAX).collect()
    } else {
        (0..4).collect()
    };
    ids.shuffle(rng);
    ids.truncate(fields.len());
    if rng.random() {
        ids.sort_unstable();
    }
    let fields = UnionFields::try_new(ids, fields.iter().cloned()).unwrap();
    let mode = *[UnionMode::Sparse, UnionMode::Dense].choose(rng).unwrap();
    DataType::Union(fields, mode)
}

fn dictionary(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let keys = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
    let key = keys.choose(rng).unwrap().clone();
    let value = loop {
        let usual = [DataType::Utf8, DataType::Utf8View, DataType::LargeBinary];
        let value = if rng.random() {
            usual.choose(rng).unwrap().clone()
        } else {
            random_type(rng, config, depth)
        };
        // An Arrow schema message cannot represent a dictionary of dictionaries.
        if !matches!(value, DataType::Dictionary(_, _)) && (config.allow)(&value) {
            break value;
        }
    };
    DataType::Dictionary(Box::new(key), Box::new(value))
}

fn run_end_encoded(rng: &mut StdRng, config: &Config, depth: u32) -> DataType {
    let ends = [DataType::Int16, DataType::Int32, DataType::Int64];
    let ends = Field::new("run_ends", ends.choose(rng).unwrap().clone(), false);
    let values = if rng.random() {
        let data_type = random_type(rng, config, depth);
        Field::new("values", data_type, true)
    } else {
        random_field(rng, config, depth, "v")
    };
    DataType::RunEndEncoded(Arc::new(ends), Arc::new(values))
}

/// Returns whether `test` holds for a type or any type inside of it.
pub(crate) fn any_type(data_type: &DataType, test: &mut dyn FnMut(&DataType) -> bool) -> bool {
    if test(data_type) {
        return true;
    }
    match data_type {
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _) => any_type(f.data_type(), test),
        DataType::RunEndEncoded(_, f) => any_type(f.data_type(), test),
        DataType::Struct(fields) => fields.iter().any(|f| any_type(f.data_type(), test)),
        DataType::Union(fields, _) => fields.iter().any(|(_, f)| any_type(f.data_type(), test)),
        DataType::Dictionary(_, value) => any_type(value, test),
        _ => false,
    }
}

/// Returns the types of a schema at every level, without names and numbers.
pub(crate) fn kinds(schema: &Schema) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for field in schema.fields() {
        any_type(field.data_type(), &mut |data_type| {
            kinds.insert(kind(data_type));
            false
        });
    }
    kinds
}

fn kind(data_type: &DataType) -> String {
    let zero = |n: &i32| if *n == 0 { " 0" } else { "" };
    let sign = |scale: &i8| if *scale < 0 { " negative scale" } else { "" };
    match data_type {
        DataType::Timestamp(unit, zone) => format!("Timestamp {unit} {}", zone.is_some()),
        DataType::FixedSizeBinary(n) => format!("FixedSizeBinary{}", zero(n)),
        DataType::FixedSizeList(_, n) => format!("FixedSizeList{}", zero(n)),
        DataType::Decimal32(_, s) => format!("Decimal32{}", sign(s)),
        DataType::Decimal64(_, s) => format!("Decimal64{}", sign(s)),
        DataType::Decimal128(_, s) => format!("Decimal128{}", sign(s)),
        DataType::Decimal256(_, s) => format!("Decimal256{}", sign(s)),
        DataType::List(_) => "List".into(),
        DataType::LargeList(_) => "LargeList".into(),
        DataType::ListView(_) => "ListView".into(),
        DataType::LargeListView(_) => "LargeListView".into(),
        DataType::Struct(fields) if fields.is_empty() => "Struct empty".into(),
        DataType::Struct(_) => "Struct".into(),
        DataType::Map(_, sorted) => format!("Map {sorted}"),
        DataType::Union(_, mode) => format!("Union {mode:?}"),
        DataType::Dictionary(key, _) => format!("Dictionary {key}"),
        DataType::RunEndEncoded(ends, _) => format!("RunEndEncoded {}", ends.data_type()),
        other => other.to_string(),
    }
}
