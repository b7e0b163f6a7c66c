"""Seeds of fuzz_rows and fuzz_reply: answers of vtctld, small, one matter each."""

import struct


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def time(field, seconds):
    return data(field, number(1, seconds))


def row(*fields):
    return data(1, b"".join(fields))


def running(uuid, shard, uid):
    return row(data(1, uuid), data(2, "commerce"), data(3, shard), data(5, "t"), data(6, "alter table t add c int"),
               data(8, "--postpone-completion"), time(10, 1750000000), time(12, 1750000040), number(16, 5),
               data(20, data(1, "zone1") + number(2, uid)), real(22, 62.5), data(23, "ddl-commerce-0123-g1"),
               data(24, "alter"), number(26, 2**64 - 1), number(27, 12000), number(28, 19200), number(33, 1),
               data(32, number(1, 86400)), data(49, "vreplication running"))


A, B = "9e2f0101_4c1d_8a3b_9d55_0242ac110003", "9e2f0202_4c1d_8a3b_9d55_0242ac110003"
TEXTS = [1, 2, 3, 4, 5, 6, 8, 17, 18, 23, 24, 25, 31, 34, 35, 36, 37, 39, 44, 46, 49, 54]
PARTS = [9, 10, 11, 12, 13, 14, 15, 20, 32, 45, 47, 52, 53]
NUMBERS = [7, 16, 19, 21, 26, 27, 28, 29, 30, 33, 38, 40, 41, 42, 48, 50, 51, 55]

ROWS = {
    "empty": b"",
    "empty_row": row(),
    "one": running(A, "-80", 100),
    "by_change": running(A, "-80", 100) + running(A, "80-", 200),
    "by_shard": running(A, "-80", 100) + running(B, "-80", 100) + running(A, "80-", 200) + running(B, "80-", 200),
    "every_text": row(*(data(field, "m\u00e9 \U0001f600 12345678") for field in TEXTS)),
    "every_number": row(*(number(field, 2**64 - 1) for field in NUMBERS), real(22, float("nan")), real(43, 1)),
    "every_part": row(*(data(field, b"" if field == 20 else number(1, 7) + number(2, 9)) for field in PARTS)),
    "twice": row(data(1, A), data(1, B), data(20, data(1, "zone1")), data(20, number(2, 5)),
                 time(12, 5), time(12, 0), number(33, 1), number(33, 0)),
    "unknown": row(number(99, 1), data(900, b"\0\xff"), varint(901 << 3 | 1) + b"12345678", real(902, 1)) + number(2, 3),
    "refused_nul": row(data(1, b"a\0b")),
    "refused_utf8": row(data(25, b"12345678\xed\xa0\x80")),
    "refused_group": row(b"\x0b\x0c"),
    "refused_varint": row(b"\x98\x01" + b"\xff" * 9 + b"\x02"),
    "refused_cut": running(A, "-80", 100)[:-5],
    "refused_wire_type": row(number(1, 5)),
    "refused_cell": row(data(20, data(1, "z" * 65))),
}

KEYSPACES, SHARDS, TABLETS, MIGRATIONS, FETCH, SCHEMA, THROTTLER, APPLY, COMPLETE, CANCEL = (bytes([i]) for i in range(10))


def entry(key, *value):
    return data(1, key) + b"".join(value)


def alias(cell, uid):
    return data(1, cell) + number(2, uid)


def shard(name, cell="zone1", uid=100, start=b"", end=b"", serving=1):
    record = data(1, alias(cell, uid)) + data(2, data(1, start) + data(2, end)) + number(7, serving) + data(8, number(1, 500))
    return data(1, entry(name, data(2, data(1, "commerce") + data(2, name) + data(3, record))))


def tablet(cell, uid, kind=1):
    return data(1, data(1, alias(cell, uid)) + data(2, "host") + data(5, "commerce") + data(6, "-80") + number(8, kind)
                + data(17, number(1, 400)))


def zigzag(value):
    return varint(value << 1 ^ value >> 63 if value >= 0 else (-value << 1) - 1)


