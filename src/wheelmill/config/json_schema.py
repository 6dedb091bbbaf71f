"""JSON schemas of the files under ``config/``, for editors: made from the models that read the files.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, NoDefault
from pydantic_core.core_schema import WithDefaultSchema

from wheelmill.config.compatibility_file import CompatibilityFile
from wheelmill.config.images_file import ImagesFile
from wheelmill.config.listing_file import RemovedFile, YankedFile
from wheelmill.config.model import BuildArguments
from wheelmill.config.packages_file import PackagesFile

_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "packages.schema.json": PackagesFile,
    "compatibility.schema.json": CompatibilityFile,
    "images.schema.json": ImagesFile,
    "yanked.schema.json": YankedFile,
    "removed.schema.json": RemovedFile,
}


class _AsWritten(GenerateJsonSchema):
    """Describes what people write; pydantic would describe what is made of it."""

    def get_default_value(self, schema: WithDefaultSchema) -> Any:  # noqa: ANN401 - JSON
        """The default as a file would write it; none for a key that a file would leave out."""
        match schema.get("default"):
            case None | BuildArguments():
                return NoDefault
            case list(items):
                return [str(item) for item in items]
            case value:
                return value

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Never: a title would repeat the key."""
        return False


def json_schemas() -> Mapping[str, bytes]:
    """The content of each schema file by its name; equal models give equal bytes."""
    return {name: _json_schema(model) for name, model in _MODELS.items()}


def _json_schema(model: type[BaseModel]) -> bytes:
    content = {"$schema": GenerateJsonSchema.schema_dialect, **model.model_json_schema(schema_generator=_AsWritten)}
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
