//! Invalid schemas, and numbers in the other byte order.

use super::super::Folder;
use super::made::with_footer;
use arrow_ipc::{
    BoolArgs, DictionaryEncodingBuilder, Endianness, Field, FieldBuilder, FixedSizeBinaryBuilder,
    FixedSizeListBuilder, FloatingPointBuilder, FooterBuilder, IntBuilder, ListArgs, MapBuilder,
    MessageBuilder, MessageHeader, MetadataVersion, Precision, RunEndEncoded, RunEndEncodedArgs,
    Schema, SchemaBuilder, Type, UnionBuilder, Utf8Args,
};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};
use std::fs;

type Builder = FlatBufferBuilder<'static>;
type Ty = WIPOffset<UnionWIPOffset>;
type Column = WIPOffset<Field<'static>>;

/// Creates a stream and a file of one column, without batches.
fn files(order: Endianness, column: &dyn Fn(&mut Builder) -> Option<Column>) -> [Vec<u8>; 2] {
    let schema = |builder: &mut Builder| -> WIPOffset<Schema<'static>> {
        let fields: Vec<_> = column(builder).into_iter().collect();
        let fields = builder.create_vector(&fields);
        let mut schema = SchemaBuilder::new(builder);
        schema.add_endianness(order);
        schema.add_fields(fields);
        schema.finish()
    };
    let mut builder = Builder::new();
    let header = schema(&mut builder).as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::Schema);
    message.add_header(header);
    let message = message.finish();
    builder.finish(message, None);
    let mut message = builder.finished_data().to_vec();
    message.resize(message.len().next_multiple_of(8), 0);
    let length = u32::try_from(message.len()).unwrap();
    let stream = [&[0xFF; 4], &length.to_le_bytes(), message.as_slice()].concat();

    let mut builder = Builder::new();
    let schema = schema(&mut builder);
    let batches = builder.create_vector::<arrow_ipc::Block>(&[]);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_recordBatches(batches);
    let footer = footer.finish();
    builder.finish(footer, None);
    let file = with_footer(b"ARROW1\0\0".to_vec(), builder.finished_data());
    [stream, file]
}

/// Returns a column `c` of a type.
fn field(builder: &mut Builder, (kind, ty): (Type, Ty), children: Option<&[Column]>) -> Column {
    let name = builder.create_string("c");
    let children = children.map(|children| builder.create_vector(children));
    let mut field = FieldBuilder::new(builder);
    field.add_name(name);
    field.add_nullable(true);
    field.add_type_type(kind);
    field.add_type_(ty);
    if let Some(children) = children {
        field.add_children(children);
    }
    field.finish()
}

fn int(builder: &mut Builder, bits: i32) -> (Type, Ty) {
    let mut int = IntBuilder::new(builder);
    int.add_bitWidth(bits);
    int.add_is_signed(true);
    (Type::Int, int.finish().as_union_value())
}

/// Returns the errors of converting a stream and a file. Each error is one line that names the file.
#[track_caller]
fn errors([stream, file]: [Vec<u8>; 2]) -> [String; 2] {
    let folder = Folder::new();
    fs::write(folder.path("t.arrows"), stream).unwrap();
    fs::write(folder.path("t.arrow"), file).unwrap();
    ["t.arrows", "t.arrow"].map(|name| {
        let error = folder.run(&["convert", name, "x.shard"]).error(1);
        assert!(error.starts_with(&format!("{name}: ")), "{error}");
        assert_eq!(folder.names(), ["t.arrow", "t.arrows"]);
        error
    })
}

#[test]
fn numbers_of_the_other_byte_order_are_refused() {
    let column = |builder: &mut Builder| {
        let ty = int(builder, 32);
        Some(field(builder, ty, None))
    };
    for column in [&column as &dyn Fn(&mut Builder) -> _, &|_| None] {
        for error in errors(files(Endianness::Big, column)) {
            assert!(
                error.contains("byte order of other computers (big-endian)"),
                "{error}"
            );
        }
    }
    // The same data in this computer's byte order.
    let folder = Folder::new();
    let [stream, file] = files(Endianness::Little, &column);
    fs::write(folder.path("t.arrows"), stream).unwrap();
    fs::write(folder.path("t.arrow"), file).unwrap();
    for name in ["t.arrows", "t.arrow"] {
        folder.run(&["convert", "--force", name, "x.shard"]).ok();
    }
}

