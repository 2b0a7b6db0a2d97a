"""What the words of a query mean at its snapshot: each matches by its lineages."""

from __future__ import annotations

from storage.kip.errors import TypeMismatch, fault
from storage.kip.language.ast_terms import Literal, Node
from storage.kip.snapshot import Snapshot


def name_of(node: Node, what: str) -> str:
    """The text of a symbol. Raises `TypeMismatch`."""
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    raise fault(TypeMismatch, f"{what} is named by a string.", node.at)


def types(snapshot: Snapshot, node: Node) -> frozenset[str]:
    """Raises `SchemaSymbolNotFound` or `SchemaSymbolAmbiguous`, as do the next three."""
    return snapshot.schema.lineages("concept_type", name_of(node, "A type"))


def predicates(snapshot: Snapshot, node: Node) -> frozenset[str]:
    """The lineages of a predicate."""
    return snapshot.schema.lineages("predicate", name_of(node, "A predicate"))


def fields(snapshot: Snapshot, node: Node) -> frozenset[str]:
    """The lineages of a structural field.

    A core field and a package's field of one name are both meant: what carries them differs.
    """
    return snapshot.schema.lineages("structural_field", name_of(node, "A structural field"))
