//! The integration tests of the Arrow project, with a conversion to a shard and back: schema, metadata and values stay
//! the same.

mod cases;
mod values;

use super::Folder;
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{Field, SchemaRef};
use arrow_select::concat::concat_batches;
use cases::Case;
use std::fs::File;
use std::path::Path;

fn write(path: &Path, case: &Case, batches: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    if path.extension().unwrap() == "arrow" {
        let mut writer = FileWriter::try_new(file, &case.schema).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = StreamWriter::try_new(file, &case.schema).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}

fn read(path: &Path) -> (SchemaRef, RecordBatch) {
    let file = File::open(path).unwrap();
    let (schema, batches) = if path.extension().unwrap() == "arrow" {
        let reader = FileReader::try_new(file, None).unwrap();
        (reader.schema(), reader.collect::<Result<Vec<_>, _>>())
    } else {
        let reader = StreamReader::try_new(file, None).unwrap();
        (reader.schema(), reader.collect::<Result<Vec<_>, _>>())
    };
    let all = concat_batches(&schema, &batches.unwrap()).unwrap();
    (schema, all)
}

/// Returns for each dictionary whether the order of its entries has a meaning, which `==` of fields does not compare.
fn ordered(schema: &SchemaRef) -> Vec<Option<bool>> {
    let fields = schema.flattened_fields();
    fields.into_iter().map(Field::dict_is_ordered).collect()
}

#[test]
fn every_case_of_the_integration_tests_survives_a_shard() {
    let folder = Folder::new();
    let convert = |from: &str, to: &str, options: &[&str]| {
        let arguments = [&["convert", "--quiet", "--force", from, to], options].concat();
        folder.run(&arguments).ok();
    };
    for case in cases::all() {
        for (input, replaced) in [("t.arrow", false), ("t.arrows", false), ("t.arrows", true)] {
            let batches = case.batches(replaced);
            write(&folder.path(input), &case, &batches);
            let all = concat_batches(&case.schema, &batches).unwrap();
            // Every stripe has its own dictionaries.
            convert(input, "t.shard", &["--stripe-rows", "5"]);
            for output in ["back.arrow", "back.arrows"] {
                convert("t.shard", output, &[]);
                let (schema, found) = read(&folder.path(output));
                let place = format!("{}, {input} to {output}, {replaced}", case.name);
                assert_eq!(schema, case.schema, "{place}");
                assert_eq!(ordered(&schema), ordered(&case.schema), "{place}");
                assert_eq!(found.num_rows(), all.num_rows(), "{place}");
                for (i, field) in schema.fields().iter().enumerate() {
                    assert_eq!(found.column(i), all.column(i), "{place}, {}", field.name());
                }
            }
        }
    }
}
