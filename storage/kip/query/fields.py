"""What an element consists of, field by field: the one place where documents meet tables.

A field is an SQL template over the rows of its element: `<e>` element, `<v>` element_ver, `<p>`
proposition, `<a>` assertion, `<n>` evidence, `<x>` activity, `<id>` the element's id. Reading
`?c.name` in a filter, matching `{name: …}` and projecting all of `?c` go by the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.kip.query import facets
from storage.kip.query.relation import ALL_KINDS, Binding, Build, Relation

_TABLES = {
    "e": "element",
    "v": "element_ver",
    "p": "proposition",
    "a": "assertion",
    "n": "evidence",
    "x": "activity",
}
_HOLE = re.compile(r"<(\w+)>")
_KIND_LETTERS = {
    "C": "concept",
    "P": "proposition",
    "A": "assertion",
    "E": "evidence",
    "X": "activity",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `sql` is jsonb, or text with `text`, or an element's id with `ref`.

    `within` is what a longer path reads from, where that differs from the whole value.
    """

    sql: str
    text: bool = False
    ref: bool = False
    within: str | None = None


def _text(sql: str) -> Field:
    return Field(sql, text=True)


def _ref(sql: str) -> Field:
    return Field(sql, ref=True)


def time_text(sql: str) -> str:
    """A timestamptz as the one spelling of time."""
    return f'to_char({sql}, \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')'


def _refs(lineage: str) -> Field:
    """The targets of a core field, in the order in which they were named."""
    return Field(
        "coalesce((select jsonb_agg(jsonb_build_object('id', d.target_id)"
        " order by d.position, length(d.target_id), d.target_id) from edge d"
        f" where d.space_id = %(space)s and d.source_id = <id> and d.field_lineage = '{lineage}'"
        " and <at:d>), '[]'::jsonb)"
    )


_STRUCTURAL = Field(
    "coalesce((select jsonb_object_agg(f.field_ref, f.targets) from (select d.field_ref,"
    " jsonb_agg(jsonb_strip_nulls(jsonb_build_object('id', d.target_id, 'index', d.position,"
    " 'role', d.role)) order by d.position, length(d.target_id), d.target_id) as targets"
    " from edge d where d.space_id = %(space)s and d.source_id = <id> and <at:d>"
    " and d.field_ref <> d.field_lineage group by d.field_ref) f), '{}'::jsonb)"
)
_EVIDENCE = Field(
    "coalesce((select jsonb_agg(jsonb_build_object('id', d.target_id, 'role', d.role)"
    " order by length(d.target_id), d.target_id) from edge d where d.space_id = %(space)s"
    " and d.source_id = <id> and d.field_lineage = 'evidence' and <at:d>), '[]'::jsonb)"
)
_LINEAGE = (
    "coalesce((select jsonb_agg(d.target_id order by length(d.target_id), d.target_id)"
    " from edge d where d.space_id = %(space)s and d.source_id = <id>"
    " and d.field_lineage = 'evidence' and <at:d>), '[]'::jsonb)"
)
_STATE = (
    "coalesce(<v>.state, case when <e>.purged_seq is not null and <since:purged> then 'purged' end)"
)
_GOVERNANCE = (
    "(jsonb_build_object('classification', null, 'policy_ref', null,"
    " 'authority_class', 'descriptive')"
    " || case when <e>.purged_seq is null then '{}'::jsonb else coalesce(<e>.stub, '{}'::jsonb)"
    " || '{\"purged\": true}'::jsonb end)"
)
_SYSTEM = Field(
    "(jsonb_build_object('version', <v>.version, 'plane_versions', <v>.planes,"
    f" 'created_at', {time_text('<e>.created_at')}, 'updated_at', {time_text('<v>.updated_at')},"
    " 'created_tx', (select r.tx_id from commit_record r where r.space_id = %(space)s"
    " and r.space_seq = <e>.created_seq), 'updated_tx', <v>.tx_id,"
    f" 'state', {_STATE}, 'origin', <e>.origin, 'recording_validity', <v>.recording)"
    " || coalesce(<v>.doc -> '_system', '{}'::jsonb))"
)
_RETENTION = Field(
    '(\'{"retention_class": null, "expires_at": null, "legal_hold": false}\'::jsonb'
    " || case when jsonb_typeof(<v>.doc -> 'retention') = 'object' then <v>.doc -> 'retention'"
    " else '{}'::jsonb end)"
)


