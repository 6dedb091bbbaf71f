"""The pages about JSON: a list of what programs may rely on, and the keys of a manifest."""

from collections.abc import Iterator

from tests.reference.described import described, table
from tests.reference.exits import command_in
from tests.reference.outputs import outputs
from tests.reference.schemas import Schema, file_of, schema_of
from wheelmill.release.manifest import SCHEMA

JSON_HEAD = """\
<!-- Made by `python -m tests.reference --write`. -->

# JSON

`--json` prints one object on stdout and nothing else; everything that is said to people goes to stderr. The exit
code is the same as without it, and where a command cannot begin nothing is printed. The key `schema` says what the
object is.

A name such as `wheelmill.resolve/1` is a promise. As long as it ends with 1, its keys stay, keep their types, and
are there wherever they are required now. Keys may be added, and values of an enumeration: pass over what you do not
know. Any other change gets the number 2, and a file of its own. Each file below is a
[JSON Schema](https://json-schema.org/draft/2020-12) with a line about every key that needs one. An index with these
documents keeps it below `docs/reference/schemas/`, and its `$id` is its name there.
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
[Releases](../releases.md) says how a release comes to be, and the index is made from manifests alone:
[what an index has](../what-an-index-has.md) describes `wheels.json`, which has the most useful part of all of them.

Published manifests never change: older ones lack keys that were added since, which are *not required* below. As in
every [JSON of wheelmill](json.md), pass over keys that you do not know.
"""

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
    """Write the keys of a manifest: a table for each kind of object."""
    schema = schema_of(SCHEMA)
    parts = [MANIFEST_HEAD, f"Its [schema](schemas/{file_of(SCHEMA)}) is `{SCHEMA}`.\n", _keys(schema)]
    for name in _reached(schema, schema):
        node = schema["$defs"][name]
        parts.append(f"## {name}\n\n{node['description']}\n\n{_keys(node)}")
    return "\n".join(parts)


def _reached(node: object, schema: Schema, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The kinds of objects in a node, in the order in which a reader meets them."""
    match node:
        case {"$ref": str(reference)} if (name := reference.rpartition("/")[2]) not in known:
            found = schema["$defs"][name]
            if "properties" not in found:
                return known
            return _reached(found, schema, (*known, name))
        case dict():
            for key, each in node.items():
                known = known if key == "$defs" else _reached(each, schema, known)
        case list():
            for each in node:
                known = _reached(each, schema, known)
        case _:
            pass
    return known


def _keys(node: Schema) -> str:
    required = node.get("required", ())
    rows = (
        (f"`{key}`", f"{_kind(each)}{'' if key in required else ', not required'}", each.get("description", ""))
        for key, each in node["properties"].items()
    )
    return table(("key", "holds", "means"), rows)


def _kind(node: Schema) -> str:  # noqa: PLR0911 - one line a kind
    match node:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})" if name in _linked() else "text"
        case {"anyOf": list(nodes)}:
            return " or ".join(dict.fromkeys(map(_kind, nodes)))
        case {"const": value}:
            return f"`{value}`"
        case {"enum": list(values)}:
            return " or ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            return f"list: {_kind(items)}"
        case {"type": "array", "prefixItems": items}:
            return f"list: {', '.join(map(_kind, items))}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object, by name: {_kind(values)}"
        case {"type": "string", "format": "date-time"}:
            return "time (RFC 3339)"
        case {"type": str(kind)}:
            return _KINDS.get(kind, kind)
        case _:
            return "anything"


def _linked() -> tuple[str, ...]:
    schema = schema_of(SCHEMA)
    return _reached(schema, schema)


def lines_of_outputs(command: str) -> Iterator[str]:
    """What the page of commands says of the JSON of one."""
    if names := [name for name in outputs() if printed_by(name) == command]:
        links = ", ".join(f"[`{name}`](schemas/{file_of(name)})" for name in names)
        yield f"Prints [as JSON](json.md): {links}."
