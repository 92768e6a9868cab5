//! Checks the schema FlatBuffer in the reference's layout.

use super::bytes::{Check, at, rule, u8_at, u16_at, u32_at, u64_at};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const BOOLEAN: u8 = 1;
pub(crate) const BINARY: u8 = 8;
pub(crate) const FIXED: u8 = 9;
pub(crate) const STRING: u8 = 10;
pub(crate) const GUID: u8 = 11;
pub(crate) const DATE_TIME: u8 = 12;
pub(crate) const LIST: u8 = 13;
pub(crate) const FIXED_LIST: u8 = 14;
pub(crate) const STRUCT: u8 = 15;
pub(crate) const MAP: u8 = 16;
const UNION: u8 = 17;
const NO_PARENT: u32 = u32::MAX;

/// A node of the schema.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) basic_type: u8,
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) signed: bool,
    pub(crate) fixed_size: u64,
    pub(crate) label: String,
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Returns the bytes of each value, for types of fixed size.
    pub(crate) fn width(&self) -> Option<usize> {
        match self.basic_type {
            2 => Some(1),
            3 => Some(2),
            4 | 6 => Some(4),
            5 | 7 | DATE_TIME => Some(8),
            FIXED | GUID => usize::try_from(self.fixed_size).ok(),
            _ => None,
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.basic_type, 2..=7 | DATE_TIME)
    }

    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.basic_type, BINARY..=GUID)
    }

    pub(crate) fn is_decimal(&self) -> bool {
        self.basic_type == FIXED && self.label == "KustoDecimal"
    }
}

/// A table of a FlatBuffer.
#[derive(Clone, Copy)]
struct Table<'a> {
    buffer: &'a [u8],
    start: usize,
}

impl<'a> Table<'a> {
    fn follow(buffer: &'a [u8], place: usize) -> Result<Self, String> {
        let start = place + u32_at(buffer, place)? as usize;
        Ok(Self { buffer, start })
    }

    fn vtable(&self) -> Result<usize, String> {
        let back = i32::from_le_bytes(u32_at(self.buffer, self.start)?.to_le_bytes());
        let start = i64::try_from(self.start).unwrap() - i64::from(back);
        usize::try_from(start).map_err(|_| "a vtable lies before the buffer".to_owned())
    }

    fn slots(&self) -> Result<usize, String> {
        let bytes = u16_at(self.buffer, self.vtable()?)?;
        Ok(usize::from(bytes.saturating_sub(4)) / 2)
    }

    /// Returns the position of a slot's value, if it is stored.
    fn slot(&self, slot: usize) -> Result<Option<usize>, String> {
        if slot >= self.slots()? {
            return Ok(None);
        }
        let offset = u16_at(self.buffer, self.vtable()? + 4 + 2 * slot)?;
        Ok((offset > 0).then(|| self.start + usize::from(offset)))
    }

    fn required(&self, slot: usize, name: &str) -> Result<usize, String> {
        self.slot(slot)?
            .ok_or_else(|| format!("[required slots are stored] slot {slot}, {name}"))
    }

    fn u32(&self, slot: usize) -> Result<u32, String> {
        self.slot(slot)?
            .map_or(Ok(0), |place| u32_at(self.buffer, place))
    }

    fn u8(&self, slot: usize) -> Result<u8, String> {
        self.slot(slot)?
            .map_or(Ok(0), |place| u8_at(self.buffer, place))
    }

