//! Facts about a stripe field that the writer knows before the first value.

use super::codes::EntryType;
use crate::Limits;
use crate::buffer::{Physical, PiecePool};
use crate::error::Result;
use crate::format::{BasicType, DataType, decimal128};
use crate::stats::{
    ByteStats, DecimalForm, DecimalStats, DistinctStats, FilterPlan, FilterSizing, NumberDomain,
    is_hashed,
};
use crate::write::choose::profile::Profile;
use crate::write::choose::settings::{BloomFilterChoice, Settings};
use std::sync::Arc;

/// The plan for encoding a schema node.
#[derive(Debug, Clone)]
pub(in crate::write) struct FieldPlan {
    /// The path of the field, for errors.
    pub(in crate::write) path: Arc<str>,
    pub(super) basic_type: BasicType,
    pub(super) physical: Physical,
    pub(super) domain: NumberDomain,
    pub(super) decimals: Option<DecimalForm>,
    /// Whether byte values are ordered as bytes.
    pub(super) byte_order: bool,
    /// Whether values are hashed for distinct-count sketches (`sketched`) and for Bloom filters (`filtered`).
    sketched: bool,
    filtered: bool,
    /// Whether a dictionary of the Arrow type is kept; otherwise its values are stored plain.
    pub(in crate::write) keeps_dictionary: bool,
    /// Most entries that the keys of the Arrow dictionary type can address.
    pub(in crate::write) max_entries: usize,
    /// Most bytes of a dictionary that readers accept by default.
    pub(in crate::write) most_dictionary_bytes: usize,
    /// Whether the Arrow dictionary type keeps the order of its entries.
    pub(in crate::write) ordered: bool,
    /// Whether the Arrow type has 64-bit offsets. Raw offsets then have 64 bits too.
    pub(in crate::write) wide_offsets: bool,
    /// Whether the field may get a range index. Half-precision numbers get none, because they are stored as integers.
    pub(super) indexed: bool,
    /// Memory of raw buffers, shared by all fields of a shard.
    pub(in crate::write) pool: Arc<PiecePool>,
    /// Schema ids of the members whose blocks this struct holds.
    pub(in crate::write) members: Vec<u32>,
    pub(in crate::write) settings: Settings,
}

impl FieldPlan {
    /// Returns the plan for a node of the shard's schema.
    pub(in crate::write) fn new(node: &DataType, settings: Settings) -> Result<Self> {
        let physical = Physical::of(node)?;
        let capabilities = &settings.capabilities;
        let label = if capabilities.label_statistics {
            node.label()
        } else {
            ""
        };
        let is_decimal128 = node.label() == decimal128::LABEL;
        let domain = number_domain(node, label);
        let decimals = match decimal_form(label, physical) {
            // Every wire has statistics of them.
            None if is_decimal128 && physical == Physical::Fixed(16) => {
                Some(DecimalForm::Decimal128)
            }
            form => form,
        };
        let is_bytes = matches!(physical, Physical::Fixed(_) | Physical::Bytes);
        let byte_order = capabilities.spec_statistics
            && is_bytes
            && (physical == Physical::Bytes || matches!(label, "" | "arrow.uuid"));
        // The reference hashes only byte values.
        let hashed = is_hashed(node) && (capabilities.spec_statistics || is_bytes);
        let filtered = hashed
            && match settings.bloom_filter {
                BloomFilterChoice::Never => false,
                BloomFilterChoice::Always => true,
                BloomFilterChoice::Automatic => {
                    is_bytes
                        && (settings.profile != Profile::Plain
                            || node.basic_type == BasicType::Guid)
                }
            };
        let is_leaf = !matches!(
            physical,
            Physical::Presence | Physical::Lists | Physical::Bits | Physical::Union
        );
        let delimited = settings.delimited && physical == Physical::Bytes;
        let keeps_dictionary = !settings.is_member
            && !delimited
            && (capabilities.numeric_dictionaries
                || (matches!(physical, Physical::Fixed(_) | Physical::Bytes) && !is_decimal128));
        Ok(Self {
            path: node.name.as_str().into(),
            basic_type: node.basic_type,
            physical,
            keeps_dictionary,
            domain,
            decimals,
            byte_order,
            // Hashing takes longer than writing raw buffers.
            sketched: hashed && settings.statistics && !settings.is_raw(),
            filtered,
            max_entries: usize::MAX,
            most_dictionary_bytes: most_dictionary_bytes(),
            ordered: false,
            wide_offsets: false,
            indexed: node.label() != "arrow.float16",
            pool: Arc::default(),
            members: Vec::new(),
            settings: Settings {
                // Only blocks can hold presence, and only blocks of leaf values.
                embedded_presence: settings.is_member
                    || (settings.embedded_presence && is_leaf && !settings.is_raw() && !delimited),
                compressor_dictionaries: settings.compressor_dictionaries && !delimited,
                delimited,
                blobs: settings.blobs.filter(|_| physical == Physical::Bytes),
                wide_integers: decimals == Some(DecimalForm::Integer128),
                ..settings
            },
        })
    }
}

