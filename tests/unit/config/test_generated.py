"""What editors and the client read is what the models say."""

import dataclasses
import json
from typing import Any

import pytest

from wheelmill.config.annotations import Unquoted
from wheelmill.config.document import read_document
from wheelmill.config.generated import generated_files
from wheelmill.config.model.compatibility import Compatibility, TorchRelease
from wheelmill.config.model.images import CudaImages, Images
from wheelmill.config.model.listing import Removed, Yanked
from wheelmill.config.model.package import PackageEntry
from wheelmill.config.model.packages import Packages
from wheelmill.system import resources

GENERATED = generated_files(resources.CONFIG)
PACKAGES = json.loads(GENERATED["packages.schema.json"])
COMPATIBILITY = json.loads(GENERATED["compatibility.schema.json"])
IMAGES = json.loads(GENERATED["images.schema.json"])
YANKED = json.loads(GENERATED["yanked.schema.json"])
REMOVED = json.loads(GENERATED["removed.schema.json"])
PACKAGE = PACKAGES["$defs"]["PackageEntry"]


@pytest.mark.parametrize("name", GENERATED)
def test_the_files_that_ship_are_current(name: str) -> None:
    assert (resources.CONFIG / name).read_bytes() == GENERATED[name], "run: wheelmill config schema --write"


@pytest.mark.parametrize("name", ["packages", "compatibility", "images", "yanked", "removed"])
def test_the_files_that_ship_name_their_schema(name: str) -> None:
    line = f"# yaml-language-server: $schema={name}.schema.json"
    assert line in (resources.CONFIG / f"{name}.yml").read_text().splitlines()[:3]


@pytest.mark.parametrize(
    ("schema", "model"),
    [
        (PACKAGES, Packages),
        (PACKAGE, PackageEntry),
        (COMPATIBILITY, Compatibility),
        (COMPATIBILITY["$defs"]["TorchRelease"], TorchRelease),
        (IMAGES, Images),
        (IMAGES["$defs"]["CudaImages"], CudaImages),
        (YANKED, Yanked),
        (REMOVED, Removed),
    ],
)
def test_every_key_is_there(schema: dict[str, Any], model: type) -> None:
    assert set(schema["properties"]) == {field.name for field in dataclasses.fields(model)}


def test_the_docstring_of_a_key_is_its_description() -> None:
    assert PACKAGE["properties"]["timeout"]["description"] == "Minutes after which a build is ended."


@pytest.mark.parametrize("schema", [PACKAGES, COMPATIBILITY, IMAGES, YANKED, REMOVED])
def test_no_other_key_is_allowed_anywhere(schema: dict[str, Any]) -> None:
    assert [entry["additionalProperties"] for entry in (schema, *schema.get("$defs", {}).values())] == [False] * (
        1 + len(schema.get("$defs", {}))
    )


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("description", {"type": "string", "default": ""}),
        ("redistributable", {"type": "boolean", "default": True}),
        ("build_args", {"type": "string"}),
        (
            "architectures",
            {"items": {"oneOf": [{"$ref": "#/$defs/ArchitectureRule"}, {"type": "string"}]}, "type": "array"},
        ),
        ("timeout", {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]}),
    ],
)
def test_a_key_has_the_form_in_which_people_write_it(key: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= PACKAGE["properties"][key].items()


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("packages", PACKAGES),
        ("compatibility", COMPATIBILITY),
        ("images", IMAGES),
        ("yanked", YANKED),
        ("removed", REMOVED),
    ],
)
def test_the_files_that_ship_are_valid(name: str, schema: dict[str, Any]) -> None:
    content = read_document(resources.CONFIG / f"{name}.yml").content
    assert list(faults(schema, content, schema.get("$defs", {}), name)) == []


def test_a_file_with_faults_is_not_valid() -> None:
    content = {"packages": {"demo": {"version": "1.0", "timeout": "ten", "patches": "fix.patch"}}}
    assert sorted(faults(PACKAGES, content, PACKAGES["$defs"], "packages")) == [
        "packages.packages.demo.patches: 'fix.patch' is no array",
        "packages.packages.demo.timeout: no form fits",
        "packages.packages.demo.version: not a key",
    ]


def faults(schema: dict[str, Any], value: Any, definitions: dict[str, Any], place: str) -> list[str]:
    """Validate a value by the words of JSON schema that these schemas use."""
    if "$ref" in schema:
        return faults(definitions[schema["$ref"].rpartition("/")[2]], value, definitions, place)
    if forms := schema.get("anyOf", schema.get("oneOf")):
        fits = any(faults(form, value, definitions, place) == [] for form in forms)
        return [] if fits else [f"{place}: no form fits"]
    if "type" in schema and not is_of_type(value, schema["type"]):
        return [f"{place}: {value!r} is no {schema['type']}"]
    if isinstance(value, list):
        return [fault for item in value for fault in faults(schema["items"], item, definitions, place)]
    if not isinstance(value, dict):
        return []
    found = [f"{place}.{key}: missing" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        form = schema.get("properties", {}).get(key, schema["additionalProperties"])
        found += faults(form, item, definitions, f"{place}.{key}") if form else [f"{place}.{key}: not a key"]
    return found


def is_of_type(value: Any, name: str) -> bool:
    unquoted = value.text if isinstance(value, Unquoted) else ""
    match name:
        case "integer":
            return unquoted.isdigit()
        case "boolean":
            return unquoted in ("true", "false")
        case "null":
            return value is None
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[name])
