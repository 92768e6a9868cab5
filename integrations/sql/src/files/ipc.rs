//! The columns of Arrow IPC files.

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::root_as_footer;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::execution::SessionState;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::sync::Arc;

const MAGIC: &[u8] = b"ARROW1";

/// Bytes after the footer of a file: its length, and the magic.
const TRAILER_BYTES: u64 = 10;

/// Returns the columns of files and streams. A file is described by its footer: DataFusion expects the first
/// message of a file in a store at byte 8, but it follows padding of any length.
pub(super) async fn infer(
    state: &SessionState,
    store: &Arc<dyn ObjectStore>,
    format: &Arc<dyn FileFormat>,
    files: &[ObjectMeta],
) -> Result<SchemaRef> {
    let mut schemas = Vec::with_capacity(files.len());
    for file in files {
        let head = store.get_range(&file.location, 0..file.size.min(8)).await?;
        schemas.push(if head.starts_with(MAGIC) {
            of_file(store, file).await?
        } else {
            let one = std::slice::from_ref(file);
            let schema = format.infer_schema(state, store, one).await?;
            schema.as_ref().clone()
        });
    }
    Ok(Arc::new(Schema::try_merge(schemas)?))
}

async fn of_file(store: &Arc<dyn ObjectStore>, file: &ObjectMeta) -> Result<Schema> {
    let path = &file.location;
    let damaged = || plan_datafusion_err!("`{path}`: the end of the Arrow IPC file is damaged");
    let start = file.size.checked_sub(TRAILER_BYTES).ok_or_else(damaged)?;
    let trailer = store.get_range(path, start..file.size).await?;
    let Some((length, MAGIC)) = trailer.split_first_chunk::<4>() else {
        return Err(damaged());
    };
    let length = u64::from(u32::from_le_bytes(*length));
    let footer = start.checked_sub(length).ok_or_else(damaged)?;
    let footer = store.get_range(path, footer..start).await?;
    let Ok(footer) = root_as_footer(&footer) else {
        return Err(damaged());
    };
    match footer.schema() {
        Some(schema) => Ok(fb_to_schema(schema)),
        None => plan_err!("`{path}`: the Arrow IPC file has no schema"),
    }
}
