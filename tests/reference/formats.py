"""The pages about JSON: a list of what programs may rely on, and the keys of a manifest."""

from collections.abc import Iterator

from tests.reference.described import described, table
from tests.reference.exits import command_in
from tests.reference.outputs import outputs
from tests.reference.schemas import Schema, file_of, schema_of
from wheelmill.release.manifest.record import SCHEMA

JSON_HEAD = """\
<!-- Made by `python -m tests.reference --write`. -->

# JSON

`--json` prints one object on stdout and nothing else; messages go to stderr. The exit code is the same as without it,
and where a command cannot begin nothing is printed. The key `schema` names the object.

A name such as `wheelmill.resolve/1` is a promise: its keys stay, keep their types, and are there wherever they are
required now. Keys may be added, and values of an enumeration: ignore those that you do not know. Any other change gets
the number 2, and a file of its own. Each file is a [JSON Schema](https://json-schema.org/draft/2020-12); an index with
these documents keeps it below `docs/reference/schemas/`, and its `$id` is its name there.
"""
HEADINGS = ("name", "of", "is")

WHERE = {
    "wheelmill.manifest/1": "[`manifest.json`](manifest.md) of a release",
    "wheelmill.build-facts/1": "[`wheelmill-build.json`](../releases.md#what-a-wheel-says-of-itself) of a wheel",
    "wheelmill.wheels/1": "[`wheels.json`](../what-an-index-has.md#wheelsjson) of an index",
    "wheelmill.hashes/1": "[`hashes/index.json`](../what-an-index-has.md#wheelsjson) of an index",
}
"""What no command prints."""

MANIFEST_HEAD = """\
<!-- Made by `python -m tests.reference --write`. -->

# manifest.json

Each release has one, beside its wheels: it says what each wheel is, how it was built and what its test showed.
[Releases](../releases.md) says how a release comes to be. The index is made from manifests alone; its
[`wheels.json`](../what-an-index-has.md#wheelsjson) has the most useful part of all of them.

Published manifests never change: older ones lack keys that were added since, which are *not required* below.
"""
OF_A_WHEEL = """\
## wheels

The keys of each wheel; `[]` stands for the items of a list.
"""
KEYS = ("key", "holds", "means")

_KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}


def printed_by(name: str) -> str | None:
    """The command that prints an output, which is named for it; None for a file."""
    words = name.removeprefix("wheelmill.").partition("/")[0].split("-")
    return None if name in WHERE else command_in(words)


def json_page() -> str:
    """Write the list."""
    order = [each.path for each in described()]
    printed = sorted(
        (order.index(command), len(name), name, command) for name in outputs() if (command := printed_by(name))
    )
    commands = table(HEADINGS, (_row(name, f"[{command}]({_anchor(command)})") for *_, name, command in printed))
    return f"{JSON_HEAD}\n{commands}\n## Files\n\n{table(HEADINGS, (_row(*each) for each in WHERE.items()))}"


def _row(name: str, where: str) -> tuple[str, str, str]:
    return f"[`{name}`](schemas/{file_of(name)})", where, schema_of(name)["description"]


def _anchor(command: str) -> str:
    return f"commands.md#wheelmill-{command.replace(' ', '-')}"


def manifest_page() -> str:
    """Write the keys of a manifest, and those of each wheel: objects before what is in them."""
    schema = schema_of(SCHEMA)
    wheel, *_ = _objects_in(schema["properties"]["wheels"], schema)
    own = [row for row in _keys(schema, schema) if "[]" not in row[0]]
    link = f"Its [schema](schemas/{file_of(SCHEMA)}) is `{SCHEMA}`."
    return "\n".join([MANIFEST_HEAD, link, "", table(KEYS, own), OF_A_WHEEL, table(KEYS, _keys(wheel, schema))])


def _keys(node: Schema, root: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    required = node.get("required", ())
    for key, value in node["properties"].items():
        kind = _kind(value, root)
        yield f"`{path}{key}`", f"{kind}{'' if key in required else ', not required'}", _meaning(value, root)
        for inside in _objects_in(value, root):
            yield from _keys(inside, root, f"{path}{key}{'[]' if kind.startswith('list') else ''}.")


def _meaning(node: Schema, root: Schema) -> str:
    """What is said of a key, and then of the kind of object that it holds."""
    own = node.get("description", "")
    kinds = [kind["description"] for kind in _objects_in(node, root)]
    return " ".join(filter(None, [own, *(text for text in kinds if text.rstrip(".") not in own)]))


def _objects_in(node: Schema, root: Schema) -> list[Schema]:
    """The kinds of objects, with keys of their own, that a key can hold, or a list of them."""
    match node:
        case {"$ref": str(reference)} if "properties" in (found := _definition(reference, root)):
            return [found]
        case {"anyOf": list(nodes)}:
            return [found for each in nodes for found in _objects_in(each, root)]
        case {"type": "array", "items": dict(items)}:
            return _objects_in(items, root)
        case _:
            return []


def _definition(reference: str, root: Schema) -> Schema:
    definition: Schema = root["$defs"][reference.rpartition("/")[2]]
    return definition


def _kind(node: Schema, root: Schema) -> str:  # noqa: PLR0911 - one line a kind
    match node:
        case {"$ref": str(reference)}:
            return "object" if "properties" in _definition(reference, root) else "text"
        case {"anyOf": list(nodes)}:
            return " or ".join(dict.fromkeys(_kind(each, root) for each in nodes))
        case {"const": value}:
            return f"`{value}`"
        case {"enum": list(values)}:
            return " or ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            return f"list: {_kind(items, root)}"
        case {"type": "array", "prefixItems": items}:
            return f"list: {', '.join(_kind(each, root) for each in items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object, by name: {_kind(values, root)}"
        case {"type": "string", "format": "date-time"}:
            return "time (RFC 3339)"
        case {"type": str(kind)}:
            return _KINDS.get(kind, kind)
        case _:
            return "anything"


def lines_of_outputs(command: str) -> Iterator[str]:
    """What the page of commands says of the JSON of one."""
    if names := [name for name in outputs() if printed_by(name) == command]:
        links = ", ".join(f"[`{name}`](schemas/{file_of(name)})" for name in names)
        yield f"Prints [as JSON](json.md): {links}."
