"""The Chinese rules of the built-in encoder, one idea a file; `reader.read` is the entry."""

from pipelines.formation.chinese.reader import read

__all__ = ["read"]
