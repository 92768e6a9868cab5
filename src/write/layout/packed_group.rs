//! Spec: Chapter 6, "Packed Group Encoding": the blocks of members move to their struct.

use crate::buffer::FinishedBuffer;
use crate::error::Result;
use crate::format::BufferKind;
use crate::write::field::encoder::EncodedField;

/// Moves the blocks of all members of packed groups to the buffer of their group. A member without values, such as a
/// constant, is not part of it.
pub(super) fn pack(fields: &mut [EncodedField]) -> Result<()> {
    for ordinal in 0..fields.len() {
        let ids = std::mem::take(&mut fields[ordinal].members);
        if ids.is_empty() {
            continue;
        }
        // Ids of members ascend.
        let is_member = |id: usize| {
            ids.binary_search_by_key(&id, |&member| member as usize)
                .is_ok()
        };
        let mut members: Vec<&mut FinishedBuffer> = fields
            .iter_mut()
            .enumerate()
            .filter(|(id, _)| is_member(*id))
            .flat_map(|(_, field)| &mut field.buffers)
            .filter(|buffer| buffer.kind() == BufferKind::Data)
            .collect();
        if !members.is_empty() {
            let group = FinishedBuffer::packed_group(&mut members)?;
            fields[ordinal].buffers.insert(0, group);
        }
    }
    Ok(())
}
