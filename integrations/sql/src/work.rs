//! Plans and runs one statement.

use crate::failure::Failure;
use crate::files::{Kind, SUFFIXES, is_like_path};
use crate::names;
use crate::target::Target;
use arrow_shard::io::is_url;
use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{Statement as SqlStatement, Value};
use futures::StreamExt;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use std::path::PathBuf;
use tokio::sync::mpsc::Sender;
use url::Url;

/// A statement, and how to run it.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) sql: String,
    /// The file that gets the rows of the query.
    pub(crate) output: Option<PathBuf>,
    /// Whether files may be replaced.
    pub(crate) force: bool,
}

/// A part of the result of a statement.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The columns of the rows that follow.
    Columns {
        schema: SchemaRef,
        is_plan: bool,
    },
    Rows(RecordBatch),
}

/// The effect of a statement besides its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Done {
    Nothing,
    Copied { rows: u64, target: String },
    Inserted { rows: u64 },
}

impl Work {
    /// Runs the statement, and sends the rows of its result.
    pub(crate) async fn run(
        self,
        ctx: SessionContext,
        pieces: Sender<Piece>,
    ) -> Result<Done, Failure> {
        let mut statement = self.parse(&ctx)?;
        if let Some(output) = &self.output {
            statement = copied_to(statement, output)?;
        }
        let mut target = None;
        if let Statement::CopyTo(copy) = &mut statement {
            choose_format(copy)?;
            if !self.force {
                refuse_existing(&ctx, &copy.target).await?;
            }
            let shown = copy.target.clone();
            target = Some((Some(shown), Target::prepare(&ctx, copy)?));
        }
        let plan = ctx.state().statement_to_plan(statement).await;
        let plan = plan.map_err(|error| with_similar_table(&ctx, error))?;
        let is_plan = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
        if let LogicalPlan::Analyze(analyze) = &plan
            && matches!(*analyze.input, LogicalPlan::Dml(_) | LogicalPlan::Copy(_))
        {
            return Err(Failure::new(
                "EXPLAIN ANALYZE runs its statement, and takes only queries here: use EXPLAIN, or run the query alone",
            ));
        }
        if let LogicalPlan::Dml(change) = &plan {
            let table = &change.table_name;
            if !ctx.table_exist(table.clone())? {
                return Err(Failure::new(format!(
                    "`{}` is a file, which takes no rows: write a new file by COPY, or name its folder by CREATE \
                     EXTERNAL TABLE",
                    table.table()
                )));
            }
            target = Some((None, Target::of_table(&ctx, table).await?));
        }
        if let Some((shown, place)) = target {
            let rows = match written(&ctx, plan).await {
                Ok(rows) => rows,
                Err(failure) => {
                    place.discard().await;
                    return Err(failure);
                }
            };
            place.commit().await?;
            return Ok(match shown {
                Some(target) => Done::Copied { rows, target },
                None => Done::Inserted { rows },
            });
        }
        let result = ctx.execute_logical_plan(plan).await?;
        let schema = SchemaRef::new(result.schema().as_arrow().clone());
        let mut rows = result.execute_stream().await?;
        // Statements such as CREATE TABLE return no columns.
        let is_silent = schema.fields().is_empty();
        let mut piece = Some(Piece::Columns { schema, is_plan }).filter(|_| !is_silent);
        loop {
            if let Some(piece) = piece.take()
                && pieces.send(piece).await.is_err()
            {
                // The receiver has ended.
                return Ok(Done::Nothing);
            }
            match rows.next().await.transpose()? {
                Some(batch) if !is_silent || batch.num_rows() > 0 => {
                    piece = Some(Piece::Rows(batch));
                }
                Some(_) => {}
                None => return Ok(Done::Nothing),
            }
        }
    }

    fn parse(&self, ctx: &SessionContext) -> Result<Statement, Failure> {
        let state = ctx.state();
        let dialect = state.config_options().sql_parser.dialect;
        Ok(state.sql_to_statement(&self.sql, &dialect)?)
    }
}

/// Parses a statement, without running it.
pub(crate) fn check_syntax(ctx: &SessionContext, sql: &str) -> Result<(), Failure> {
    let work = Work {
        sql: sql.to_owned(),
        output: None,
        force: false,
    };
    work.parse(ctx).map(drop)
}

