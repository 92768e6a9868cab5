//! Spec: Chapter 6, "Schema".
//!
//! Schema nodes as owned trees. The stored form is a FlatBuffer, which `SchemaReader` reads field
//! by field.

use super::AnyValue;
use crate::error::{Error, Result};

/// The types of schema nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum BasicType {
    /// No value, only positions.
    Unit = 0,
    /// One bit.
    Boolean = 1,
    /// 8-bit integer.
    Int8 = 2,
    /// 16-bit integer.
    Int16 = 3,
    /// 32-bit integer.
    Int32 = 4,
    /// 64-bit integer.
    Int64 = 5,
    /// IEEE 754 binary32.
    Float32 = 6,
    /// IEEE 754 binary64.
    Float64 = 7,
    /// Bytes of variable length.
    Binary = 8,
    /// Bytes of a fixed length, `fixed_size`.
    FixedSizeBinary = 9,
    /// UTF-8 text.
    String = 10,
    /// 16 bytes.
    Guid = 11,
    /// u64 ticks of 100 ns since 0001-01-01.
    DateTime = 12,
    /// Lists of variable length, with elements of child 0.
    List = 13,
    /// Lists of a fixed length, `fixed_size`, with elements of child 0.
    FixedSizeList = 14,
    /// One value of each child.
    Struct = 15,
    /// Lists of keys (child 0) and values (child 1).
    Map = 16,
    /// A value of one of the children.
    Union = 17,
}

impl BasicType {
    /// Returns whether `signed` is meaningful for the type.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Returns whether `fixed_size` is meaningful for the type.
    pub fn has_fixed_size(self) -> bool {
        matches!(
            self,
            Self::FixedSizeBinary | Self::FixedSizeList | Self::Guid
        )
    }

    /// Returns the type with this number.
    pub fn from_u8(value: u8) -> Option<Self> {
        use BasicType::*;
        const ALL: [BasicType; 18] = [
            Unit,
            Boolean,
            Int8,
            Int16,
            Int32,
            Int64,
            Float32,
            Float64,
            Binary,
            FixedSizeBinary,
            String,
            Guid,
            DateTime,
            List,
            FixedSizeList,
            Struct,
            Map,
            Union,
        ];
        ALL.get(usize::from(value)).copied()
    }
}

/// A node of the schema: a column, or an element of a nested one.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// Basic type of the values.
    pub basic_type: BasicType,
    /// Number of the node, the index in field lists.
    pub schema_id: u32,
    /// Name of a column, struct member or union variant. Empty for other nodes.
    pub name: String,
    /// Other names of a struct member.
    pub aliases: Vec<String>,
    /// Child nodes of a nested type.
    pub children: Vec<DataType>,
    /// Whether an integer is signed. False for other types.
    pub signed: bool,
    /// Bytes of a `FixedSizeBinary`, elements of a `FixedSizeList`, 16 for a `Guid`, else 0.
    pub fixed_size: u64,
    /// Meaning of the values beyond their storage.
    pub extended_type: Option<ExtendedType>,
}

/// A label on a schema node, with properties.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtendedType {
    /// Name of the type, for example `arrow.timestamp`.
    pub label: String,
    /// Parameters of the type.
    pub properties: Vec<(String, PropertyValue)>,
}

/// The value of a property of an [`ExtendedType`].
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyValue {
    /// No value.
    Null,
    /// Text.
    String(String),
    /// Text that is JSON.
    Json(String),
    /// A dynamically typed value.
    Any(AnyValue),
    /// A value of a kind that this reader does not know: the kind and the bytes.
    Other(u8, Vec<u8>),
}

impl PropertyValue {
    /// Returns the value for display.
    pub fn text(&self) -> String {
        match self {
            Self::String(text) | Self::Json(text) => text.clone(),
            other => format!("{other:?}"),
        }
    }
}

/// A top-level field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its node.
    pub data_type: DataType,
    /// Role of an internal field, such as [`DELETED_RECORD`].
    pub internal_kind: Option<String>,
}

/// A whole schema.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// The top-level fields.
    pub fields: Vec<Field>,
}

/// Internal field that marks deleted records.
pub const DELETED_RECORD: &str = "Kusto.Amudai.DeletedRecord";
/// Internal field that holds the time of ingestion, a DateTime.
pub const INGESTION_TIMESTAMP: &str = "Kusto.Amudai.IngestionTimestamp";
/// Internal field that identifies a record, a Guid.
pub const RECORD_IDENTITY: &str = "Kusto.Amudai.RecordIdentity";

impl DataType {
    /// Creates a node without children or annotations.
    pub fn new(basic_type: BasicType, name: impl Into<String>) -> Self {
        Self {
            basic_type,
            schema_id: 0,
            name: name.into(),
            aliases: Vec::new(),
            children: Vec::new(),
            signed: false,
            fixed_size: 0,
            extended_type: None,
        }
    }

    /// Calls `visit` for this node and all nodes below it, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a DataType)) {
        visit(self);
        for child in &self.children {
            child.walk(visit);
        }
    }

    /// Returns the label of the extended type, or an empty string.
    pub fn label(&self) -> &str {
        self.extended_type.as_ref().map_or("", |e| &e.label)
    }

    /// Returns the stored type for display: `Int64`, `Uint8`, `FixedSizeBinary(16)`.
    pub fn stored_type(&self) -> String {
        let basic = format!("{:?}", self.basic_type);
        if self.basic_type.is_integer() && !self.signed {
            format!("U{}", basic.to_lowercase())
        } else if self.basic_type.has_fixed_size() && self.fixed_size > 0 {
            format!("{basic}({})", self.fixed_size)
        } else {
            basic
        }
    }

    /// Checks the number of children and the fixed size of this node against Chapter 6.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) with the expected and the found value.
    pub(crate) fn check(&self) -> Result<()> {
        use BasicType::*;
        let children = self.children.len();
        let expected = match self.basic_type {
            List | FixedSizeList => 1..=1,
            Map => 2..=2,
            Struct => 0..=usize::MAX,
            // The ordinal of a child is a u8.
            Union => 0..=256,
            _ => 0..=0,
        };
        if !expected.contains(&children) {
            return Err(Error::corrupt(format!(
                "{:?} has {children} child nodes instead of {}",
                self.basic_type,
                expected.end()
            )));
        }
        let size = self.fixed_size;
        match self.basic_type {
            // Arrow stores these sizes as i32.
            FixedSizeBinary | FixedSizeList if i32::try_from(size).is_err() => {
                Err(Error::corrupt(format!(
                    "{:?} has fixed size {size}, which exceeds 31 bits",
                    self.basic_type
                )))
            }
            Guid if size != 0 && size != 16 => Err(Error::corrupt(format!(
                "Guid has fixed size {size} instead of 16"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the text of a property of the extended type.
    pub fn property(&self, name: &str) -> Option<&str> {
        let extended = self.extended_type.as_ref()?;
        extended.properties.iter().find_map(|(n, v)| match v {
            PropertyValue::String(s) if n == name => Some(s.as_str()),
            _ => None,
        })
    }
}

impl Schema {
    /// Numbers all nodes depth first from 0, parents before children, and returns their count.
    pub fn assign_ids(&mut self) -> u32 {
        fn assign(node: &mut DataType, next: &mut u32) {
            node.schema_id = *next;
            *next += 1;
            for child in &mut node.children {
                assign(child, next);
            }
        }
        let mut next = 0;
        for field in &mut self.fields {
            assign(&mut field.data_type, &mut next);
        }
        next
    }
}