def _doc(name: str, empty: str | None = None) -> Field:
    sql = f"<v>.doc -> '{name}'"
    if empty is None:
        return Field(sql)
    whole = f"coalesce({sql}, case when <v>.id is not null then '{empty}'::jsonb end)"
    return Field(whole, within=sql)


_COMMON: dict[str, Field] = {
    "id": _text("<id>"),
    "kind": _text(
        "case left(<id>, 1) when 'C' then 'concept' when 'P' then 'proposition'"
        " when 'A' then 'assertion' when 'E' then 'evidence' when 'X' then 'activity' end"
    ),
    "space_id": _text("%(space)s::text"),
    "governance": Field(_GOVERNANCE),
    "retention": _RETENTION,
    "facets": Field("<facets>"),
    "_system": _SYSTEM,
    "_system.state": _text(_STATE),
    "_system.version": Field("to_jsonb(<v>.version)"),
    "_system.created_at": _text(time_text("<e>.created_at")),
    "_system.updated_at": _text(time_text("<v>.updated_at")),
}


def _lifecycle(*members: str) -> dict[str, Field]:
    parts = "".join(f", {member}" for member in members)
    return {
        "lifecycle": Field(f"jsonb_build_object('status', <v>.status{parts})"),
        "lifecycle.status": _text("<v>.status"),
    }


def _successors(name: str) -> str:
    """A stored successor, or several, as references."""
    stored = f"<v>.doc -> '{name}'"
    return (
        f"'{name}', case jsonb_typeof({stored}) when 'string' then"
        f" jsonb_build_array(jsonb_build_object('id', {stored})) when 'array' then {stored}"
        " else '[]'::jsonb end"
    )


def _predecessors(name: str) -> str:
    return (
        f"'{name}', coalesce((select jsonb_agg(jsonb_build_object('id', s.id)"
        " order by length(s.id), s.id) from element_ver s where s.space_id = %(space)s"
        " and s.successor = <id> and <at:s>), '[]'::jsonb)"
    )


_OBJECT = (
    "case when <p>.object_id is null then <p>.object_lit"
    " else jsonb_build_object('id', <p>.object_id) end"
)
_CANONICAL_OBJECT = (
    "case when <p>.object_id is null then <p>.object_lit"
    " else jsonb_build_object('id', <canonical:<p>.object_id>) end"
)
_PAYLOAD = (
    'case when <n>.id is null then null when <n>.payload is null then \'{"mode": "purged"}\''
    "::jsonb when <n>.payload ? 'mode' then <n>.payload when <n>.payload ? 'inline'"
    ' then \'{"mode": "inline"}\'::jsonb || <n>.payload else \'{"mode": "external"}\'::jsonb'
    " || <n>.payload end"
)

