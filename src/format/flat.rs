//! Spec: Chapter 6, "Schema" (how a FlatBuffer is read).
//!
//! A reader of FlatBuffers that checks each part when it is accessed. Opening a buffer costs nothing, however
//! many tables it holds. Bytes may start at any address. References point only forward, so a chain of them
//! is never longer than the buffer. But many references may point to the same place, so callers count the
//! bytes that they copy in a [`Budget`].

use crate::error::{Error, ErrorKind, Result};
use hashbrown::HashSet;
use std::sync::{Mutex, PoisonError};

/// Bytes that may be allocated per byte of a buffer. Valid buffers with nodes that share text of up to
/// 4 KiB stay below this, since every node takes at least 28 bytes of its own.
const EXPANSION: usize = 256;

/// Number of bytes that may still be allocated for the content of a buffer.
#[derive(Debug)]
pub(crate) struct Budget(usize);

impl Budget {
    /// Returns the budget for the content of `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.len().saturating_mul(EXPANSION))
    }

    /// Subtracts the bytes of an allocation.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!("a FlatBuffer expands to more than {EXPANSION} times its size"),
            )
        })?;
        Ok(())
    }

    /// Returns an owned copy of a text.
    pub(crate) fn copy(&mut self, text: &str) -> Result<String> {
        self.spend(text.len().saturating_add(size_of::<String>()))?;
        Ok(text.to_owned())
    }
}

/// A shared [`Budget`] for all fields of a buffer. Each field is charged once, however often it is read.
#[derive(Debug)]
pub(crate) struct Ledger(Mutex<Accounts>);

#[derive(Debug)]
struct Accounts {
    left: usize,
    charged: HashSet<usize>,
}

impl Ledger {
    /// Creates the ledger for the content of `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(Mutex::new(Accounts {
            left: Budget::new(bytes).0,
            charged: HashSet::new(),
        }))
    }

    /// Reads field `i` of `bytes` with the remaining budget, and charges the field with the bytes that it took.
    pub(crate) fn read<T>(
        &self,
        i: usize,
        bytes: &[u8],
        read: impl FnOnce(&mut Budget) -> Result<T>,
    ) -> Result<T> {
        let accounts = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = {
            let accounts = accounts();
            if accounts.charged.contains(&i) {
                Budget::new(bytes).0
            } else {
                accounts.left
            }
        };
        let mut budget = Budget(before);
        let value = read(&mut budget)?;
        let mut accounts = accounts();
        if accounts.charged.insert(i) {
            accounts.left = accounts.left.saturating_sub(before - budget.0);
        }
        Ok(value)
    }
}

/// A table of a FlatBuffer. Slots are numbered from 0 in the order of their declaration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of the table itself.
    len: usize,
    /// Position of the vtable.
    vtable: usize,
    /// Offsets of the slots, two bytes each.
    slots: &'a [u8],
}

/// A vtable that has been checked, and the position of one reference in its tables. Most tables of a
/// kind share a vtable.
#[derive(Debug, Default)]
struct KnownVtable {
    at: usize,
    /// Size of a table, in bytes.
    table_len: usize,
    /// Position of the reference in a table, or 0 if it has none.
    slot: usize,
}

fn outside(what: &str, at: usize, bytes: &[u8]) -> Error {
    Error::corrupt(format!(
        "{what} at byte {at} lies outside of the {} bytes of a FlatBuffer",
        bytes.len()
    ))
}

fn array<const N: usize>(bytes: &[u8], at: usize, what: &str) -> Result<[u8; N]> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .ok_or_else(|| outside(what, at, bytes))
}

/// Returns the target of the reference at byte `at`.
fn follow(bytes: &[u8], at: usize) -> Result<usize> {
    let offset = u32::from_le_bytes(array(bytes, at, "a reference")?);
    let target = usize::try_from(offset).ok().and_then(|o| at.checked_add(o));
    match target {
        // A reference to itself would be a loop.
        Some(target) if offset != 0 && target < bytes.len() => Ok(target),
        _ => Err(Error::corrupt(format!(
            "the reference at byte {at} points {offset} bytes ahead, in a FlatBuffer of {} bytes",
            bytes.len()
        ))),
    }
}

macro_rules! scalars {
    ($($name:ident: $ty:ty),*) => {
        $(
            /// Returns the number in a slot, or `default` if the slot is empty.
            pub(crate) fn $name(&self, slot: usize, default: $ty) -> Result<$ty> {
                Ok(match self.slot(slot, size_of::<$ty>())? {
                    Some(at) => <$ty>::from_le_bytes(array(self.bytes, at, "a number")?),
                    None => default,
                })
            }
        )*
    };
}