#[test]
fn schemas_that_say_nothing_sensible_are_an_error_and_no_panic() {
    let malformed: [&dyn Fn(&mut Builder) -> Column; 14] = [
        &|b| {
            let ty = int(b, 17);
            field(b, ty, None)
        },
        &|b| {
            let ty = int(b, -1);
            field(b, ty, None)
        },
        &|b| {
            let list = arrow_ipc::List::create(b, &ListArgs {}).as_union_value();
            field(b, (Type::List, list), None)
        },
        &|b| {
            let list = arrow_ipc::List::create(b, &ListArgs {}).as_union_value();
            field(b, (Type::List, list), Some(&[]))
        },
        &|b| {
            let bytes = FixedSizeBinaryBuilder::new(b).finish().as_union_value();
            let item = field(b, (Type::FixedSizeBinary, bytes), None);
            let mut list = FixedSizeListBuilder::new(b);
            list.add_listSize(-3);
            let list = list.finish().as_union_value();
            field(b, (Type::FixedSizeList, list), Some(&[item]))
        },
        &|b| {
            let mut bytes = FixedSizeBinaryBuilder::new(b);
            bytes.add_byteWidth(-1);
            let bytes = bytes.finish().as_union_value();
            field(b, (Type::FixedSizeBinary, bytes), None)
        },
        &|b| {
            let mut float = FloatingPointBuilder::new(b);
            float.add_precision(Precision(9));
            let float = float.finish().as_union_value();
            field(b, (Type::FloatingPoint, float), None)
        },
        // A map with entries of a number type.
        &|b| {
            let ty = int(b, 8);
            let item = field(b, ty, None);
            let map = MapBuilder::new(b).finish().as_union_value();
            field(b, (Type::Map, map), Some(&[item]))
        },
        // Run ends of type text.
        &|b| {
            let text = arrow_ipc::Utf8::create(b, &Utf8Args {}).as_union_value();
            let ends = field(b, (Type::Utf8, text), None);
            let ty = int(b, 8);
            let values = field(b, ty, None);
            let runs = RunEndEncoded::create(b, &RunEndEncodedArgs {}).as_union_value();
            field(b, (Type::RunEndEncoded, runs), Some(&[ends, values]))
        },
        // A union with two children of the same number, one with a number of 9 bits, and one with too few numbers.
        &|b| union(b, &[3, 3]),
        &|b| union(b, &[3, 259]),
        &|b| union(b, &[3]),
        // A dictionary with keys of width 0.
        &|b| {
            let mut keys = IntBuilder::new(b);
            keys.add_bitWidth(0);
            let keys = keys.finish();
            let mut dictionary = DictionaryEncodingBuilder::new(b);
            dictionary.add_indexType(keys);
            let dictionary = dictionary.finish();
            let ty = arrow_ipc::Bool::create(b, &BoolArgs {}).as_union_value();
            let mut field = FieldBuilder::new(b);
            field.add_type_type(Type::Bool);
            field.add_type_(ty);
            field.add_dictionary(dictionary);
            field.finish()
        },
        // A type that does not exist in the format.
        &|b| {
            let (_, ty) = int(b, 8);
            field(b, (Type(99), ty), None)
        },
    ];
    for (i, column) in malformed.into_iter().enumerate() {
        let stream_and_file = files(Endianness::Little, &|builder| Some(column(builder)));
        let found = errors(stream_and_file);
        for error in &found {
            let says_why = error.contains("damaged") || error.contains("column `c`");
            assert!(says_why, "{i}: {error}");
        }
    }
}

/// Returns a union of two columns with these type ids.
fn union(builder: &mut Builder, ids: &[i32]) -> Column {
    let ty = int(builder, 8);
    let first = field(builder, ty, None);
    let ty = int(builder, 16);
    let second = field(builder, ty, None);
    let ids = builder.create_vector(ids);
    let mut union = UnionBuilder::new(builder);
    union.add_typeIds(ids);
    let union = union.finish().as_union_value();
    field(builder, (Type::Union, union), Some(&[first, second]))
}
