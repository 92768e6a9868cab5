//! Checks the container: files, frames, the directory, and everything that the directory refers to.

use super::bytes::{Check, DataRef, Message, at, checksum, frame, rule, size_at, u32_at};
use super::field::{Descriptor, Found, StripeField, gaps_between_buffers_are_zero};
use super::schema::{self, FIXED_LIST, LIST, MAP, Node};
use std::collections::{BTreeSet, HashMap};

const HEADER: [u8; 8] = [0x61, 0x6d, 0x75, 0x64, 0, 1, 0, 0];
const MAX_DIRECTORY: usize = 16 << 20;

/// Exceptions for shards of the reference, which breaks some rules that its own reader requires.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Exceptions {
    /// The shard's field list has the absolute URL where the shard was written.
    pub(crate) absolute_field_list: bool,
    /// Types that the reference writes but cannot read.
    pub(crate) unreadable_types: bool,
    /// Fields without descriptor, which the reference cannot open, and child fields that are too short.
    pub(crate) absent_fields: bool,
}

/// The files of a shard.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) directory: Vec<u8>,
    /// The other files, by their URLs.
    pub(crate) others: HashMap<String, Vec<u8>>,
}

impl Files {
    pub(crate) fn file(&self, url: &str) -> Result<&[u8], String> {
        if url.is_empty() {
            return Ok(&self.directory);
        }
        urls_are_relative(url)?;
        let file = self.others.get(url).map(Vec::as_slice);
        file.ok_or_else(|| format!("[references lead to files of the shard] `{url}`"))
    }
}

fn urls_are_relative(url: &str) -> Check {
    let scheme = url.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let dots = |segment: &str| {
        let plain = segment.to_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    rule(
        !scheme && !url.starts_with('/') && !url.split('/').any(dots),
        "URLs are relative, without dots",
        || url.to_owned(),
    )
}

/// Checks all parts of a shard.
pub(crate) fn check(files: &Files, exceptions: Exceptions) -> Check {
    for (name, file) in std::iter::once(("directory file", &files.directory))
        .chain(files.others.iter().map(|(url, file)| (url.as_str(), file)))
    {
        at(header_and_footer_are_the_same(file), || name.to_owned())?;
    }
    let directory = at(directory(&files.directory), || "tail".to_owned())?;
    at(Shard { files, exceptions }.check(directory), || {
        "directory".to_owned()
    })
}

fn header_and_footer_are_the_same(file: &[u8]) -> Check {
    rule(
        file.starts_with(&HEADER) && file.ends_with(&HEADER) && file.len() >= 16,
        "a file begins and ends with the magic bytes and version 0.1.0",
        || format!("{} bytes", file.len()),
    )
}

/// Returns the directory, between its two lengths.
fn directory(file: &[u8]) -> Result<&[u8], String> {
    rule(
        file.len() >= 28,
        "a directory file has 28 bytes at least",
        || format!("{}", file.len()),
    )?;
    let end = file.len() - 8;
    let len = size_at(file, end - 4)?;
    rule(
        len < MAX_DIRECTORY && len + 12 < end,
        "the directory has less than 16 MiB",
        || format!("{len}"),
    )?;
    let start = end - 12 - len;
    rule(
        size_at(file, start)? == len,
        "the length of the directory stands on both sides",
        || format!("{} and {len}", u32_at(file, start).unwrap_or(0)),
    )?;
    let payload = &file[start + 4..start + 4 + len];
    rule(
        u32_at(file, end - 8)? == checksum(payload),
        "the directory ends with its checksum",
        || "another one".to_owned(),
    )?;
    Ok(payload)
}

#[derive(Clone, Copy)]
struct Shard<'a> {
    files: &'a Files,
    exceptions: Exceptions,
}

/// The totals of the stripes.
#[derive(Default)]
struct Totals {
    rows: u64,
    raw_size: u64,
    places: Vec<DataRef>,
    /// Positions, nulls and raw size by schema id.
    fields: HashMap<u32, [u64; 3]>,
}

impl<'a> Shard<'a> {
    /// Returns the payload of a message, which must exist.
    fn required(self, message: &Message<'_>, tag: u64, name: &str) -> Result<&'a [u8], String> {
        let place = message.reference(tag)?;
        let place = place.ok_or_else(|| format!("[the directory has all references] {name}"))?;
        at(self.message(&place), || name.to_owned())
    }

    fn message(self, place: &DataRef) -> Result<&'a [u8], String> {
        frame(self.files.file(&place.url)?, place)
    }

