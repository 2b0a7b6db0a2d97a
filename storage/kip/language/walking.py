"""Goes through a tree without knowing its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TypeVar

from storage.kip.language.ast_terms import Node, Parameter, Path, Variable

_N = TypeVar("_N", bound=Node)


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def _parts(kind: type[Node]) -> tuple[str, ...]:
    names = _PARTS.get(kind)
    if names is None:
        names = _PARTS[kind] = tuple(part.name for part in fields(kind) if part.name != "at")
    return names


def walk(root: Node) -> Iterator[Node]:
    """A node and everything under it, in the order in which it is written."""
    waiting: list[object] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Node):
            yield part
            waiting.extend(getattr(part, name) for name in reversed(_parts(type(part))))
        elif isinstance(part, tuple):
            waiting.extend(reversed(part))


def every(root: Node, kind: type[_N]) -> Iterator[_N]:
    """The nodes of one kind."""
    return (node for node in walk(root) if isinstance(node, kind))


def variables(root: Node) -> Iterator[Variable]:
    """The variables that a node uses, also as the root of a path."""
    return every(root, Variable)


def parameters(root: Node) -> frozenset[str]:
    """The names of the parameters that a node uses."""
    return frozenset(node.name for node in walk(root) if isinstance(node, Parameter))


def root_of(node: Variable | Path) -> Variable:
    """The variable that a path begins with."""
    return node.variable if isinstance(node, Path) else node