/// Runs the plan of a statement that writes, and returns the number of rows.
async fn written(ctx: &SessionContext, plan: LogicalPlan) -> Result<u64, Failure> {
    let counts = ctx.execute_logical_plan(plan).await?.collect().await?;
    let count = |batch: &RecordBatch| {
        let counts = batch.columns().first();
        let counts = counts.and_then(|column| column.as_any().downcast_ref::<UInt64Array>());
        counts.map_or(0, |counts| counts.values().iter().sum())
    };
    Ok(counts.iter().map(count).sum())
}

/// Turns a query into a copy of its rows to a file.
fn copied_to(statement: Statement, output: &std::path::Path) -> Result<Statement, Failure> {
    let query = match statement {
        Statement::Statement(inner) => match *inner {
            SqlStatement::Query(query) => Some(query),
            _ => None,
        },
        _ => None,
    };
    let (Some(query), Some(target)) = (query, output.to_str()) else {
        let message = "--output takes the rows of one query, and its name must be valid Unicode";
        return Err(Failure::Usage(message.to_owned()));
    };
    Ok(Statement::CopyTo(CopyToStatement {
        source: CopyToSource::Query(query),
        target: target.to_owned(),
        partitioned_by: Vec::new(),
        stored_as: None,
        options: Vec::new(),
    }))
}

/// Sets the format of a copy by the suffix of its target, unless the statement has one.
fn choose_format(copy: &mut CopyToStatement) -> Result<(), Failure> {
    if copy.stored_as.is_some() {
        return Ok(());
    }
    let Some((kind, _)) = Kind::by_name(&copy.target) else {
        return Err(Failure::new(format!(
            "`{}`: the name does not show the format; known suffixes are {SUFFIXES}. For a folder, add STORED AS PARQUET \
             or another format",
            copy.target
        )));
    };
    if copy.target.to_ascii_lowercase().ends_with(".arrows") {
        return Err(Failure::new(format!(
            "`{}`: streams of Arrow IPC are read only; write a file, with the suffix .arrow",
            copy.target
        )));
    }
    copy.stored_as = Some(kind.format.sql().to_owned());
    for (key, value) in kind.copy_options() {
        if !copy.options.iter().any(|(given, _)| given == key) {
            let value = Value::SingleQuotedString(value.to_owned());
            copy.options.push((key.to_owned(), value));
        }
    }
    Ok(())
}

/// Fails if the target of a copy exists. An empty folder may.
async fn refuse_existing(ctx: &SessionContext, target: &str) -> Result<(), Failure> {
    let exists = match Url::parse(target) {
        Ok(url) if is_url(target) && url.scheme() != "file" => {
            let registry = &ctx.runtime_env().object_store_registry;
            let store = registry.get_store(&url)?;
            let path = Path::from_url_path(url.path()).map_err(|e| Failure::new(e.to_string()))?;
            if url.path().ends_with('/') {
                store.list(Some(&path)).next().await.is_some()
            } else {
                store.head(&path).await.is_ok()
            }
        }
        parsed => {
            let local = parsed.ok().and_then(|url| url.to_file_path().ok());
            let path = local.unwrap_or_else(|| target.into());
            match std::fs::read_dir(&path) {
                Ok(mut entries) => entries.next().is_some(),
                Err(_) => path.symlink_metadata().is_ok(),
            }
        }
    };
    if exists {
        let advice = "--force, or .force on at the prompt, allows to replace files";
        return Err(Failure::new(format!("`{target}` exists; {advice}")));
    }
    Ok(())
}

/// Adds advice to the error about a table that does not exist.
fn with_similar_table(ctx: &SessionContext, error: DataFusionError) -> Failure {
    let text = error.find_root().strip_backtrace();
    let name = text.split_once("table '").and_then(|(_, rest)| {
        let name = rest.strip_suffix("' not found")?;
        Some(name.strip_prefix("datafusion.public.").unwrap_or(name))
    });
    let Some(name) = name else {
        return error.into();
    };
    let known = tables(ctx);
    let advice = match names::nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None if is_like_path(name) => "; put the names of files in single quotes".to_owned(),
        None => String::new(),
    };
    Failure::new(format!("there is no table or file `{name}`{advice}"))
}

/// Returns the names of the tables and views of the session.
pub(crate) fn tables(ctx: &SessionContext) -> Vec<String> {
    let state = ctx.state();
    let options = &state.config_options().catalog;
    let schema = ctx.catalog(&options.default_catalog);
    let schema = schema.and_then(|catalog| catalog.schema(&options.default_schema));
    let mut names = schema.map_or_else(Vec::new, |schema| schema.table_names());
    names.sort_unstable();
    names
}