#: Field by kind and dotted name; longer names are shortcuts into the shorter ones.
FIELDS: Mapping[str, Mapping[str, Field]] = {
    "C": {
        **_COMMON,
        "schema_ref": _text("<e>.schema_ref"),
        "key": _text("<e>.key"),
        "name": _text("<v>.name"),
        "canonical_id": Field("nullif(<v>.doc -> 'canonical_id', 'null'::jsonb)"),
        "aliases": _doc("aliases", "[]"),
        "attributes": _doc("attributes", "{}"),
        "structural": _STRUCTURAL,
        "merged_into": _text(
            "(select m.target_id from merge_link m where m.space_id = %(space)s"
            " and m.source_id = <id> and <since:merged>)"
        ),
    },
    "P": {
        **_COMMON,
        "schema_ref": _text("<p>.predicate_ref"),
        "subject": _ref("<p>.subject_id"),
        "predicate_ref": _text("<p>.predicate_ref"),
        "object": Field(_OBJECT),
        "canonical_subject": _ref("<canonical:<p>.subject_id>"),
        "canonical_object": Field(_CANONICAL_OBJECT),
    },
    "A": {
        **_COMMON,
        "governance": Field(
            f"{_GOVERNANCE} || jsonb_build_object('authority_lineage', {_LINEAGE})"
        ),
        "proposition": _ref("<a>.proposition_id"),
        "asserted_by": _ref("<a>.asserted_by"),
        "stance": _text("<a>.stance"),
        "mode": _text("<a>.mode"),
        "confidence": Field("to_jsonb(<a>.confidence)"),
        "asserted_at": _text(time_text("<a>.asserted_at")),
        "valid_time": Field("<a>.valid_time"),
        "evidence": _EVIDENCE,
        "context_refs": Field(
            "(select coalesce(jsonb_agg(jsonb_build_object('id', c.id)), '[]'::jsonb)"
            " from unnest(<a>.context_refs) c(id))"
        ),
        "structural": _STRUCTURAL,
        **_lifecycle(
            _successors("superseded_by"),
            _predecessors("supersedes"),
            "'retracted_at', <v>.doc -> 'retracted_at'",
        ),
    },
    "E": {
        **_COMMON,
        "evidence_class": _text("<n>.evidence_class"),
        "payload": Field(_PAYLOAD),
        "content_digest": _text("<n>.content_digest"),
        "media_type": _text("<n>.media_type"),
        "observed_at": _text(time_text("<n>.observed_at")),
        "source": _refs("source"),
        "generated_by": _ref(
            "(select d.target_id from edge d where d.space_id = %(space)s and d.source_id = <id>"
            " and d.field_lineage = 'generated_by' and <at:d> limit 1)"
        ),
        "structural": _STRUCTURAL,
        **_lifecycle(_successors("corrected_by"), _predecessors("corrects")),
    },
    "X": {
        **_COMMON,
        "activity_class": _text("<x>.activity_class"),
        "status": _text("<v>.status"),
        "started_at": _doc("started_at"),
        "ended_at": _doc("ended_at"),
        "inputs": _refs("inputs"),
        "outputs": _refs("outputs"),
        "associated_actors": _refs("associated_actors"),
        "parameters_digest": _text("<x>.parameters_digest"),
        "structural": _STRUCTURAL,
        **_lifecycle(),
    },
}


@dataclass(frozen=True, slots=True)
class Read:
    """A value read from an element: jsonb, also as text where it is a string for certain.

    `ref` is the id of the element that it refers to, where it is a reference.
    """

    json: str
    text: str | None = None
    ref: str | None = None


def read(relation: Relation, binding: Binding, steps: Sequence[str]) -> Read:
    """What a path reads from a variable; nothing reads as null."""
    if binding.score is not None and steps[0] == "retrieval":
        return _retrieval(relation.build, binding, steps[1:])
    found: list[Read] = []
    if binding.id is not None:
        found.append(of_element(relation, binding.id, binding.kinds, steps))
    if binding.value is not None:
        found.append(Read(relation.build.deeper(binding.value, steps)))
    if len(found) == 1:
        return found[0]
    return Read(f"coalesce({', '.join(one.json for one in found)})" if found else "null::jsonb")