    fn text(&self, slot: usize, name: &str) -> Result<&'a str, String> {
        let place = self.required(slot, name)?;
        let start = place + u32_at(self.buffer, place)? as usize;
        let len = u32_at(self.buffer, start)? as usize;
        let bytes = self.buffer.get(start + 4..start + 4 + len);
        std::str::from_utf8(bytes.ok_or("a text is cut off")?).map_err(|e| e.to_string())
    }

    /// Returns the number of elements, and the position of the first one.
    fn vector(&self, slot: usize, name: &str) -> Result<(usize, usize), String> {
        let place = self.required(slot, name)?;
        let start = place + u32_at(self.buffer, place)? as usize;
        Ok((u32_at(self.buffer, start)? as usize, start + 4))
    }

    fn tables(&self, slot: usize, name: &str) -> Result<Vec<Table<'a>>, String> {
        let (len, start) = self.vector(slot, name)?;
        (0..len)
            .map(|i| Table::follow(self.buffer, start + 4 * i))
            .collect()
    }

    fn numbers(&self, slot: usize, name: &str) -> Result<Vec<u32>, String> {
        let (len, start) = self.vector(slot, name)?;
        (0..len)
            .map(|i| u32_at(self.buffer, start + 4 * i))
            .collect()
    }
}

/// Parses a schema, and checks its layout.
pub(crate) fn parse(buffer: &[u8]) -> Result<Vec<Node>, String> {
    let root = Table::follow(buffer, 0)?;
    rule(
        root.slots()? >= 3,
        "the root table stores field_lookup in slot 2",
        || format!("{} slots", root.slots().unwrap_or(0)),
    )?;
    let mut next = 0;
    let mut columns = Vec::new();
    for field in root.tables(0, "fields")? {
        let place = field.required(0, "data_type")?;
        columns.push(node(Table::follow(buffer, place)?, NO_PARENT, &mut next)?);
    }
    rule(
        root.u32(1)? == next,
        "schema_id_count is the number of nodes",
        || format!("{} of {next}", root.u32(1).unwrap_or(0)),
    )?;
    let place = root.required(2, "field_lookup")?;
    at(lookup(Table::follow(buffer, place)?, &columns), || {
        "field_lookup".to_owned()
    })?;
    names_are_there_and_unique(&columns)?;
    Ok(columns)
}

fn node(table: Table<'_>, parent: u32, next: &mut u32) -> Result<Node, String> {
    let name = table.text(3, "field_name")?.to_owned();
    at(read_node(table, parent, next, &name), || {
        format!("node `{name}`")
    })
}

fn read_node(table: Table<'_>, parent: u32, next: &mut u32, name: &str) -> Result<Node, String> {
    let id = table.u32(1)?;
    rule(
        id == *next,
        "ids are given depth first, parents before children",
        || format!("{id} instead of {next}"),
    )?;
    *next += 1;
    rule(
        table.u32(2)? == parent,
        "slot 2 is the id of the parent node",
        || format!("{} instead of {parent}", table.u32(2).unwrap_or(0)),
    )?;
    let children = table.tables(5, "children")?;
    let children = children.into_iter().map(|child| node(child, id, next));
    let fixed_size = match table.slot(7)? {
        Some(place) => u64_at(table.buffer, place)?,
        None => 0,
    };
    let mut node = Node {
        basic_type: table.u8(0)?,
        id,
        name: name.to_owned(),
        signed: table.u8(6)? == 1,
        fixed_size,
        label: String::new(),
        children: children.collect::<Result<_, _>>()?,
    };
    if let Some(place) = table.slot(8)? {
        let annotation = Table::follow(table.buffer, place)?;
        node.label = annotation.text(0, "label")?.to_owned();
        labels_have_no_properties(annotation)?;
    }
    fixed_sizes_are_those_of_the_type(&node)?;
    rule(
        !node.signed || (2..=5).contains(&node.basic_type),
        "only integers are signed",
        || format!("type {}", node.basic_type),
    )?;
    children_are_those_of_the_type(&node)?;
    lookup_is_there_from_ten_names_on(table, &node)?;
    Ok(node)
}

fn labels_have_no_properties(annotation: Table<'_>) -> Check {
    let (properties, _) = annotation.vector(1, "properties")?;
    rule(
        properties == 0,
        "labels have a list of properties, an empty one",
        || format!("{properties} properties"),
    )
}