    fn check(self, directory: &[u8]) -> Check {
        let known = [1, 2, 3, 4, 5, 7, 8, 9, 10];
        let message = Message::parse(directory, "ShardDirectory", &known)?;
        let schema = self.required(&message, 1, "schema_ref")?;
        let columns = at(schema::parse(schema), || "schema".to_owned())?;
        if !self.exceptions.unreadable_types {
            columns
                .iter()
                .try_for_each(schema::types_are_ones_that_it_reads)?;
        }
        if let Some(properties) = message.reference(2)? {
            properties_are_pairs(self.message(&properties)?)?;
        }
        let stripes = self.required(&message, 4, "stripe_list_ref")?;
        let stripes = Message::parse(stripes, "StripeList", &[1])?.lens(1)?;
        let mut totals = Totals::default();
        for (i, stripe) in stripes.iter().enumerate() {
            at(self.stripe(stripe, &columns, &mut totals), || {
                format!("stripe {i}")
            })?;
        }
        gaps_between_buffers_are_zero(self.files, &totals.places)?;
        self.counts_are_the_sums(&message, stripes.len(), &totals)?;
        let list = self.required(&message, 5, "url_list_ref")?;
        self.url_list_names_all_files(list, &totals)?;
        let list = self.required(&message, 3, "field_list_ref")?;
        at(self.shard_fields(list, &columns, &totals), || {
            "field list".to_owned()
        })
    }

    fn counts_are_the_sums(self, message: &Message<'_>, stripes: usize, totals: &Totals) -> Check {
        let counts = [message.fixed(7)?, message.fixed(8)?, message.fixed(9)?];
        let expected = [totals.rows, 0, stripes as u64];
        rule(
            counts == expected,
            "the directory has the sums of the stripes, nothing deleted",
            || format!("{counts:?} instead of {expected:?}"),
        )?;
        rule(
            message.optional(10)?.unwrap_or(0) == totals.raw_size,
            "raw_data_size is the sum of the stripes",
            || format!("{:?} instead of {}", message.optional(10), totals.raw_size),
        )
    }

    fn url_list_names_all_files(self, list: &[u8], totals: &Totals) -> Check {
        let urls = Message::parse(list, "UrlList", &[1])?.texts(1)?;
        let listed: BTreeSet<&str> = urls.iter().copied().collect();
        let used = totals.places.iter().map(|place| place.url.as_str());
        let used: BTreeSet<&str> = used.filter(|url| !url.is_empty()).collect();
        // The file of a stripe of constants has no buffers.
        let known = listed
            .iter()
            .all(|url| self.files.others.contains_key(*url));
        rule(
            known && listed.is_superset(&used),
            "the URL list names the stripe files",
            || format!("{listed:?}, used are {used:?}"),
        )
    }

    fn stripe(self, bytes: &[u8], columns: &[Node], totals: &mut Totals) -> Check {
        let message = Message::parse(bytes, "StripeDirectory", &[1, 2, 4, 5, 6, 7])?;
        let rows = message.fixed(4)?;
        rule(
            message.fixed(7)? == totals.rows,
            "a stripe has the position of its first record",
            || {
                format!(
                    "{} instead of {}",
                    message.fixed(7).unwrap_or(0),
                    totals.rows
                )
            },
        )?;
        rule(message.fixed(5)? == 0, "nothing is deleted", || {
            "deleted records".to_owned()
        })?;
        if let Some(properties) = message.reference(1)? {
            Message::parse(self.message(&properties)?, "StripeProperties", &[1, 2])?;
        }
        let list = DataRef::list(self.required(&message, 2, "field_list_ref")?)?;
        let mut stripe = Stripe {
            shard: self,
            list: &list,
            raw_size: 0,
            totals,
        };
        for column in columns {
            stripe.field(column, Some(rows))?;
        }
        let raw_size = stripe.raw_size;
        rule(
            message.optional(6)?.unwrap_or(0) == raw_size,
            "raw_data_size is the sum of the fields",
            || format!("{:?} instead of {raw_size}", message.optional(6)),
        )?;
        totals.raw_size += raw_size;
        totals.rows += rows;
        Ok(())
    }

