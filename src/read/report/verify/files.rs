//! Spec: Chapter 6, "Shard Directory" and "URL List": the files that a shard consists of.

use super::report::At;
use super::{Verifier, VerifyOptions};
use crate::buffer::StoredRange;
use crate::error::{Error, Result};
use crate::format::{DirectoryTail, FormatVersion, HEADER_LEN};
use crate::io::{ByteRange, RelativeUrl};
use crate::read::open_shard::Shard;
use crate::read::report::concurrent_parts::in_order;
use std::collections::HashSet;

impl Verifier<'_> {
    /// Checks headers and footers of all files that references name.
    pub(super) async fn files(&mut self, options: &VerifyOptions) {
        let shard = self.shard;
        let artifacts = &shard.metadata.artifacts;
        let external = std::mem::take(&mut self.external_files);
        let files = (0..artifacts.count()).map(|artifact| {
            let is_external = external.contains(&artifact);
            async move {
                // The values in files of other formats have been compared with their descriptions.
                let checked = if is_external {
                    artifacts.size_of(artifact).await.map(|_| ())
                } else {
                    ends(shard, artifact).await
                };
                (artifact, checked)
            }
        });
        in_order(files, options.prefetch, |(artifact, ends)| {
            self.report.files += 1;
            match ends {
                // Problems of these files were found with their values.
                Err(error) if external.contains(&artifact) && !error.is_of_reader() => {
                    self.report.add_file(artifacts.name_of(artifact), &error);
                }
                ends => drop(self.note(At::file(artifacts.name_of(artifact)), ends)),
            }
        })
        .await;
    }

    /// Checks that the URL list names every referenced file. Tools that move or remove files use the list.
    pub(super) async fn urls(&mut self) {
        let shard = self.shard;
        if shard.metadata.directory.url_list_ref.is_none() {
            return;
        }
        let urls = shard.referenced_files_async().await;
        let Some(urls) = self.again(&self.root(), urls) else {
            return;
        };
        let listed: HashSet<RelativeUrl> = urls.into_iter().collect();
        let artifacts = &shard.metadata.artifacts;
        for url in (0..artifacts.count()).filter_map(|artifact| artifacts.url_of(artifact)) {
            if !listed.contains(&url) {
                let text = format!("the URL list lacks `{url}`, which fields refer to");
                self.report.add(self.root(), &Error::corrupt(text));
            }
        }
    }
}

/// Checks header and footer of a file.
async fn ends(shard: &Shard, artifact: u32) -> Result<()> {
    let size = shard.metadata.artifacts.size_of(artifact).await?;
    let bytes = async |start: u64, len: u64| {
        let range = ByteRange::with_len(start, len)?;
        shard.bytes_at(StoredRange { artifact, range }).await
    };
    let len = HEADER_LEN as u64;
    FormatVersion::parse(&bytes(0, len).await?, "header")?;
    let footer = size.checked_sub(len);
    let footer = footer.ok_or_else(|| Error::corrupt("the file has no footer"))?;
    FormatVersion::parse(&bytes(footer, len).await?, "footer")?;
    if artifact == 0 {
        let len = size.min(DirectoryTail::LEN as u64);
        let tail = bytes(size - len, len).await?;
        DirectoryTail::locate(&tail, size, shard.metadata.artifacts.limits())?;
    }
    Ok(())
}
