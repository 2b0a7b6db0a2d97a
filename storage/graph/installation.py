"""Packages of a space: what it starts with, and what is installed later.

Installing is an act of whoever runs the space (`manage_schema`), never of the language. A space
that has never been written to is still being set up: its first environment is version 1 from
sequence 0, whatever is installed. Later, every installation takes a sequence and a new version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.database import Scope, Transaction
from storage.errors import Conflict
from storage.graph import package as packages
from storage.graph.commit import Locked, control, lock
from storage.graph.errors import SchemaPackageUnavailable, SchemaSymbolConflict
from storage.graph.package import Package
from storage.graph.schema import DRAFT, SECTIONS, Schema, build, environment, keep_environment
from storage.graph.symbols import CORE


@dataclass(frozen=True, slots=True)
class Installed:
    """A package of a space. `seq` is None when nothing changed, or while the space is set up."""

    ref: str
    digest: str
    schema_env_version: int
    seq: int | None


def start_with(tx: Transaction, scope: Scope, names: Sequence[str]) -> Schema:
    """Choose the built-in packages of a space that was never written to.

    `names` are refs, ids or file names of built-in packages. Raises `Conflict` for a space in use,
    `SchemaPackageUnavailable` for an unknown package, `NotFound` for an unknown space.
    """
    space = lock(tx, scope)
    if space.head_seq:
        raise Conflict("This space is in use; what it starts with cannot be changed any more.")
    chosen = []
    for name in names:
        package = packages.builtin_by_ref(name)
        if package is None:
            raise SchemaPackageUnavailable(f"There is no built-in package {name!r}.")
        chosen.append(package)
    return _set_up(tx, scope, space, chosen)


def install(
    tx: Transaction,
    scope: Scope,
    body: Mapping[str, Any],
    *,
    principal: str = "operator",
) -> Installed:
    """Install a package, in the form of `KIP-Schema-Package`; the same once more is no change.

    Raises `ConstraintViolation` for what is no package, `SchemaSymbolConflict` for another content
    under an installed ref, `SchemaPackageUnavailable` when a required package is missing,
    `SchemaSymbolNotFound` when it names a type that is nowhere, `NotFound` for an unknown space.
    """
    package = packages.read(body)
    space = lock(tx, scope)
    present = environment(tx, scope)
    for known in present.packages:
        if known.ref == package.ref:
            if known.digest != package.digest:
                raise SchemaSymbolConflict(f"{package.ref} is installed with another content.")
            return Installed(package.ref, package.digest, space.schema_env_version, None)
    _check_dependencies(package, present.packages)
    if not space.head_seq:
        _set_up(tx, scope, space, (*present.packages, package))
        return Installed(package.ref, package.digest, space.schema_env_version, None)
    grown = _with(present, (*present.packages, package))
    version = space.schema_env_version + 1
    record = control(
        tx,
        scope,
        space,
        principal=principal,
        channel="schema",
        tx_class="schema",
        schema_env_version=version,
    )
    _keep_body(tx, scope, package, record.seq)
    keep_environment(tx, scope, grown, version, record.seq)
    return Installed(package.ref, package.digest, version, record.seq)


def _set_up(tx: Transaction, scope: Scope, space: Locked, chosen: Iterable[Package]) -> Schema:
    """Replace the first environment of a space that nothing was written to."""
    chosen = tuple(chosen)
    made = build(chosen)
    tx.execute("delete from schema_env where space_id = %s", (scope.space_id,))
    tx.execute("delete from schema_package where space_id = %s", (scope.space_id,))
    for package in chosen:
        if packages.builtin_by_ref(package.ref) is None:
            _keep_body(tx, scope, package, 0)
    keep_environment(tx, scope, made, space.schema_env_version, 0)
    return made


def _with(present: Schema, installed: Iterable[Package]) -> Schema:
    drafts = [
        (kind, symbol.local_name, symbol.definition)
        for kind in SECTIONS
        for symbol in present.symbols(kind)
        if symbol.package_ref == DRAFT
    ]
    return build(installed, drafts, present.maps)


def _keep_body(tx: Transaction, scope: Scope, package: Package, seq: int) -> None:
    tx.execute(
        "insert into schema_package (space_id, package_ref, digest, body, created_seq)"
        " values (%s, %s, %s, %s, %s) on conflict do nothing",
        (scope.space_id, package.ref, package.digest, json.dumps(dict(package.body)), seq),
    )


def _check_dependencies(package: Package, installed: Iterable[Package]) -> None:
    known = {CORE, *(one.ref for one in installed)}
    for wanted in package.body.get("dependencies") or ():
        ref = wanted.get("package_ref") or f"{wanted.get('package_id')}@{wanted.get('version')}"
        if wanted.get("required", True) and ref not in known:
            raise SchemaPackageUnavailable(f"{package.ref} needs {ref}, which is not installed.")