def result(columns, *cells):
    fields = b"".join(data(1, data(1, name)) for name in columns)
    rows = b"".join(data(4, data(1, b"".join(zigzag(-1 if c is None else len(c)) for c in line))
                         + data(2, "".join(c or "" for c in line))) for line in cells)
    return data(1, fields + rows)


def affected(field, *shards):
    return b"".join(data(field, entry(name, number(2, rows))) for name, rows in shards)


# of migration_select(), in another order than it asks for them
COLUMNS = """tablet cutover_attempts table_rows rows_copied eta_seconds progress ready_to_complete_timestamp
reviewed_timestamp completed_timestamp liveness_timestamp started_timestamp requested_timestamp retries tablet_failure
is_view is_immediate_operation ready_to_complete postpone_launch postpone_completion migration_status strategy
special_plan artifacts stage message ddl_action migration_context options migration_statement mysql_table shard keyspace
migration_uuid""".split()
CELLS = ["zone1-0000000100", "0", "1000", "400", "-1", "40.5", None, "1750000000.5", None, "1", "2", "3", "0", "0", "0", "0",
         "1", "0", "1", "running", "vitess", "", "", "", "", "alter", "ddl-commerce-0123-g1", "", "alter table t", "t", "-80",
         "commerce", A]

REPLY = {
    "keyspaces": KEYSPACES + data(1, data(1, "commerce")) + data(1, data(1, "other")),
    "keyspaces_not_utf8": KEYSPACES + data(1, data(1, b"a\xff")) + data(1, data(1, b"12345678\xed\xa0\x80")),
    "shards": SHARDS + shard("80-", uid=200, start=b"\x80") + shard("-80", end=b"\x80"),
    "shards_twice": SHARDS + shard("-80") + shard("-80", uid=7),
    "shard_without_cell": SHARDS + shard("0", cell=""),
    "shard_without_record": SHARDS + data(1, entry("0")),
    "shard_nul": SHARDS + shard("a\0b"),
    "shard_cell_long": SHARDS + shard("0", cell="z" * 65),
    "tablets": TABLETS + tablet("zone1", 100) + tablet("zone1", 101, 2) + tablet("zone2", 2**32 - 1, 99),
    "tablets_empty": TABLETS + data(1, b"") * 20,
    "migrations": MIGRATIONS + running(A, "-80", 100) + running(B, "80-", 200),
    "fetch": FETCH + result(COLUMNS, CELLS),
    "fetch_nothing": FETCH + result(COLUMNS),
    "fetch_null": FETCH + result(COLUMNS, [None] * len(COLUMNS)),
    "fetch_no_result": FETCH,
    "fetch_lengths": FETCH + data(1, data(1, data(1, "a")) + data(4, data(1, zigzag(5)) + data(2, "abc"))),
    "fetch_negative": FETCH + data(1, data(1, data(1, "a")) + data(4, data(1, zigzag(-2)) + data(2, ""))),
    "fetch_columns": FETCH + data(1, data(4, data(1, zigzag(1) * 3) + data(2, "abc"))),
    "fetch_bad_number": FETCH + result(COLUMNS, ["x"] * len(COLUMNS)),
    "schema": SCHEMA + data(1, data(2, data(1, "t") + data(2, "CREATE TABLE `t` (`id` int)") + data(5, "BASE TABLE"))),
    "schema_nothing": SCHEMA + data(1, b""),
    "throttler": THROTTLER + data(2, b"\x11" + struct.pack("<d", 1.5) + data(5, "busy") + number(10, 2)),
    "apply": APPLY + data(1, A) + affected(2, ("80-", 1), ("-80", 0)),
    "complete": COMPLETE + affected(1, ("-80", 1), ("80-", 2**64 - 1)),
    "cancel_twice": CANCEL + affected(1, ("-80", 1), ("-80", 0)),
    "cut": TABLETS + tablet("zone1", 100)[:-3],
    "packed": FETCH + data(1, data(4, data(1, b"\x02" * 40))),
    "unknown": SHARDS + data(99, b"x" * 30) + number(98, 2**64 - 1),
}