    /// Checks the shard's descriptors, one for each node.
    fn shard_fields(self, list: &[u8], columns: &[Node], totals: &Totals) -> Check {
        let list = DataRef::list(list)?;
        let mut nodes = Vec::new();
        fn collect<'n>(node: &'n Node, nodes: &mut Vec<&'n Node>) {
            nodes.push(node);
            node.children.iter().for_each(|child| collect(child, nodes));
        }
        columns
            .iter()
            .for_each(|column| collect(column, &mut nodes));
        rule(
            list.len() == nodes.len(),
            "the shard's field list has an entry for each node",
            || format!("{} of {}", list.len(), nodes.len()),
        )?;
        for (node, place) in nodes.iter().zip(&list) {
            let counts = totals.fields.get(&node.id).copied();
            // A shard without stripes has no descriptors.
            if place.end == 0 {
                rule(
                    counts.is_none(),
                    "a field of a stripe is one of the shard",
                    || node.name.clone(),
                )?;
                continue;
            }
            self.field_list_is_of_this_file(place)?;
            let payload = frame(&self.files.directory, place)?;
            let descriptor = at(Descriptor::parse(payload, node), || {
                format!("`{}`", node.name)
            })?;
            let expected = counts.unwrap_or_default();
            rule(
                descriptor.counts() == expected,
                "the shard's counts are the sums of its stripes",
                || format!("{:?} instead of {expected:?}", descriptor.counts()),
            )?;
            rule(
                descriptor.dictionary_size.is_none(),
                "the shard has no dictionary_size",
                || format!("{:?}", descriptor.dictionary_size),
            )?;
        }
        Ok(())
    }

    fn field_list_is_of_this_file(self, place: &DataRef) -> Check {
        let own = place.url.is_empty() || self.exceptions.absolute_field_list;
        rule(
            own,
            "the shard's descriptors are in its directory file",
            || place.url.clone(),
        )
    }
}

/// Checks `ShardProperties`: times, and pairs of names and values.
fn properties_are_pairs(bytes: &[u8]) -> Check {
    let message = Message::parse(bytes, "ShardProperties", &[1, 2, 3, 4])?;
    for pair in message.lens(3)?.into_iter().chain(message.lens(4)?) {
        let pair = Message::parse(pair, "NameValuePair", &[1, 2])?;
        let value = pair.len(2)?.unwrap_or_default();
        Message::parse(
            value,
            "AnyValue",
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 21, 30],
        )?;
    }
    Ok(())
}

struct Stripe<'a, 't> {
    shard: Shard<'a>,
    list: &'t [DataRef],
    raw_size: u64,
    totals: &'t mut Totals,
}

impl Stripe<'_, '_> {
    /// Checks a field and its children. Positions are unknown below absent fields.
    fn field(&mut self, node: &Node, positions: Option<u64>) -> Check {
        let place = self
            .list
            .get(node.id as usize)
            .filter(|place| !place.is_absent());
        let Some((place, positions)) = place.zip(positions) else {
            return rule(
                self.shard.exceptions.absent_fields,
                "a stripe has every field of the schema",
                || format!("node {} `{}`", node.id, node.name),
            );
        };
        let found = self.one(node, place, positions);
        let found = at(found, || format!("node {} `{}`", node.id, node.name))?;
        self.raw_size += found.descriptor.raw_size.unwrap_or(0);
        let counts = found.descriptor.counts();
        let totals = self.totals.fields.entry(node.id).or_default();
        totals
            .iter_mut()
            .zip(counts)
            .for_each(|(total, n)| *total += n);
        self.totals.places.extend(found.places);
        let below = match node.basic_type {
            LIST | MAP => found
                .last_offset
                .or_else(|| self.positions_of(node.children.first())),
            FIXED_LIST => Some(positions * node.fixed_size),
            _ => Some(positions),
        };
        node.children
            .iter()
            .try_for_each(|child| self.field(child, below))
    }

    fn one(&self, node: &Node, place: &DataRef, positions: u64) -> Result<Found, String> {
        let field = StripeField {
            files: self.shard.files,
            node,
            positions,
        };
        field.check(self.shard.message(place)?)
    }

    /// Returns the number of items of a list with encoded offsets, according to the items. The keys and values of a
    /// map must agree.
    fn positions_of(&self, item: Option<&Node>) -> Option<u64> {
        let place = self
            .list
            .get(item?.id as usize)
            .filter(|place| !place.is_absent())?;
        let message = Message::parse(
            self.shard.message(place).ok()?,
            "StripeFieldDescriptor",
            &[1, 2],
        )
        .ok()?;
        let all: Vec<u64> = (1..=64).collect();
        let field = Message::parse(message.len(1).ok()??, "FieldDescriptor", &all).ok()?;
        field.fixed(1).ok()
    }
}
