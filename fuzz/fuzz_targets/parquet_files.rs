#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arrow_shard_fuzz::parquet_files::run(data));
