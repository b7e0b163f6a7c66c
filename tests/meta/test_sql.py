"""No statement is put together by printf: every value is bound, every text of SQL is a constant."""

import re

from tree import files, name_of

# a call of the printf family, up to its semicolon; the format is the first literal that has a verb of SQL in it
CALL = re.compile(r"\b(?:v?as?n?printf|v?snprintf|strbuf_addf|arena_printf)\s*\(([^;]*);")
STATEMENT = re.compile(r'"\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA|SET|CALL|SHOW)\s[^"]*"', re.I)
# where a person is told what to type, and what is sent to vtctld: a name there was checked against its grammar
NOT_SENT_TO_A_DATABASE = {"src/cli", "src/engine", "src/core", "src/wire", "src/http", "src/base"}


def printed_statements(text):
    return [found[0] for call in CALL.finditer(text) if "%" in call[1] and (found := STATEMENT.search(call[1]))]


def test_no_statement_is_printed():
    wrong = [f"{name_of(path)}: {statement}" for path in files("src", suffixes=(".c", ".h"))
             if not any(name_of(path).startswith(folder) for folder in NOT_SENT_TO_A_DATABASE)
             for statement in printed_statements(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_a_statement_of_the_store_has_no_format_in_it():
    wrong = [name_of(path) for path in files("src/store/sql", suffixes=(".sql",))
             if re.search(r"%[sdulz]|\?", re.sub(r"--.*", "", path.read_text(encoding="utf-8")))]
    assert wrong == []


def test_the_check_itself_can_fail():
    assert printed_statements('snprintf(sql, 9, "SELECT a FROM t WHERE b = \'%s\'", name);') != []
    assert printed_statements('strbuf_addf(&sql,\n\t"delete from %s", table);') != []
    assert printed_statements('strbuf_addf(&text, "cannot select %s", table);') == []