impl<'a> Table<'a> {
    /// Returns the root table of a buffer.
    pub(crate) fn root(bytes: &'a [u8]) -> Result<Self> {
        Self::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self> {
        let back = i32::from_le_bytes(array(bytes, at, "a table")?);
        let vtable = isize::try_from(back)
            .ok()
            .zip(isize::try_from(at).ok())
            .and_then(|(back, at)| usize::try_from(at.checked_sub(back)?).ok())
            .ok_or_else(|| {
                Error::corrupt(format!(
                    "the table at byte {at} has its vtable {back} bytes before it"
                ))
            })?;
        let [a, b, c, d] = array(bytes, vtable, "a vtable")?;
        let vtable_len = usize::from(u16::from_le_bytes([a, b]));
        let len = usize::from(u16::from_le_bytes([c, d]));
        if vtable_len < 4 || vtable_len % 2 != 0 || len < 4 {
            return Err(Error::corrupt(format!(
                "the vtable at byte {vtable} says that it has {vtable_len} bytes and its table {len}"
            )));
        }
        let slots = bytes
            .get(vtable..)
            .and_then(|rest| rest.get(4..vtable_len))
            .ok_or_else(|| outside("a vtable", vtable, bytes))?;
        if bytes.len() - at < len {
            return Err(outside("a table", at, bytes));
        }
        Ok(Self {
            bytes,
            at,
            len,
            vtable,
            slots,
        })
    }

    /// Returns the number of slots in the table's vtable.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len() / 2
    }

    /// Returns the vtable, and the position of the reference in a slot.
    fn known(&self, slot: usize) -> KnownVtable {
        let place = self.slot(slot, 4).ok().flatten();
        KnownVtable {
            at: self.vtable,
            table_len: self.len,
            slot: place.map_or(0, |place| place - self.at),
        }
    }

    /// Returns whether a slot holds a value.
    pub(crate) fn has(&self, slot: usize) -> bool {
        self.offset(slot) != 0
    }

    fn offset(&self, slot: usize) -> usize {
        let entry = slot
            .checked_mul(2)
            .and_then(|at| self.slots.get(at..)?.first_chunk::<2>());
        entry.map_or(0, |e| usize::from(u16::from_le_bytes(*e)))
    }

    /// Returns the position of the `width` bytes that a slot holds in the table, or `None` if it is empty.
    fn slot(&self, slot: usize, width: usize) -> Result<Option<usize>> {
        let offset = self.offset(slot);
        if offset == 0 {
            return Ok(None);
        }
        if offset < 4 || offset + width > self.len {
            return Err(Error::corrupt(format!(
                "slot {slot} of the table at byte {} has {width} bytes at {offset}, in a table of {}",
                self.at, self.len
            )));
        }
        Ok(Some(self.at + offset))
    }

    scalars!(u8: u8, i16: i16, i32: i32, u32: u32, u64: u64);

    /// Returns the truth value in a slot, or false if the slot is empty.
    pub(crate) fn bool(&self, slot: usize) -> Result<bool> {
        match self.u8(slot, 0)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::corrupt(format!(
                "slot {slot} of the table at byte {} is {other} instead of true or false",
                self.at
            ))),
        }
    }

    /// Returns the target of the reference in a slot.
    fn target(&self, slot: usize) -> Result<Option<usize>> {
        self.slot(slot, 4)?
            .map(|at| follow(self.bytes, at))
            .transpose()
    }

    /// Returns the table that a slot refers to.
    pub(crate) fn table(&self, slot: usize) -> Result<Option<Self>> {
        self.target(slot)?
            .map(|at| Self::at(self.bytes, at))
            .transpose()
    }

    /// Returns the position and bytes of the vector of `width`-byte elements that a slot refers to.
    fn elements(&self, slot: usize, width: usize) -> Result<Option<(usize, &'a [u8])>> {
        let Some(at) = self.target(slot)? else {
            return Ok(None);
        };
        let count = u32::from_le_bytes(array(self.bytes, at, "a vector")?);
        let start = at + 4;
        let elements = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(width))
            .and_then(|len| self.bytes.get(start..)?.get(..len));
        match elements {
            Some(elements) => Ok(Some((start, elements))),
            None => Err(Error::corrupt(format!(
                "the vector at byte {at} has {count} elements of {width} bytes, in a FlatBuffer of {} bytes",
                self.bytes.len()
            ))),
        }
    }

    /// Returns the vector of bytes that a slot refers to.
    pub(crate) fn byte_vector(&self, slot: usize) -> Result<Option<&'a [u8]>> {
        Ok(self.elements(slot, 1)?.map(|(_, bytes)| bytes))
    }

    /// Returns the vector of four-byte words that a slot refers to.
    pub(crate) fn words(&self, slot: usize) -> Result<Option<&'a [[u8; 4]]>> {
        Ok(self
            .elements(slot, 4)?
            .map(|(_, bytes)| bytes.as_chunks().0))
    }

    /// Returns the vector of 32-bit integers that a slot refers to.
    pub(crate) fn i32_vector(
        &self,
        slot: usize,
    ) -> Result<Option<impl ExactSizeIterator<Item = i32> + 'a>> {
        let words = self.words(slot)?;
        Ok(words.map(|words| words.iter().map(|word| i32::from_le_bytes(*word))))
    }

    /// Returns the text that a slot refers to.
    pub(crate) fn text(&self, slot: usize) -> Result<Option<&'a str>> {
        self.byte_vector(slot)?
            .map(|bytes| utf8(bytes, self.at))
            .transpose()
    }

    /// Returns the vector of tables or of texts that a slot refers to.
    pub(crate) fn vector(&self, slot: usize) -> Result<Option<OffsetVector<'a>>> {
        Ok(self
            .elements(slot, 4)?
            .map(|(start, elements)| OffsetVector {
                bytes: self.bytes,
                start,
                len: elements.len() / 4,
            }))
    }
}

