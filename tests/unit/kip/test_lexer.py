from __future__ import annotations

import pytest

from storage.kip.errors import KipError
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import ConceptPattern
from storage.kip.language.ast_terms import Literal
from storage.kip.language.command import parse, read
from storage.kip.language.source import MAX_BYTES, MAX_DEPTH


def matched(spelling: str) -> object:
    """The value that a literal stands for."""
    statement = parse(f"FIND(?x) WHERE {{ ?x {{a: {spelling}}} }}")
    assert isinstance(statement, Find)
    clause = statement.where.clauses[0]
    assert isinstance(clause, ConceptPattern)
    value = clause.match.members[0].value
    assert isinstance(value, Literal)
    return value.value


def code_of(text: str) -> str:
    with pytest.raises(KipError) as caught:
        read(text)
    assert caught.value.data["line"] >= 1
    assert caught.value.data["column"] >= 1
    return caught.value.code


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("1", 1),
        ("1.0", 1),
        ("1e0", 1),
        ("-0", 0),
        ("-0.0", 0),
        ("2.5e-1", 0.25),
        ("9007199254740991", 9007199254740991),
        ("-9007199254740991.0", -9007199254740991),
        ("0e999999", 0),
        ("5e-324", 5e-324),
    ],
)
def test_numbers_that_are_equal_have_one_value(spelling: str, value: float) -> None:
    assert matched(spelling) == value
    assert type(matched(spelling)) is type(value)


@pytest.mark.parametrize(
    "spelling",
    [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993.0",
        "1e16",
        "1e400",
        "1e-400",
        "01",
        "1.",
        ".5",
        "+1",
        "0x10",
        "1e",
        "NaN",
        "Infinity",
        "True",
        "NULL",
    ],
)
def test_numbers_and_constants_that_json_does_not_share_are_refused(spelling: str) -> None:
    assert code_of(f"FIND(?x) WHERE {{ ?x {{a: {spelling}}} }}") == "InvalidSyntax"


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        (r'"\u00e9\ud83d\ude00\/"', "é😀/"),
        ('"日本 // no comment"', "日本 // no comment"),
        ('"?x :p \'"', "?x :p '"),
        ('"\x7f\u2028"', "\x7f\u2028"),
    ],
)
def test_strings_are_those_of_json(spelling: str, value: str) -> None:
    assert matched(spelling) == value


@pytest.mark.parametrize(
    "spelling",
    [
        r'"\ud800"',
        r'"\ude00\ud83d"',
        '"\ud800"',
        r'"\x41"',
        r'"\u12"',
        '"a\nb"',
        '"a\x00b"',
        r'"\u0000"',
        '"open',
    ],
)
def test_strings_that_json_or_the_store_cannot_hold_are_refused(spelling: str) -> None:
    assert code_of(f"FIND(?x) WHERE {{ ?x {{a: {spelling}}} }}") == "InvalidSyntax"


@pytest.mark.parametrize("text", ["FIND(?) WHERE {}", "FIND(?1) WHERE {}", "FIND(?é) WHERE {}"])
def test_a_variable_without_a_name_is_no_identifier(text: str) -> None:
    assert code_of(text) == "InvalidIdentifier"


def test_keywords_have_no_case_and_may_name_anything() -> None:
    assert parse("find(?find) Where { ?find {where: 1, limit: 2, true: true} } LiMiT 1") == parse(
        'FIND(?find) WHERE { ?find {"where": 1, "limit": 2, "true": true} } LIMIT 1'
    )


def test_a_colon_may_touch_what_follows() -> None:
    assert parse('FIND(?x) WHERE{?x{a:true,b:"c",d::e,f:null}}') == parse(
        'FIND(?x) WHERE { ?x { a : true , b : "c" , d : :e , f : null } }'
    )


def test_the_budget_of_bytes_counts_utf8() -> None:
    padding = MAX_BYTES - len("FIND(?x) WHERE { ?x {} }//")
    assert read("FIND(?x) WHERE { ?x {} }//" + "a" * padding)
    assert code_of("FIND(?x) WHERE { ?x {} }//" + "a" * (padding + 1)) == "ResourceExhausted"
    assert code_of("FIND(?x) WHERE { ?x {} }//" + "é" * (padding // 2 + 1)) == "ResourceExhausted"


def test_the_budget_of_depth_counts_brackets_outside_strings_and_comments() -> None:
    def nested(depth: int) -> str:
        return f"FIND(?x) WHERE {{ ?x {{a: {'[' * (depth - 2)}{']' * (depth - 2)}}} }}"

    assert read(nested(MAX_DEPTH) + " // ((((")
    assert code_of(nested(MAX_DEPTH + 1)) == "ResourceExhausted"
    assert read('FIND(?x) WHERE { ?x {a: "' + "(" * 100 + '"} }')


@pytest.mark.parametrize("bracket", ["(", "[", "{", "NOT {", "(?x, ", "FILTER(", "!(", "IN(", "[{"])
def test_no_depth_breaks_the_parser(bracket: str) -> None:
    for count in (31, 63, 64, 65, 1000, 20_000):
        with pytest.raises(KipError):
            read("FIND(?x) WHERE { ?x {} " + bracket * count)


@pytest.mark.parametrize("odd", ["/", "/ x", "?x {} / ", '"\\', '"a\\u00', '"a\\u00"'])
def test_what_begins_like_a_comment_an_escape_or_a_number_and_is_none_is_refused(odd: str) -> None:
    assert code_of(f"FIND(?x) WHERE {{ ?x {{}} {odd} }}") == "InvalidSyntax"
