"""Files that are made from others: JSON schemas of those under ``config/`` for editors, and the facts for the client.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, NoDefault
from pydantic_core.core_schema import WithDefaultSchema

from wheelmill.config.load import load_compatibility
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.gpus import ArchitectureRule
from wheelmill.config.model.images import Images
from wheelmill.config.model.listing import Removed, Yanked
from wheelmill.config.model.packages import Packages
from wheelmill.config.package_fields import BuildArguments
from wheelmill.config.read import adapter_of
from wheelmill.system.plain_records import plain_of

FACTS: Final = "compatibility.json"

_MODELS: Final[Mapping[str, type]] = {
    "packages.schema.json": Packages,
    "compatibility.schema.json": Compatibility,
    "images.schema.json": Images,
    "yanked.schema.json": Yanked,
    "removed.schema.json": Removed,
}


class _AsWritten(GenerateJsonSchema):
    """Describes what people write; pydantic would describe what is made of it."""

    def get_default_value(self, schema: WithDefaultSchema) -> Any:  # noqa: ANN401 - JSON
        """The default as a file would write it; none for a key that a file would leave out."""
        match schema.get("default"):
            case None | BuildArguments() | (ArchitectureRule(), *_):
                return NoDefault
            case tuple(items) | frozenset(items):
                return [str(item) for item in items]
            case value:
                return value

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Never: a title would repeat the key."""
        return False


def generated_files(directory: Path) -> Mapping[str, bytes]:
    """The content of each file by its name; equal models and facts give equal bytes.

    The facts are made only where they are already: the client reads those that ship, no others.

    Raises:
        ConfigurationError: with every fault of ``compatibility.yml``, where the facts are made.
    """
    schemas = {name: _json_schema(model) for name, model in _MODELS.items()}
    return schemas | ({FACTS: facts_json(directory)} if (directory / FACTS).exists() else {})


def facts_json(directory: Path) -> bytes:
    """The facts of a configuration folder as the client reads them.

    Raises:
        ConfigurationError: with every fault of ``compatibility.yml``.
    """
    return json.dumps(plain_of(load_compatibility(directory))).encode() + b"\n"


def _json_schema(model: type) -> bytes:
    schema = adapter_of(model).json_schema(schema_generator=_AsWritten)
    content = {"$schema": GenerateJsonSchema.schema_dialect, **schema}
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
