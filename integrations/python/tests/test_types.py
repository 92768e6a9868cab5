"""Every Arrow type is written to a shard and read back unchanged."""

from __future__ import annotations

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import arrow_shard as sh
import pyarrow as pa
import pytest

D = decimal.Decimal


def integers(low: int, high: int) -> list[int]:
    generator = random.Random(1)
    return [low, high, 0, *(generator.randint(low, high) for _ in range(200))]


def leaves() -> dict[str, pa.Array]:
    """Returns an array of every type without children."""
    generator = random.Random(2)
    texts = ["", "a", "äöü", "x" * 1_000, *(str(generator.random()) for _ in range(200))]
    floats = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), *(generator.gauss(0, 1e6) for _ in range(200))]
    arrays: dict[str, pa.Array] = {"null": pa.nulls(100), "bool": pa.array([i % 3 == 0 for i in range(100)])}
    for bits in (8, 16, 32, 64):
        arrays[f"int{bits}"] = pa.array(integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), f"int{bits}")
        arrays[f"uint{bits}"] = pa.array(integers(0, 2**bits - 1), f"uint{bits}")
    arrays["float16"] = pa.array([0.5, -0.0, 65504.0], pa.float16())
    arrays["float32"] = pa.array(floats, pa.float32())
    arrays["float64"] = pa.array(floats, pa.float64())
    for digits, data_type in ((9, pa.decimal32(9, 2)), (18, pa.decimal64(18, 2)), (38, pa.decimal128(38, 2)),
                              (76, pa.decimal256(76, 2))):
        numbers = integers(-(10**digits) + 1, 10**digits - 1)
        with decimal.localcontext(prec=80):
            arrays[str(data_type)] = pa.array([D(n).scaleb(-2) for n in numbers], data_type)
    for data_type in (pa.string(), pa.large_string(), pa.string_view()):
        arrays[str(data_type)] = pa.array(texts, data_type)
    for data_type in (pa.binary(), pa.large_binary(), pa.binary_view()):
        arrays[str(data_type)] = pa.array([text.encode() for text in texts], data_type)
    arrays["fixed binary"] = pa.array([generator.randbytes(5) for _ in range(100)], pa.binary(5))
    arrays["uuid"] = pa.array([generator.randbytes(16) for _ in range(100)], pa.uuid())
    arrays["date32"] = pa.array(integers(-700_000, 2_900_000), pa.date32())
    arrays["date64"] = pa.array([day * 86_400_000 for day in integers(-700_000, 2_900_000)], pa.date64())
    for unit, per_day in (("s", 86_400), ("ms", 86_400_000), ("us", 86_400_000_000), ("ns", 86_400_000_000_000)):
        data_type = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        arrays[str(data_type)] = pa.array(integers(0, per_day - 1), data_type)
        arrays[f"duration {unit}"] = pa.array(integers(-(2**62), 2**62), pa.duration(unit))
        for zone in (None, "UTC", "Europe/Oslo", "+02:00"):
            data_type = pa.timestamp(unit, zone)
            arrays[str(data_type)] = pa.array(integers(-(2**62), 2**62), data_type)
    months = [pa.MonthDayNano([generator.randint(-99, 99) for _ in range(3)]) for _ in range(100)]
    arrays["month_day_nano"] = pa.array(months)
    return arrays


def with_nulls(array: pa.Array) -> pa.Array:
    """Returns the values with every fifth one replaced by null."""
    if str(array.type) in ("string_view", "binary_view", "extension<arrow.uuid>"):
        values = array.storage if isinstance(array, pa.ExtensionArray) else array
        return pa.array([None if i % 5 == 4 else one for i, one in enumerate(values.to_pylist())], array.type)
    mask = pa.array([i % 5 != 4 for i in range(len(array))])
    return pa.compute.if_else(mask, array, pa.scalar(None, array.type))


