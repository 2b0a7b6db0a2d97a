"""Schema packages: immutable, exactly versioned sets of definitions (`KIP-Schema-Package`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from storage.canonical import digest
from storage.graph.errors import ConstraintViolation, SchemaPackageUnavailable
from storage.graph.symbols import CORE, DRAFT, SECTIONS
from storage.graph.values import check_json, check_value_schema

FORMAT = "KIP-Schema-Package"
#: The packages that come with Brainstem; a new space has them all unless told otherwise.
BUILTIN = ("cognitive-memory-2.0.0", "general-1.0.0")

_ID = re.compile(r"kip://[a-z0-9-]+(/[a-z0-9-]+)*", re.ASCII)
_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,3}([-+][0-9A-Za-z.-]{1,64})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
#: Bytes of JSON that one package may come to.
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Package:
    """One package. `digest` covers all of `body` but its integrity block."""

    id: str
    version: str
    digest: str
    body: Mapping[str, Any]

    @property
    def ref(self) -> str:
        """`kip://path@version`."""
        return f"{self.id}@{self.version}"

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts the versions of one package, the oldest first."""
        numbers, _, rest = self.version.partition("-")
        return (*(int(part) for part in re.findall(r"\d+", numbers)), not rest, rest)

    def definitions(self, section: str) -> Mapping[str, Mapping[str, Any]]:
        """The definitions of one section, by local name."""
        found: Mapping[str, Mapping[str, Any]] = self.body["definitions"].get(section) or {}
        return found


def read(body: Mapping[str, Any]) -> Package:
    """Read and check a package.

    Raises `ConstraintViolation` for what is no package or takes a protected name, and
    `SchemaPackageUnavailable` for one whose digest is another than it says.
    """
    if body.get("format") != FORMAT:
        raise ConstraintViolation(f"A schema package says format {FORMAT!r}.")
    check_json(dict(body), "A schema package")
    if len(json.dumps(body)) > MAX_BYTES:
        raise ConstraintViolation(f"A schema package has at most {MAX_BYTES} bytes.")
    manifest = body.get("manifest")
    if not isinstance(manifest, dict):
        raise ConstraintViolation("A schema package has a manifest.")
    id, version = manifest.get("package_id"), manifest.get("version")
    if not isinstance(id, str) or _ID.fullmatch(id) is None:
        raise ConstraintViolation("A package_id looks like kip://path/of/package.")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise ConstraintViolation("A package has an exact version, such as 1.0.0.")
    if id in {CORE.partition("@")[0], DRAFT.partition("@")[0]}:
        raise ConstraintViolation(f"{id} cannot be replaced.")
    _check_definitions(body.get("definitions"))
    own = digest({name: value for name, value in body.items() if name != "integrity"})
    integrity = body.get("integrity")
    stated = integrity.get("content_digest") if isinstance(integrity, dict) else None
    if stated is not None and stated != own:
        raise SchemaPackageUnavailable(f"{id}@{version} is not what its content digest says.")
    return Package(id, version, own, body)


@lru_cache(maxsize=len(BUILTIN))
def builtin(name: str) -> Package:
    """A package that comes with Brainstem, by an entry of `BUILTIN`."""
    path = Path(__file__).with_name("packages") / f"{name}.json"
    return read(json.loads(path.read_text(encoding="utf-8")))


def builtin_by_ref(ref: str) -> Package | None:
    """The built-in package of that ref, id or file name."""
    for name in BUILTIN:
        package = builtin(name)
        if ref in (package.ref, package.id, name):
            return package
    return None


def _check_definitions(definitions: Any) -> None:
    if not isinstance(definitions, dict):
        raise ConstraintViolation("A schema package has definitions.")
    for section in SECTIONS.values():
        entries = definitions.get(section) or {}
        if not isinstance(entries, dict):
            raise ConstraintViolation(f"The definitions of {section} are an object.")
        for name, entry in entries.items():
            if _NAME.fullmatch(name) is None or not isinstance(entry, dict):
                raise ConstraintViolation(f"{name!r} is no definition.")
            _check_shape(name, entry)
            _check_schemas(entry)


def _check_shape(name: str, entry: Mapping[str, Any]) -> None:
    """The members that reading relies on have the type that it takes for granted."""
    objects = ("attributes", "attachment", "cardinality", "fields")
    ends = ("subject", "object", "source", "target", "applicable_to")
    for member in (*objects, *ends):
        if not isinstance(entry.get(member) or {}, dict):
            raise ConstraintViolation(f"{member} of {name} is an object.")
    for member in ends:
        for listed in ("concept_types", "kinds", "literal_types", "datatypes"):
            _check_words(f"{member}.{listed} of {name}", (entry.get(member) or {}).get(listed))
    _check_words(
        f"activity_classes of {name}", (entry.get("attachment") or {}).get("activity_classes")
    )
    for limit in ("min", "max"):
        number = (entry.get("cardinality") or {}).get(limit)
        if number is not None and (type(number) is not int or number < 0):
            raise ConstraintViolation(f"cardinality of {name} is a whole number.")
    for fields in (entry.get("fields"), (entry.get("attributes") or {}).get("fields")):
        for member, definition in (fields or {}).items():
            if not isinstance(definition, dict):
                raise ConstraintViolation(f"{member} of {name} is no definition.")


def _check_words(what: str, words: Any) -> None:
    if words is not None and not (
        isinstance(words, list) and all(isinstance(word, str) for word in words)
    ):
        raise ConstraintViolation(f"{what} is a list of names.")


def _check_schemas(part: Any) -> None:
    """Every value schema of a definition, wherever it stands."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "value_schema":
                check_value_schema(value)
            else:
                _check_schemas(value)