/// Returns the interpretation of the numbers of a node with a label.
pub(super) fn number_domain(node: &DataType, label: &str) -> NumberDomain {
    match node.basic_type {
        BasicType::Float32 | BasicType::Float64 => NumberDomain::Float,
        _ if label == "arrow.float16" => NumberDomain::Half,
        _ if node.signed => NumberDomain::Signed,
        _ => NumberDomain::Unsigned,
    }
}

/// Returns the form of the wide decimals of a node with a label.
pub(super) fn decimal_form(label: &str, physical: Physical) -> Option<DecimalForm> {
    match (label, physical) {
        ("arrow.decimal", Physical::Fixed(16)) => Some(DecimalForm::Integer128),
        ("arrow.decimal", Physical::Fixed(32)) => Some(DecimalForm::Integer256),
        _ => None,
    }
}

/// Returns the most bytes of a dictionary with 32-bit offsets that readers accept by default.
fn most_dictionary_bytes() -> usize {
    let taken = Limits::default().max_dictionary_bytes();
    let told = u64::from(i32::MAX.unsigned_abs());
    usize::try_from(taken.min(told)).unwrap_or(usize::MAX)
}

/// Distinct values above which the reference implementation writes no filter.
const MAX_BLOOM_VALUES: usize = 1024;

impl FieldPlan {
    /// Returns a collector of hashes of values, if the field has a sketch or a filter.
    pub(super) fn distinct(&self) -> Option<DistinctStats> {
        let capabilities = &self.settings.capabilities;
        let filter = FilterPlan {
            seed: capabilities.filter_seed,
            fpp: self.settings.bloom_filter_fpp,
            sizing: if capabilities.spec_statistics {
                FilterSizing::PowerOfTwo
            } else {
                FilterSizing::Fitting
            },
            most_values: if capabilities.spec_statistics {
                usize::MAX
            } else {
                MAX_BLOOM_VALUES
            },
        };
        (self.sketched || self.filtered)
            .then(|| DistinctStats::new(capabilities.sketch_seed, self.filtered.then_some(filter)))
    }

    /// Returns whether the shard stores the number of distinct values.
    pub(super) fn has_cardinality(&self) -> bool {
        self.sketched
            || (self.physical == Physical::Bits
                && self.settings.statistics
                && self.settings.capabilities.spec_statistics)
    }

    /// Returns a collector of statistics of byte values. It is off for decimals, which have their own statistics.
    pub(super) fn byte_stats(&self) -> ByteStats {
        ByteStats::new(self.settings.statistics && self.decimals.is_none())
    }

    /// Returns a collector of statistics of decimals, if the values are decimals.
    pub(super) fn decimal_stats(&self) -> Option<DecimalStats> {
        let form = self.decimals.filter(|_| self.settings.statistics)?;
        Some(DecimalStats::new(form))
    }

    /// Returns the type of the entries that a dictionary of the field has.
    pub(in crate::write) fn entry_type(&self) -> EntryType {
        let is_number = matches!(self.physical, Physical::Number(_));
        EntryType {
            value_type: self.basic_type,
            width: self.physical.width(),
            kind: is_number.then(|| self.domain.kind()),
            ordered: self.ordered,
            most_bytes: self.most_dictionary_bytes,
        }
    }

    /// Returns the [`entry_type`](Self::entry_type) if values that arrive without a dictionary may get one.
    pub(super) fn tried_entry(&self) -> Option<EntryType> {
        let tried = self.settings.dictionaries
            && self.keeps_dictionary
            && self.settings.profile != Profile::Plain;
        let is_worth_it = self.physical.width().is_none_or(|width| width > 1);
        (tried && is_worth_it).then(|| EntryType {
            ordered: false,
            ..self.entry_type()
        })
    }
}