def nested() -> dict[str, pa.Array]:
    """Returns arrays of types with children."""
    count = 100
    ints = [None if i % 7 == 0 else [j if j % 3 else None for j in range(i % 5)] for i in range(count)]
    texts = [None if i % 7 == 0 else [f"t{j}" for j in range(i % 4)] for i in range(count)]
    pairs = [None if i % 6 == 0 else {"x": i if i % 4 else None, "y": {"z": f"z{i}"}} for i in range(count)]
    struct = pa.struct({"x": pa.int32(), "y": pa.struct({"z": pa.string()})})
    codes = pa.array([None if i % 9 == 0 else i % 4 for i in range(count)], pa.int8())
    kinds = pa.array([i % 2 for i in range(count)], pa.int8())
    arrays = {
        "list": pa.array(ints, pa.list_(pa.int32())),
        "large list": pa.array(texts, pa.large_list(pa.string())),
        "list view": pa.array(ints, pa.list_view(pa.int64())),
        "large list view": pa.array(texts, pa.large_list_view(pa.string())),
        "fixed list": pa.array([None if i % 7 == 0 else [i, None, i] for i in range(count)], pa.list_(pa.int16(), 3)),
        "struct": pa.array(pairs, struct),
        "list of structs": pa.array([[pair] * (i % 3) for i, pair in enumerate(pairs)], pa.list_(struct)),
        "map": pa.array([None if i % 8 == 0 else [(f"k{j}", j) for j in range(i % 3)] for i in range(count)],
                        pa.map_(pa.string(), pa.int32())),
        "dictionary": pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "c", "d"])),
        "dictionary of numbers": pa.DictionaryArray.from_arrays(codes.cast(pa.uint16()), pa.array([1.5, 2.5, 3.5, 4.5])),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([10, 60, 100], pa.int32()), pa.array(["a", None, "b"])),
        "sparse union": pa.UnionArray.from_sparse(kinds, [pa.array(range(count)), pa.array(["x"] * count)]),
        "dense union": pa.UnionArray.from_dense(
            kinds, pa.array([i // 2 for i in range(count)], pa.int32()),
            [pa.array(range(count)), pa.array(["x"] * count)]),
    }
    return arrays


ARRAYS = {**leaves(), **nested()}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("profile", ["balanced", "plain"])
def test_values_come_back_equal(name: str, profile: str, tmp_path: Path) -> None:
    array = ARRAYS[name]
    columns = {"x": array, "empty": array.slice(0, 0), "sliced": array.slice(3, 50)}
    if name in leaves():
        columns["nulls"] = with_nulls(array) if not pa.types.is_null(array.type) else array
    for label, column in columns.items():
        table = pa.table({"x": column, "row": range(len(column))})
        path = tmp_path / f"{label}.amudai.shard"
        sh.write(table, path, profile=profile)
        read = pa.table(sh.open(path, views=True))
        assert read.schema == table.schema
        assert same(read, table), label
        rows = pa.Table.from_batches([pa.record_batch(sh.open(path, views=True).take(range(min(5, len(column)))))])
        assert same(rows, table.slice(0, 5)), label


def same(read: pa.Table, written: pa.Table) -> bool:
    """Compares tables, with floats compared by their bits: NaN equals itself, and zeros differ."""
    return read.column_names == written.column_names and all(map(same_column, read.columns, written.columns))


def same_column(read: pa.ChunkedArray, written: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(written.type) and read.type == written.type:
        bits = f"uint{written.type.bit_width}"
        read, written = (one.combine_chunks().view(bits) for one in (read, written))
    if pa.types.is_dictionary(written.type) and read.type == written.type:
        # The shard may change the order of the entries of an unordered dictionary.
        read, written = (one.cast(written.type.value_type) for one in (read, written))
    return bool(read.equals(written))


def test_a_table_of_all_types_goes_through_every_interface(tmp_path: Path) -> None:
    count = 50
    columns: dict[str, Any] = {name: array.slice(0, count) for name, array in ARRAYS.items() if len(array) >= count}
    assert len(columns) > 50
    table = pa.table(columns)
    path = tmp_path / "t.amudai.shard"
    sh.write(table, path)
    f = sh.open(path, views=True)
    streamed = pa.table(f)
    batches = pa.Table.from_batches([pa.record_batch(batch) for batch in f.scan()])
    again = tmp_path / "again.amudai.shard"
    sh.write(f.scan(), again)
    for read in (streamed, batches, pa.table(sh.open(again, views=True))):
        assert read.schema == table.schema and same(read, table)


def test_literals_of_python_mean_values(tmp_path: Path) -> None:
    utc = datetime.timezone.utc
    rows = {
        "date": pa.array([datetime.date(2024, 2, 29), None]),
        "time": pa.array([datetime.time(12, 30, 0, 5), None]),
        "naive": pa.array([datetime.datetime(2024, 2, 29, 12), None], pa.timestamp("ns")),
        "aware": pa.array([datetime.datetime(2024, 2, 29, 12, tzinfo=utc), None], pa.timestamp("ms", "Europe/Oslo")),
        "duration": pa.array([datetime.timedelta(days=1, microseconds=3), None]),
        "decimal": pa.array([D("1.50"), None], pa.decimal128(10, 2)),
        "integer": pa.array([2**64 - 1, None], pa.uint64()),
        "bytes": pa.array([b"\0\xff", None]),
        "text": pa.array(["it's", None]),
        "real": pa.array([0.1, None]),
        "yes": pa.array([True, None]),
    }
    path = tmp_path / "t.amudai.shard"
    sh.write(pa.table(rows), path)
    f = sh.open(path)
    for name, values in rows.items():
        value = values[0].as_py()
        for literal in (value, values[0], values.slice(0, 1)):
            found = pa.table(f.scan(filter=sh.col(name) == literal))
            assert found.num_rows == 1, (name, literal)
            assert pa.table(f.scan(filter=sh.col(name) != literal)).num_rows == 0, (name, literal)
    import numpy as np
    import pandas as pd

    same_time = [np.datetime64("2024-02-29T12:00"), np.datetime64("2024-02-29T12:00:00", "ns"),
                 pd.Timestamp("2024-02-29 12:00")]
    for literal in same_time:
        assert pa.table(f.scan(filter=sh.col("naive") == literal)).num_rows == 1, repr(literal)
    assert pa.table(f.scan(filter=sh.col("aware") == pd.Timestamp("2024-02-29 13:00", tz="Europe/Oslo"))).num_rows == 1
    assert pa.table(f.scan(filter=sh.col("duration") == pd.Timedelta(days=1, microseconds=3))).num_rows == 1
    assert pa.table(f.scan(filter=sh.col("integer").is_in([np.uint64(2**64 - 1)]))).num_rows == 1
    assert pa.table(f.scan(filter=sh.col("integer") < 2**70)).num_rows == 1
    assert pa.table(f.scan(filter=sh.col("real") == np.float64(0.1))).num_rows == 1
    assert pa.table(f.scan(filter=sh.col("naive") > pd.NaT)).num_rows == 0
    assert pa.table(f.scan(filter=sh.col("yes") == pa.scalar(None, pa.bool_()))).num_rows == 0
    with pytest.raises(ValueError, match="type object"):
        sh.col("text") == object()
    with pytest.raises(sh.SchemaMismatchError):
        f.scan(filter=sh.col("bytes") > 5)


def far_times() -> dict[str, pa.Array]:
    """Returns times and durations near the limits of each unit."""
    units = {}
    for unit in ("s", "ms", "us", "ns"):
        most = 2**63 - 1 if unit != "s" else 2**62
        values = [-most, -1, 0, 1, most]
        units[f"t_{unit}"] = pa.array(values, pa.timestamp(unit))
        units[f"z_{unit}"] = pa.array(values, pa.timestamp(unit, "UTC"))
        units[f"d_{unit}"] = pa.array(values, pa.duration(unit))
    return units


def test_times_of_numpy_do_not_wrap_around(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "t.amudai.shard"
    columns = far_times()
    sh.write(pa.table(columns), path)
    f = sh.open(path)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    def below(name: str, literal: object) -> int:
        return pa.table(f.scan(columns=[name], filter=sh.col(name) < literal)).num_rows

    day = 86_400
    # Unit, number of units, and the same time in seconds.
    times = [
        ("D", 109_207_000, 109_207_000 * day),
        ("D", -109_207_000, -109_207_000 * day),
        ("W", 20_000_000, 20_000_000 * 7 * day),
        ("h", 2**40, 2**40 * 3600),
        ("m", -(2**50), -(2**50) * 60),
        ("s", 2**60, 2**60),
        ("ms", 2**62, 2**62 / 1000),
        ("us", 2**62, 2**62 / 10**6),
        ("ns", -(2**62), -(2**62) / 10**9),
        ("ps", 5 * 10**12, 5),
        ("fs", -3 * 10**15, -3),
        ("as", 2 * 10**18, 2),
        ("Y", 300_000 - 1970, 9.4e12),
        ("Y", 2_000_000_000, 6.3e16),
        ("M", -12_000_000, -3.1e13),
        ("25s", 4, 100),
    ]
    for unit, number, seconds in times:
        kinds = {"t_": np.datetime64(number, unit)}
        if unit not in ("Y", "M"):
            kinds["d_"] = np.timedelta64(number, unit)
        for prefix, literal in kinds.items():
            for name, values in columns.items():
                if name.startswith(prefix):
                    scale = per_second[name[2:]]
                    expected = sum(value.value < seconds * scale for value in values)
                    assert below(name, literal) == expected, (name, literal)
    assert below("t_us", np.datetime64("300000-01-01", "D")) == 5
    assert pa.table(f.scan(filter=sh.col("t_us") == np.datetime64(2**63 - 1, "us"))).num_rows == 1
    for vague in (np.timedelta64(1, "Y"), np.timedelta64(1, "M"), np.timedelta64(1)):
        with pytest.raises(ValueError, match="no certain length"):
            sh.col("d_s") < vague
    for finer in (np.datetime64(1, "ps"), np.timedelta64(10**9 + 1, "as")):
        with pytest.raises(ValueError, match="fraction of a nanosecond"):
            sh.col("t_ns") < finer
    for farther in (np.datetime64(2**62, "D"), np.datetime64(2**60, "Y"), np.timedelta64(2**62, "W")):
        with pytest.raises(ValueError, match="64 bits cannot count"):
            sh.col("t_s") < farther
    with pytest.raises(ValueError, match="type longdouble"):
        sh.col("t_s") < np.longdouble(1)


def test_times_of_pandas_are_of_any_unit(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "t.amudai.shard"
    times = [datetime.datetime(1, 1, 1), datetime.datetime(1500, 1, 1), datetime.datetime(9999, 1, 1), None]
    spans = [datetime.timedelta(days=-999_999), datetime.timedelta(0), datetime.timedelta(days=200_000), None]
    rows = {
        "t": pa.array(times, pa.timestamp("us")),
        "z": pa.array(times, pa.timestamp("us", "UTC")),
        "d": pa.array(spans, pa.duration("us")),
        "ms": pa.array(times, pa.timestamp("ms")),
    }
    sh.write(pa.table(rows), path)
    f = sh.open(path)

    def count(condition: sh.Expression) -> int:
        return pa.table(f.scan(filter=condition)).num_rows

    for name, zone in (("t", None), ("z", "UTC"), ("ms", None)):
        for text, less in (("9999-01-01", 2), ("1500-01-01", 1), ("2024-02-29 12:00:00.000000001", 2)):
            literal = pd.Timestamp(text, tz=zone)
            assert count(sh.col(name) < literal) == less, (name, literal)
    assert count(sh.col("t") == pd.Timestamp("1500-01-01")) == 1
    assert count(sh.col("t").is_in([pd.Timestamp("9999-01-01"), pd.Timestamp("2024-01-01")])) == 1
    assert count(sh.col("d") == pd.Timedelta(days=200_000)) == 1
    assert count(sh.col("d") < pd.Timedelta(days=200_000)) == 2
    assert count(sh.col("d") < datetime.timedelta(days=999_999_999)) == 3
    with pytest.raises(ValueError, match="64 bits cannot count"):
        sh.col("d") < datetime.timedelta.max
    assert count(sh.col("d") > datetime.timedelta.min + datetime.timedelta(days=1)) == 3
    frame = pa.table(rows).to_pandas()
    assert count(sh.col("t") == frame.t.max()) == 1
    assert count(sh.col("d") == frame.d.min()) == 1
    assert count(sh.col("d") > pd.Timedelta("NaT")) == 0


def test_null_columns_of_polars_are_taken(tmp_path: Path) -> None:
    import polars as pl

    frames = [
        pl.DataFrame({"n": [None] * 3}),
        pl.DataFrame({"n": [[None], [], None]}),
        pl.DataFrame({"n": [{"a": None}, {"a": None}, None]}),
        pl.DataFrame({"n": [{"a": [None, None], "b": 1}, None, {"a": [], "b": 2}]}),
        pl.DataFrame({"n": [[[None]], [[], [None]], []], "m": [1, 2, 3]}),
        pl.DataFrame({"n": pl.Series([None] * 3, dtype=pl.Array(pl.Null, 2))}),
        pl.DataFrame({"n": []}),
        pl.concat([pl.DataFrame({"n": [None] * 2}), pl.DataFrame({"n": [None] * 3})], rechunk=False),
        pl.DataFrame({"n": [None] * 9}).slice(2, 5),
    ]
    for i, frame in enumerate(frames):
        path = tmp_path / f"{i}.amudai.shard"
        sh.write(frame, path)
        read = pl.DataFrame(sh.open(path).scan())
        assert read.equals(frame), (frame, read)
        assert pa.table(sh.open(path).scan()).equals(frame.to_arrow(compat_level=pl.CompatLevel.newest())), frame
