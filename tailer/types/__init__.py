"""CQL types: their text parsed, their values as JSON text, the token of a key. Light to import; knows no log."""

from tailer.types.cql import CqlType, Shape
from tailer.types.jsontext import quote
from tailer.types.parse import parse_type
from tailer.types.token import murmur3_token

__all__ = ["CqlType", "Shape", "murmur3_token", "parse_type", "quote"]
