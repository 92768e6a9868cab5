//! Spec: Chapter 6, "DataRef" and "DataRefArray".

use crate::io::ByteRange;

/// A reference to bytes of this or another artifact of the shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DataRef {
    /// Location of the artifact that holds the bytes, relative to the folder of the directory file. Empty for the
    /// artifact that contains the reference.
    pub url: String,
    /// Position of the bytes in that artifact.
    pub range: ByteRange,
}

impl DataRef {
    /// Creates a reference into the artifact that contains it.
    pub fn this(range: ByteRange) -> Self {
        Self {
            url: String::new(),
            range,
        }
    }
}

/// Many references, stored by column. An empty reference is an absent element.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataRefArray {
    /// One URL per element, see [`DataRef::url`].
    pub urls: Vec<String>,
    /// One range per element. The range of an absent element is empty.
    pub ranges: Vec<ByteRange>,
}

impl DataRefArray {
    #[cfg(any(test, feature = "experimental"))]
    /// Returns the number of elements, including absent ones.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    #[cfg(feature = "experimental")]
    /// Returns whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    #[cfg(any(test, feature = "experimental"))]
    /// Returns element `i`, or `None` if it is absent or past the end.
    pub fn get(&self, i: usize) -> Option<DataRef> {
        let range = *self.ranges.get(i)?;
        if range.is_empty() {
            return None;
        }
        Some(DataRef {
            url: self.urls.get(i).cloned().unwrap_or_default(),
            range,
        })
    }

    /// Appends an element.
    pub fn push(&mut self, element: DataRef) {
        self.urls.push(element.url);
        self.ranges.push(element.range);
    }
}
