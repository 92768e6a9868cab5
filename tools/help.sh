#!/usr/bin/env bash
# Prints docs/guide/command-line.md, with the text of every `--help`. Its argument is the command line's program; without
# one it is built.
#
#   tools/help.sh target/debug/arrow-shard >docs/guide/command-line.md
#   tools/help.sh target/debug/arrow-shard | diff docs/guide/command-line.md -
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/debug/arrow-shard}
if [ $# = 0 ]; then
    cargo build --quiet --features cli --bin arrow-shard
fi
# The width that clap has where there is no terminal.
export COLUMNS=100

# Fenced text without blanks at the ends of lines.
help_of() {
    local text
    text=$("$program" help "$@" | sed 's/[[:space:]]*$//')
    printf '```text\n%s\n```\n' "$text"
}

cat <<'PAGE'
# The command line

<!-- Made by tools/help.sh: change it there, or in the help texts in src/bin/arrow-shard. -->

Install it with `cargo install --path . --features cli` in a clone; with the feature `cloud`, files may be
[URLs of object stores](object-stores.md#the-command-line).

| command | what it does |
|-|-|
| [`convert IN... OUT`](#convert) | converts files, folders and globs between shards, Parquet, Arrow IPC, [COLE](../cole.md), CSV, NDJSON and [Lance](../../integrations/lance) |
| [`schema FILE`](#schema) | prints the Arrow schema; with `--shard`, the stored one |
| [`info FILE...`](#info) | shows rows, bytes, sort order, key-values and needed files on one screen |
| [`count FILE...`](#count) | counts rows, or those that match a `--filter` |
| [`head FILE...`](#head), [`tail FILE...`](#tail), [`cat FILE...`](#cat) | print rows, or those that match a `--filter`, as a table, CSV, JSON, or a line for each value |
| [`sample N FILE...`](#sample) | prints random rows, or writes them to an `--output`; the same ones for the same `--seed` |
| [`stats FILE...`](#stats) | shows nulls, bounds, distinct values, mean length and bytes of each column |
| [`diff A B`](#diff) | compares columns, and rows by position or by a `--key` |
| [`inspect FILE`](#inspect) | shows sizes, encodings and statistics; with `--explain`, the encodings that the writer weighs |
| [`verify FILE...`](#verify) | compares every checksum, decodes every block, and checks columns against statistics, filters and sort order |
| [`attach FILE... -o OUT`](#attach) | makes a shard over [Parquet files](parquet-lake.md) by reference |
| [`merge FILE... -o OUT`](#merge), [`append FILE OTHER...`](#append) | make one shard of several by reference; `append` also takes rows of other formats |
| [`upsert FILE OTHER...`](#upsert), [`dedupe FILE`](#dedupe) | replace rows by their `--key`, and delete rows with the key of another row |
| [`delete FILE... --where CONDITION`](#delete), [`undelete FILE`](#undelete) | mark rows as deleted, and bring them back |
| [`select FILE`](#select) | keeps, drops and renames columns, by reference |
| [`set FILE KEY=VALUE...`](#set) | sets and removes key-values and properties, and renames columns |
| [`add FILE COLUMN=EXPRESSION...`](#add) | adds columns: SQL expressions, or the columns of another file |
| [`compact FILE`](#compact) | rewrites stripes that are small or have many deleted rows |
| [`pack IN OUT`](#pack) | makes one file of a shard that consists of several |
| [`vacuum FOLDER`](#vacuum) | lists or removes files that no shard needs |
| [`ls [FOLDER]`](#ls) | lists the shards of a folder, with `--recursive` also those of its subfolders |
| [`sql [SQL]`](#sql) | [queries files by SQL](sql.md), with the separate program `arrow-shard-sql`; `arrow-shard NAME` runs any other program `arrow-shard-NAME`, too |
| [`completions SHELL`](#completions), [`man [COMMAND]`](#man) | print completions for a shell, and manual pages |

## Filters

`--filter` and `--where` take a condition in a [subset of SQL](../filters.md). Put it in double quotes, and text, dates and
times in single quotes:

```sh
arrow-shard cat --filter "time >= '2024-02-29' AND (origin IN ('OSL', 'LIM') OR NOT delay BETWEEN 0 AND 1.5)" flights.amudai.shard
```

## Inputs

* `convert`, `schema`, `head`, `tail`, `sample`, `cat`, `diff`, `append` and `upsert` read files, folders (with
  subfolders) and quoted globs in any mix of formats, as [one table](../conversions.md#several-inputs):
  `arrow-shard cat 'days/**/*.csv' archive/`. `head` and `tail` draw a table for each argument. `info` and `count` look
  at each file by itself; `stats` shows one table for all files, and their columns must have the same types.
* In object stores, the URL of a folder ends with `/`. Globs also work there: `'s3://logs/days/*.parquet'`. Rows that a
  shard of a folder shares with another file of the folder count once.
* The name of a file decides its format, or else [its content](../conversions.md#how-files-are-read); `--from` and
  `--to` override both.
* CSV and NDJSON may be compressed with gzip, zstd, bzip2 or xz, as in `t.csv.gz`; also standard input, and outputs.
* Types of CSV and JSON are inferred from all rows. A column gets the type that holds every value; one impossible date
  makes the whole column text. JSON may be an object per line, objects over several lines, or an array of objects.
* `--hive` adds columns of folders such as `year=2024`.
* `--cast day=date32` and `--schema 'day date32, n int64'` [set types](../conversions.md#types-that-you-choose). A value
  that the type does not hold exactly is an error, unless you set `--lossy`.
* Parquet has no seconds. Times in seconds and `Date64` are stored there in milliseconds, and read back as they were.
* For files from people you do not know, `--strict` refuses shards that need more memory, columns, stripes or nesting
  than ordinary tables do, and `--max-memory 512M` bounds the memory. Commands that read shards have both, except for
  `ls` and `attach`; they apply to shards and COLE.

## Outputs

* Results go to standard output, and everything else (progress, errors) to standard error. Progress is shown only on a
  terminal. With `--json`, `info`, `count`, `head`, `tail`, `sample`, `cat`, `stats`, `diff` and `ls` print one JSON
  object per line; `schema` and `inspect` print one object.
* An output appears when it is complete: it is written to a temporary file, which is then renamed. An error or a signal
  (SIGINT, SIGTERM, SIGHUP) removes the temporary file. If the process is killed, the file stays; the next writer to the
  folder deletes it once it is an hour old, on file systems that support locks.
* `convert --rows-per-file 1000000 in.csv out.parquet` writes `out-00001.parquet` and so on. `convert --dry-run` shows
  what would be read and written.
* `convert --compression snappy in.csv out.parquet` sets the compression of Parquet or Arrow IPC. A shard has a
  [profile](profiles.md), and CSV and NDJSON are compressed if their names end in `.gz`, `.zst`, `.bz2` or `.xz`.
* `convert --sort origin,-delay` sorts the rows. `convert --partition-by year in.csv lake/part.parquet` writes
  `lake/year=2024/part-00001.parquet` and so on, which `--hive` reads back. If rows of more than eight folders are
  mixed, the rows of the others are sorted first, with temporary files, so that a folder has one file or two (more with
  `--rows-per-file`).
* An output may be an input only if it is one file, which is replaced once it is complete. Everything else that would
  replace rows before they are read is an error.
* `convert`, `merge` and `pack` replace an existing file only with `--force`. `delete`, `undelete`, `select`, `set`,
  `add`, `append`, `upsert`, `dedupe` and `compact` change their shard in place, unless `--output` names a new file.
  `--dry-run` shows the result and writes nothing. `attach` and the `--output` of these commands never replace a file. A
  name of another format, such as `out.parquet`, is refused where a shard is written.
* After an edit, a shard consists of several files, which belong together: see
  [Backup, copy, move](life.md#backup-copy-move).
* Symbolic links are followed. Named pipes are written to. Devices are refused, except `/dev/null` and `/dev/stdout`.

| exit code | meaning |
|-|-|
| 0 | done |
| 1 | an error, a damaged shard, or a difference that `diff` found |
| 2 | wrong usage, such as an unknown column or a wrong filter |
| 129, 130, 143 | ended by SIGHUP, SIGINT (Ctrl-C) or SIGTERM |

## All commands

PAGE
help_of
for command in convert schema info count head tail sample cat stats diff inspect verify attach merge append upsert dedupe delete undelete \
    select set add compact pack vacuum ls sql completions man; do
    printf '\n## %s\n\n' "$command"
    help_of "$command"
done
