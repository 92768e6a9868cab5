//! Runs an SQL query over shards: `query SQL [NAME=FILE...]`.

use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let sql = arguments.next().ok_or("usage: query SQL [NAME=FILE...]")?;
    let ctx = SessionContext::new();
    arrow_shard_datafusion::register(&ctx)?;
    for table in arguments {
        let (name, file) = table
            .split_once('=')
            .ok_or("expected NAME=FILE for each table")?;
        let create = format!(
            "CREATE EXTERNAL TABLE \"{name}\" STORED AS SHARD LOCATION '{}'",
            file.replace('\'', "''")
        );
        ctx.sql(&create).await?;
    }
    let rows = ctx.sql(&sql).await?.collect().await?;
    println!("{}", pretty_format_batches(&rows)?);
    Ok(())
}