fn fixed_sizes_are_those_of_the_type(node: &Node) -> Check {
    let holds = match node.basic_type {
        GUID => node.fixed_size == 16,
        FIXED => (1..=u64::from(u32::MAX)).contains(&node.fixed_size),
        FIXED_LIST => true,
        _ => node.fixed_size == 0,
    };
    rule(
        holds,
        "fixed_size is 16 of a Guid, and the bytes of a fixed-size binary",
        || format!("type {} of size {}", node.basic_type, node.fixed_size),
    )
}

fn children_are_those_of_the_type(node: &Node) -> Check {
    let count = node.children.len();
    let holds = match node.basic_type {
        LIST | FIXED_LIST => count == 1,
        MAP => count == 2,
        STRUCT => true,
        _ => count == 0,
    };
    rule(holds, "lists have one child, maps two, leaves none", || {
        format!("type {} with {count}", node.basic_type)
    })?;
    if node.basic_type == STRUCT {
        return names_are_there_and_unique(&node.children);
    }
    let nameless = node.children.iter().all(|child| child.name.is_empty());
    rule(nameless, "children of lists and maps have no name", || {
        "a name".to_owned()
    })
}

fn names_are_there_and_unique(siblings: &[Node]) -> Check {
    let mut names: Vec<&str> = siblings.iter().map(|node| node.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    rule(
        twice.is_none(),
        "columns and members have names of their own",
        || format!("{twice:?}"),
    )?;
    rule(
        !names.contains(&""),
        "columns and members have names",
        || format!("{names:?}"),
    )
}

fn lookup_is_there_from_ten_names_on(table: Table<'_>, node: &Node) -> Check {
    let named = node.children.iter().filter(|c| !c.name.is_empty()).count();
    let due = matches!(node.basic_type, STRUCT | UNION) && named >= 10;
    let slot = table.slot(9)?;
    rule(
        slot.is_some() == due,
        "a struct has a lookup from ten named members on",
        || format!("{named} names"),
    )?;
    match slot {
        Some(place) => lookup(Table::follow(table.buffer, place)?, &node.children),
        None => Ok(()),
    }
}

/// Checks that the lookup maps the hash of a name to its ordinal.
fn lookup(table: Table<'_>, siblings: &[Node]) -> Check {
    let (buckets, entries) = (table.numbers(0, "buckets")?, table.numbers(1, "entries")?);
    let count = (siblings.len().max(4) / 2).next_power_of_two();
    rule(
        buckets.len() == count + 1 && entries.len() == siblings.len(),
        "a lookup has a power of two buckets, half the names",
        || {
            format!(
                "{} buckets, {} entries of {}",
                buckets.len(),
                entries.len(),
                siblings.len()
            )
        },
    )?;
    let mut expected = vec![Vec::new(); count];
    for (i, node) in (0u32..).zip(siblings) {
        let hash = xxh3_64(node.name.as_bytes());
        expected[usize::try_from(hash % count as u64).unwrap()].push(i);
    }
    for (i, bucket) in expected.iter().enumerate() {
        let range = buckets[i] as usize..buckets[i + 1] as usize;
        rule(
            entries.get(range) == Some(bucket),
            "a bucket has the names of its hash",
            || format!("bucket {i}"),
        )?;
    }
    Ok(())
}

/// Checks that the reference's reader supports the type of a node: it lacks an Arrow type, or code, for some.
pub(crate) fn types_are_ones_that_it_reads(node: &Node) -> Check {
    let readable = !matches!(node.basic_type, 0 | FIXED_LIST | UNION..);
    rule(readable, "no Unit, FixedSizeList or Union", || {
        format!("type {} of `{}`", node.basic_type, node.name)
    })?;
    let is_empty = node.basic_type == STRUCT && node.children.is_empty();
    rule(!is_empty, "structs have members", || {
        format!("`{}`", node.name)
    })?;
    node.children
        .iter()
        .try_for_each(types_are_ones_that_it_reads)
}
