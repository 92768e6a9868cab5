"""Writes the COLE files in golden/ by the specification, without sharing code with the library.

Run it again only to add a case; existing files do not change.
"""

import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "golden"
INT32, INT64, STRING = range(3)
PLAIN, RLE, DELTA, DICTIONARY = range(4)
BITS = {INT32: 32, INT64: 64}


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n, bits):
    return (n << 1 ^ n >> bits - 1) & (1 << bits) - 1


def raw(kind, value):
    if kind == STRING:
        data = value.encode()
        return struct.pack("<I", len(data)) + data
    return struct.pack("<i" if kind == INT32 else "<q", value)


def runs(values):
    found = []
    for value in values:
        if found and found[-1][1] == value:
            found[-1][0] += 1
        else:
            found.append([1, value])
    return found


def rle(values, write):
    found = runs(values)
    return varint(len(found)) + b"".join(varint(n) + write(value) for n, value in found)


def plain(kind, values):
    if kind != STRING:
        return b"".join(raw(kind, value) for value in values)
    data = [value.encode() for value in values]
    offsets = [sum(map(len, data[:i])) for i in range(len(data) + 1)]
    return struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(data)


def delta(kind, values, mode):
    bits = BITS[kind]
    out = raw(kind, values[0]) + varint(len(values) - 1)
    for before, after in zip(values, values[1:]):
        n = after - before
        if mode == "unsigned":
            out += varint(n & (1 << 64) - 1)
            continue
        n = (n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        out += varint(zigzag(n, bits))
    return out


def dictionary(values, mode):
    entries = list(dict.fromkeys(values))
    codes = [entries.index(value) for value in values]
    write = varint if mode == "varint" else lambda code: struct.pack("<I", code)
    out = struct.pack("<I", len(entries)) + b"".join(raw(STRING, entry) for entry in entries)
    return out + rle(codes, write)


def encode(kind, encoding, values, mode):
    if encoding == PLAIN:
        return plain(kind, values)
    if encoding == DELTA:
        return delta(kind, values, mode)
    if encoding == DICTIONARY:
        return dictionary(values, mode)
    if mode == "varint":
        return rle(values, lambda value: varint(zigzag(value, BITS[kind])))
    return rle(values, lambda value: raw(kind, value))


def header(kind, encoding, values, data, stats):
    out = struct.pack("<IIIBB", len(plain(kind, values)), len(data), len(values), encoding, stats is not None)
    if stats is None:
        return out
    for bound, function in (("min", min), ("max", max)):
        is_there = bound in stats
        value = function(values) if is_there and kind != STRING else 0
        out += bytes([is_there])
        if is_there or "full" in stats:
            out += struct.pack("<q", value)
    return out + struct.pack("<I", 0)


def write(name, columns, groups, magic=b"TOOF", minor=0):
    """Writes a file. `groups` has, by row group and column, a list of pages: encoding, values, statistics, mode."""
    path = FOLDER / f"{name}.cole"
    out = b"COLE" + struct.pack("<HH", 1, minor)
    metas, expected = b"", {column: [] for column, _, _ in columns}
    for group in groups:
        num_rows = sum(len(page[1]) for page in group[0]) if group else 0
        metas += struct.pack("<II", num_rows, len(columns))
        for (column, kind, _), pages in zip(columns, group):
            start, headers = len(out), b""
            for encoding, values, stats, mode in pages:
                data = encode(kind, encoding, values, mode)
                head = header(kind, encoding, values, data, stats)
                out += head + data
                headers += head
                expected[column] += values
            metas += struct.pack("<QQI", start, len(out) - start, len(pages)) + headers
    offset = len(out)
    out += struct.pack("<I", len(columns))
    for column, kind, encoding in columns:
        data = column.encode()
        out += struct.pack("<I", len(data)) + data + bytes([kind, encoding])
    total = len(next(iter(expected.values()))) if expected else 0
    out += struct.pack("<I", len(groups)) + metas + struct.pack("<I", total)
    out += magic + struct.pack("<Q", offset)
    if not path.exists():
        path.write_bytes(out)
        path.with_suffix(".json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


BOTH = ("min", "max")
NUMBERS = [5, 5, 5, -7, 2**31 - 1, -(2**31), 0, 0]
LONGS = [5, 2**63 - 1, -(2**63), 0, 0, 0, -1, 2**40]
TEXTS = ["", "a", "a", "ä€😀", "", "a", "long " * 30, "z"]
COLUMNS = [("i", INT32, PLAIN), ("l", INT64, DELTA), ("s", STRING, DICTIONARY)]

for encoding, name in ((PLAIN, "plain"), (RLE, "rle"), (DELTA, "delta"), (DICTIONARY, "dictionary")):
    of_numbers = encoding if encoding != DICTIONARY else RLE
    of_strings = encoding if encoding != DELTA else PLAIN
    write(name, COLUMNS, [[
        [(of_numbers, NUMBERS[:3], BOTH, ""), (of_numbers, NUMBERS[3:], BOTH, "")],
        [(of_numbers, LONGS, BOTH, "")],
        [(of_strings, TEXTS[:1], None, ""), (of_strings, TEXTS[1:7], None, ""), (of_strings, TEXTS[7:], None, "")],
    ], [
        [(of_numbers, NUMBERS[::-1], None, "")],
        [(of_numbers, LONGS[::-1], None, "")],
        [(of_strings, TEXTS[::-1], None, "")],
    ]])

# Other interpretations where the specification is ambiguous.
write("footer_as_word", COLUMNS[:1], [[[(PLAIN, NUMBERS, BOTH, "")]]], magic=b"FOOT", minor=3)
write("bounds_left_out", COLUMNS[:2], [[
    [(PLAIN, NUMBERS, ("min",), "")],
    [(PLAIN, LONGS[:4], ("max",), ""), (PLAIN, LONGS[4:], (), "")],
]])
write("bounds_of_eight_bytes", COLUMNS[:2], [[
    [(PLAIN, NUMBERS, ("min", "full"), "")],
    [(PLAIN, LONGS[:4], ("max", "full"), ""), (PLAIN, LONGS[4:], ("full",), "")],
]])
write("statistics_of_strings", COLUMNS[2:], [[[(PLAIN, TEXTS, BOTH, "")]]])
write("differences_without_zigzag", COLUMNS[:2], [[
    [(DELTA, NUMBERS, BOTH, "unsigned")],
    [(DELTA, LONGS, BOTH, "unsigned")],
]])
write("runs_of_varints", COLUMNS, [[
    [(RLE, NUMBERS, BOTH, "varint")],
    [(RLE, LONGS, BOTH, "varint")],
    [(DICTIONARY, TEXTS, None, "varint")],
]])
write("no_rows", COLUMNS, [])
write("no_rows_in_a_row_group", COLUMNS, [[[], [], []], [[(PLAIN, [], None, "")], [(PLAIN, [], None, "")], [(PLAIN, [], None, "")]]])
