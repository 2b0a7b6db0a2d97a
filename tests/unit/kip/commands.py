"""Commands that are right: at least one of every statement and of every clause."""

from __future__ import annotations

VALID = (
    "FIND(?x) WHERE { ?x {} }",
    'FIND(?c.name, COUNT(DISTINCT ?p)) WHERE { ?c CONCEPT {type: "Person", key: :k} '
    '?p (?c, "prefers", ?o) } ORDER BY COUNT(DISTINCT ?p) DESC, ?c.name LIMIT 10 CURSOR "abc"',
    'FIND(?a.confidence) WHERE { ?a ASSERTION {proposition: (?s, "says", (id: "P-1")), '
    'context_refs: [:ctx, "C-2"]} FILTER(?a.confidence >= 0.5 && !(?a.mode == "inferred")) }',
    'FIND(?x) WHERE { (:a, "part_of"{1,} | "near"{2,3}, ?x) NOT { (?x, "gone", true) } '
    'OPTIONAL { ?e EVIDENCE {evidence_class: "message"} FILTER(IN(?e.id, ["E-1", :e])) } '
    "UNION { ?x {key: :k} FILTER(IS_NOT_NULL(?x.name) || -?x.attributes.depth < 0) } }",
    "FIND(?b.status, ?s.accepted_values) WHERE { ?p (:who, ?link, ?o) ?b BELIEF (?p) "
    '?c BELIEF (id: :pid) ?d BELIEF (?o, "near", 12) ?s BELIEF SLOT (:who, "lives_in") } '
    'AS OF SEQ 12 FOR TIME "2026-01-02T03:04:05.678Z" '
    'WITH EPISTEMIC {policy: "kip:memory-default", context_refs: [:ctx]}',
    'FIND(?x.retrieval.score) WHERE { ?x SEARCH CONCEPT :q WITH TYPE "Person" MODE "hybrid" '
    'THRESHOLD 0.2 LIMIT 5 ?edge STRUCTURAL (?x, "has_step", ?t) '
    'STRUCTURAL ({type: "Trip", key: "t"}, :field, ?t) } // the end',
    'FIND(?x.facets["MnemonicState"].salience, ?x["odd key"]) WHERE { ?x ACTIVITY '
    '{status: "completed", "odd key": null, facets: {MnemonicState: {utility: 1e-3}}} }',
    'ASSERT ?a (:tam, "prefers", {type: "Drink", key: "mate"}) {by: :tam, mode: "stated", '
    'stance: "reject", confidence: 0.75, at: "2026-01-02T03:04:05.678Z", '
    'valid: {from: {earliest: "2025-01-01T00:00:00.000Z"}, until: null}, context: [:task], '
    'evidence: [:e1, :e2], key: "k"} SUPERSEDING "A-3"',
    'ENSURE PROPOSITION ?p (:a, :link, (:b, "says", "hm \\u00e9\\n\\"")) EXPECT VERSION 0',
    'CREATE CONCEPT ?c { TYPE "Experience" CLIENT KEY :ck NAME "Night" '
    'SET FIELDS {key: "k", aliases: ["a", "b"]} SET ATTRIBUTES {goal: "dry", n: -1.5} '
    'SET FACET "MnemonicState" {salience: 0.3} SET FACET "MemoryScope" {task_ref: null} '
    'SET STRUCTURAL { ("has_step", :s1) {index: 0} ("about", "C-2") } }',
    'UPSERT CONCEPT ?p { MATCH {type: "Person", key: :k} SET FIELDS {name: "Tam"} '
    'UNSET ATTRIBUTES {old, "older one"} UNSET FACET "MnemonicState" {utility} '
    'UNSET STRUCTURAL { ("about", :gone) } } EXPECT VERSION 4 EXPECT VERSION :v OF FACET "M"',
    'CREATE EVIDENCE ?e { CLIENT KEY "m:1" SET FIELDS {evidence_class: "message", '
    'payload: {mode: "inline", parts: [1, true, null]}} SET STRUCTURAL { ("source", :tam) } }',
    'CREATE ACTIVITY ?x { SET FIELDS {activity_class: "extraction", status: "completed"} }',
    'UPDATE ?m SET FACET "MnemonicState" {salience: CLAMP(ADD(COALESCE('
    '?m.facets["MnemonicState"].salience, 0), :d), 0, 1)} WHERE { ?m {type: "Event"} '
    'FILTER(?m.name != "keep") } LIMIT 5 EXPECT VERSION 2 OF ATTRIBUTES '
    "EXPECT VERSION 3 OF STRUCTURAL EXPECT VERSION 4 OF RETENTION",
    'UPDATE "C-1" UNSET ATTRIBUTES {summary} SET ATTRIBUTES {summary: "again"}',
    'TRANSITION :x TO "completed" SET FIELDS {ended_at: :t} SET STRUCTURAL { ("outputs", :o) } '
    "WHERE { ?y {id: :y} } LIMIT 1 EXPECT VERSION 1",
    'TRANSITION :old TO "superseded" BY :new',
    'SET RETENTION ?x {retention_class: "short", expires_at: null, legal_hold: false} '
    'WHERE { ?x {type: "Event"} }',
    'PURGE ?e WHERE { ?e EVIDENCE {} } LIMIT 2 REFERENCE POLICY "tombstone_reference" '
    'CONFIRM "PURGE"',
    'PURGE PAYLOAD :e EXPECT VERSION 2 CONFIRM "PURGE"',
    'MERGE CONCEPT ?a INTO :b WHERE { ?a {key: "dup"} } EXPECT VERSION 3',
    'DEFINE PREDICATE "shift_colour" {description: "d", functional: true, '
    'subject: {concept_types: ["Person"]}, object: {literal_types: ["string"]}}',
    'DEFINE CONCEPT TYPE "Kiln" {description: "d", attributes: {open:true, fields: '
    '{volume: {type: "number", description: "litres"}}}}',
    'MUTATE { CREATE EVIDENCE ?e { } ASSERT (:a, "p", ?c) {by: :a, mode: "observed", '
    "evidence: ?e} CREATE CONCEPT ?c { TYPE :t } UPDATE ?c SET ATTRIBUTES {a: 1} }",
    'DESCRIBE PRIMER MODE "compact"',
    "DESCRIBE SPACE",
    'DESCRIBE TYPE "Person"',
    "DESCRIBE COMPATIBILITY FROM :a TO :b",
    "DESCRIBE TRANSACTION BY IDEMPOTENCY KEY :k",
    'DESCRIBE SNAPSHOT AT TIME "2026-01-02T03:04:05.678Z"',
    "DESCRIBE SCHEMA ENVIRONMENT AS OF SEQ 3",
    'DESCRIBE ACCESS WITH {operation: "purge"}',
    'LIST SCHEMA PACKAGES STATUS "active" LIMIT 3 CURSOR "z"',
    "LIST DEPENDENTS :id DEPTH 2",
    'SEARCH EVIDENCE "gasket" WITH PREDICATE :p MODE :m THRESHOLD 1 AS OF SEQ 9 LIMIT 3',
    "VERIFY SCHEMA PACKAGE :a",
    "VALIDATE IMPORT PLAN :p WITH {strict: true}",
    "PREVIEW IMPORT CAPSULE :c INTO :s",
    "HISTORY ELEMENT :id FROM SEQ 1 TO SEQ 9 LIMIT 3",
    "CHANGES AFTER SEQ 4 LIMIT 10",
    'EXPORT CAPSULE ?r WHERE { ?r {type: "Event"} } WITH {closure: "closed"} AS OF SEQ 8',
)
