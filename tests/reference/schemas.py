"""JSON Schemas of what is promised to programs, and whether one still keeps what an earlier one promised.

https://json-schema.org/draft/2020-12
"""

import functools
import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from tests.reference.outputs import outputs
from tests.source_code import attribute_docstrings
from wheelmill.config.fields import describe_keys

Schema = dict[str, Any]


class _Described(GenerateJsonSchema):
    """Without titles, which would repeat the keys."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - as pydantic calls it
        """Never."""
        return False

    def dataclass_schema(self, schema: Any) -> Schema:
        """A record, with the texts of inherited fields: pydantic reads those of one class alone."""
        made = super().dataclass_schema(schema)
        for base in schema["cls"].__mro__[1:-1]:
            for name, text in attribute_docstrings(base).items():
                if name in made["properties"]:
                    made["properties"][name].setdefault("description", text)
        return made

    def function_plain_schema(self, schema: Any) -> Schema:
        """What is read by a function of ours: what people write, also where it is written."""
        return self.generate_inner(schema["json_schema_input_schema"])


def file_of(name: str) -> str:
    """The file of a schema: ``resolve-1.schema.json``."""
    return f"{name.removeprefix('wheelmill.').replace('/', '-')}.schema.json"


@functools.cache
def schema_of(name: str) -> Schema:
    """Describe an output."""
    describe_keys()
    several: Any = list[outputs()[name]]  # type: ignore[misc]  # a type has no configuration of its own
    adapter = TypeAdapter(several, config=ConfigDict(use_attribute_docstrings=True))
    made = _tidy(adapter.json_schema(mode="serialization", schema_generator=_Described))
    kinds = made.pop("$defs", {})
    own = kinds.pop(made["items"]["$ref"].rpartition("/")[2]) if "$ref" in made["items"] else made["items"]
    own["required"] = list(dict.fromkeys(["schema", *own["required"]]))
    dialect, address = GenerateJsonSchema.schema_dialect, file_of(name)  # on whatever site has the documents
    return {"$schema": dialect, "$id": address, "title": name, **own, "$defs": kinds}


def _tidy(node: Any) -> Any:
    """Say it as JSON does: no titles, no defaults, null for None; and outputs may gain keys, as files may not."""
    match node:
        case {"additionalProperties": False, **rest}:
            return _tidy(rest)
        case {"properties": dict(properties), **rest}:
            return {**_tidy(rest), "properties": {key: _tidy(each) for key, each in properties.items()}}
        case dict():
            kept = {key: each for key, each in node.items() if key not in {"title", "default"}}
            return {key: _text(each) if key == "description" else _tidy(each) for key, each in kept.items()}
        case list():
            return list(map(_tidy, node))
        case _:
            return node


def _text(description: str) -> str:
    said = " ".join(description.replace("``", "`").replace("None", "null").split())
    return said[:1].upper() + said[1:]


def content_of(name: str) -> str:
    """The file of a schema."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


@functools.cache
def strict_validator(name: str) -> Draft202012Validator:
    """What refuses an output with keys that are not described, too."""
    return Draft202012Validator(_closed(schema_of(name)))


def _closed(node: Any) -> Any:
    match node:
        case {"properties": dict(properties), **rest}:
            own = {key: _closed(each) for key, each in properties.items()}
            return {"additionalProperties": False, **_closed(rest), "properties": own}
        case dict():
            return {key: _closed(each) for key, each in node.items()}
        case list():
            return list(map(_closed, node))
        case _:
            return node


def check_output(printed: str) -> None:
    """Compare what a command printed with the schema that it names, if it printed JSON of ours."""
    if printed.startswith("{") and "schema" in (content := json.loads(printed)):
        strict_validator(content["schema"]).validate(content)


def broken_promises(old: Schema, new: Schema) -> list[str]:
    """What programs that were written for one schema can no longer rely on; another value of an enumeration is none."""
    return list(_broken(old, new, old, new, ""))


def _broken(old: Any, new: Any, old_root: Schema, new_root: Schema, where: str) -> Iterator[str]:
    was, now = _kinds(old, old_root), _kinds(new, new_root)
    if not was:  # anything
        return
    if added := sorted(now.keys() - was.keys()) if now else ["anything"]:
        yield f"{where or 'the whole'} may be {', '.join(added)}"
    for kind in was.keys() & now.keys():
        before, after = was[kind], now[kind]
        if "const" in before and before["const"] != after.get("const"):
            yield f"{where} is no longer {before['const']!r}"
        for key, each in before.get("properties", {}).items():
            path = f"{where}.{key}".lstrip(".")
            if key not in after.get("properties", {}):
                yield f"{path} is gone"
            else:
                if key in before.get("required", ()) and key not in after.get("required", ()):
                    yield f"{path} may be missing"
                yield from _broken(each, after["properties"][key], old_root, new_root, path)
        for below in ("items", "additionalProperties"):
            if isinstance(before.get(below), dict):
                yield from _broken(before[below], after.get(below, {}), old_root, new_root, f"{where}[]")


def _kinds(node: Schema, root: Schema) -> dict[str, Schema]:
    """The kinds of values that a node allows; none where it allows anything."""
    match node:
        case {"$ref": str(reference)}:
            return _kinds(root["$defs"][reference.rpartition("/")[2]], root)
        case {"anyOf": list(nodes)}:
            return {kind: each for one in nodes for kind, each in _kinds(one, root).items()}
        case {"type": str(kind)}:
            return {kind: node}
        case _:
            return {}