def of_element(relation: Relation, element: str, kinds: str, steps: Sequence[str]) -> Read:
    """What a path reads from an element of one of these kinds."""
    by_sql: dict[str, tuple[list[str], Read]] = {}
    for kind in kinds:
        one = _of_kind(relation, element, kind, steps)
        if one is not None:
            by_sql.setdefault(one.json, ([], one))[0].append(kind)
    if not by_sql:
        return Read("null::jsonb")
    if len(by_sql) == 1:
        letters, one = next(iter(by_sql.values()))
        if len(letters) == len(kinds):
            return one
    parts = list(by_sql.values())

    def choose(pick: str) -> str:
        branches = " ".join(
            f"when left({element}, 1) in ({', '.join(repr(k) for k in letters)})"
            f" then {getattr(one, pick)}"
            for letters, one in parts
        )
        return f"case {branches} end"

    text = choose("text") if all(one.text is not None for _, one in parts) else None
    ref = choose("ref") if all(one.ref is not None for _, one in parts) else None
    return Read(choose("json") if text is None else f"to_jsonb({text})", text, ref)


def _of_kind(relation: Relation, element: str, kind: str, steps: Sequence[str]) -> Read | None:
    fields = FIELDS[kind]
    if steps[0] == "facets" and len(steps) > 1:
        return Read(facets.one(relation, element, steps[1], steps[2:]))
    shortcut = ".".join(steps[:2])
    if len(steps) > 1 and shortcut in fields:
        field, rest = fields[shortcut], steps[2:]
    elif steps[0] in fields:
        field, rest = fields[steps[0]], steps[1:]
    else:
        return None
    build = relation.build
    if field.ref:
        ref = _filled(relation, element, field.sql)
        if not rest:
            return Read(_reference(ref), ref=ref)
        if list(rest) == ["id"]:
            return Read(f"to_jsonb({ref})", text=ref)
        return None
    if field.text:
        text = _filled(relation, element, field.sql)
        return None if rest else Read(f"to_jsonb({text})", text=text)
    sql = _filled(relation, element, (field.within or field.sql) if rest else field.sql)
    return Read(build.deeper(f"({sql})", rest))


def _reference(ref: str) -> str:
    return f"case when {ref} is not null then jsonb_build_object('id', {ref}) end"


def _retrieval(build: Build, binding: Binding, steps: Sequence[str]) -> Read:
    whole = f"jsonb_build_object('score', {binding.score}, 'mode', {binding.mode})"
    if list(steps) == ["score"]:
        return Read(f"to_jsonb({binding.score})")
    if list(steps) == ["mode"]:
        return Read(f"to_jsonb({binding.mode})", text=binding.mode)
    return Read(build.deeper(whole, steps))


def _filled(relation: Relation, element: str, template: str) -> str:
    """A template with the aliases of its element's rows."""
    build = relation.build

    def canonical(match: re.Match[str]) -> str:
        return build.canonical_of(fill(match[1]))

    def hole(match: re.Match[str]) -> str:
        name = match[1]
        if name == "id":
            return element
        if name == "facets":
            return facets.every(relation, element)
        return relation.fact(_TABLES[name], element)

    def fill(text: str) -> str:
        return _HOLE.sub(hole, text)

    text = re.sub(r"<canonical:(<\w>\.\w+)>", canonical, template)
    text = re.sub(r"<at:(\w)>", lambda match: build.at(match[1]), text)
    text = text.replace("<since:merged>", build.since("m.seq_from"))
    text = text.replace("<since:purged>", build.since("<e>.purged_seq"))
    return fill(text)


def document(relation: Relation, element: str, kind: str) -> str:
    """A whole element of that kind, as one jsonb expression."""
    names = [name for name in FIELDS[kind] if "." not in name]
    parts = ", ".join(
        f"'{name}', {of_element(relation, element, kind, (name,)).json}" for name in names
    )
    return f"jsonb_build_object({parts})"


def kind_of(element_id: str) -> str:
    """The letter of an element's kind, from its id; empty for what is no id of ours."""
    letter = element_id[:1]
    return letter if letter in ALL_KINDS and element_id[1:2] == "-" else ""


def kind_name(element_id: str) -> str | None:
    """The kind of an element as documents name it."""
    return _KIND_LETTERS.get(kind_of(element_id))


def dig(value: Any, steps: Sequence[str]) -> Any:
    """The same in Python, on a document: what is not there is None."""
    for step in steps:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value