fn utf8(bytes: &[u8], at: usize) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| {
        Error::corrupt(format!(
            "a text of the table at byte {at} is not UTF-8: {e}"
        ))
    })
}

/// A vector of references to tables or to texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OffsetVector<'a> {
    bytes: &'a [u8],
    start: usize,
    len: usize,
}

impl<'a> OffsetVector<'a> {
    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn target(&self, i: usize) -> Result<usize> {
        if i >= self.len {
            return Err(Error::invalid(format!(
                "element {i} of a vector of {} elements",
                self.len
            )));
        }
        // The whole vector lies in the buffer.
        follow(self.bytes, self.start + 4 * i)
    }

    /// Returns element `i`, a table.
    pub(crate) fn table(&self, i: usize) -> Result<Table<'a>> {
        Table::at(self.bytes, self.target(i)?)
    }

    /// Returns element `i`, a text.
    pub(crate) fn text(&self, i: usize) -> Result<&'a str> {
        let at = self.target(i)?;
        let len = u32::from_le_bytes(array(self.bytes, at, "a text")?);
        let text = usize::try_from(len)
            .ok()
            .and_then(|len| self.bytes.get(at + 4..)?.get(..len))
            .ok_or_else(|| outside("a text", at, self.bytes))?;
        utf8(text, at)
    }

    /// For each element, which must be a table, follows slot `outer` to another table, and returns the bytes that slot
    /// `inner` of that table refers to.
    pub(crate) fn bytes_below(
        self,
        outer: usize,
        inner: usize,
    ) -> impl Iterator<Item = Result<Option<&'a [u8]>>> {
        let mut known = (KnownVtable::default(), KnownVtable::default());
        (0..self.len).map(move |i| {
            if let Some(found) = self.bytes_of_known(i, &known.0, &known.1) {
                return Ok(Some(found));
            }
            let element = self.table(i)?;
            let Some(below) = element.table(outer)? else {
                return Ok(None);
            };
            known = (element.known(outer), below.known(inner));
            below.byte_vector(inner)
        })
    }

    /// Does the same as [`bytes_below`](Self::bytes_below) for one element, if the vtables of both tables are known and
    /// there is no error.
    fn bytes_of_known(
        &self,
        i: usize,
        outer: &KnownVtable,
        inner: &KnownVtable,
    ) -> Option<&'a [u8]> {
        let word = |at: usize| self.bytes.get(at..)?.first_chunk::<4>().copied();
        let follow = |at: usize| {
            let offset = usize::try_from(u32::from_le_bytes(word(at)?)).ok()?;
            at.checked_add(offset).filter(|_| offset != 0)
        };
        let slot = |at: usize, known: &KnownVtable| {
            let back = isize::try_from(i32::from_le_bytes(word(at)?)).ok()?;
            let is_known = at.checked_add_signed(back.checked_neg()?)? == known.at;
            let fits = known.table_len <= self.bytes.len().checked_sub(at)?;
            (is_known && fits && known.slot > 0).then_some(at + known.slot)
        };
        let element = follow(self.start + 4 * i)?;
        let below = follow(slot(element, outer)?)?;
        let vector = follow(slot(below, inner)?)?;
        let len = usize::try_from(u32::from_le_bytes(word(vector)?)).ok()?;
        self.bytes.get(vector + 4..)?.get(..len)
    }

    /// Returns all elements, which must be tables.
    pub(crate) fn tables(self) -> impl Iterator<Item = Result<Table<'a>>> {
        (0..self.len).map(move |i| self.table(i))
    }
}
