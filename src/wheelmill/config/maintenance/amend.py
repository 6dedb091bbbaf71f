"""Differences between a file and an index, edits that keep comments, and the packages that a git change affects."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from packaging.utils import canonicalize_name

from wheelmill.config.fields import KeyPath, Unquoted, is_commit
from wheelmill.config.load import COMPATIBILITY, lock_path
from wheelmill.config.model.config import Config
from wheelmill.config.model.package_parts import BUILD_DEFAULTS
from wheelmill.config.yaml import parse_document, read_document, refusal
from wheelmill.errors import ConfigurationError, ProcessError, UsageError
from wheelmill.names import ProjectName, TorchVersion
from wheelmill.system.files import write_bytes
from wheelmill.system.git import run_git
from wheelmill.system.process import raise_on_failure
from wheelmill.system.progress import Warn


class Difference:
    """Value of a file that differs from the published one; as text, one line."""

    @property
    def writable(self) -> bool:
        """True if the value that the file needs is known."""
        return False

    @property
    def outcome(self) -> str:
        """Line after the writable differences were written."""
        return f"{self}; written" if self.writable else str(self)


AnyDifference = TypeVar("AnyDifference", bound=Difference)


@dataclass(frozen=True, kw_only=True)
class Drift(Generic[AnyDifference]):
    """Result of a comparison."""

    differences: tuple[AnyDifference, ...]
    unknown: tuple[str, ...]
    """Facts that could not be compared, and why."""


Edit = tuple[int, int, str]
"""Span of a text, and its replacement."""


def amend(path: Path, values: Mapping[KeyPath, Any]) -> None:
    """Set values and keep every other byte.

    An existing value is replaced in place, a mapping with the comments in it; a list must be in brackets. A missing key
    goes below the others of its mapping, with keys and values of its own or with a single value. A single value may
    also go inside brackets. Raises ConfigurationError if the file cannot be read, or would not hold exactly these
    values; it then stays unchanged.
    """
    _rewrite(
        path,
        lambda text, root: [_edit(text, root, key_path, value) for key_path, value in values.items()],
        lambda content: _with_values(content, values),
    )


def keep_packages(path: Path, kept: Collection[ProjectName]) -> None:
    """Remove the entries of other packages, with the comments above them; keeps other bytes and raises as `amend`."""

    def removed(text: str, root: Any) -> Iterator[Edit]:  # noqa: ANN401 - YAML
        end = text.index("\n", next(key for key, _ in root.value if key.value == "packages").end_mark.index)
        for name, entry in _children(_children(root)["packages"]).items():
            start, end = end, _end_of_line(text, entry)
            if canonicalize_name(str(name)) not in kept:
                yield start, end, ""

    def shortened(content: Any) -> Any:  # noqa: ANN401 - YAML
        entries = content["packages"].items()
        return content | {"packages": {name: entry for name, entry in entries if canonicalize_name(name) in kept}}

    _rewrite(path, removed, shortened)


def _rewrite(path: Path, edits: Callable[[str, Any], Iterable[Edit]], change: Callable[[Any], Any]) -> None:
    """Edit a text if that makes the change of its content and no other."""
    content = read_document(path).content
    text = path.read_bytes().decode()
    with suppress(ConfigurationError, yaml.YAMLError):  # invalid after the edit, or readable by libyaml alone
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        pieces, done = [], 0
        for start, end, new in sorted(edits(text, root), key=lambda edit: edit[0]):
            pieces += [text[done:start], new]
            done = end
        edited = "".join([*pieces, text[done:]]).encode()
        if parse_document(path, edited).content == change(content):
            write_bytes(path, edited)
            return
    raise refusal(path, "cannot be changed in place; nothing was written")


def _edit(text: str, root: yaml.MappingNode, key_path: KeyPath, value: Any) -> Edit:  # noqa: ANN401 - YAML
    *parents, last = key_path
    mapping = root
    for key in parents:
        mapping = _children(mapping)[key]
    if (node := _children(mapping).get(last)) and isinstance(value, dict) and not node.flow_style:
        lines = _lines(value, "\n" + " " * node.start_mark.column)
        return node.start_mark.index, _end_of_line(text, node), lines.lstrip()
    if node:
        written = value if isinstance(value, str) and node.style is None else _flow(value)
        return node.start_mark.index, node.end_mark.index, written
    single = "" if isinstance(value, dict) else f"{last}: {_flow(value)}"
    if single and mapping.flow_style and mapping.value:
        return mapping.end_mark.index - 1, mapping.end_mark.index, f", {single}}}"
    if mapping.value:
        start = end = _end_of_line(text, mapping)
        column = mapping.value[-1][0].start_mark.column
    else:  # {}, which the first key replaces
        start, end = len(text[: mapping.start_mark.index].rstrip(" ")), mapping.end_mark.index
        column = 2 * len(parents)
    indent = "\n" + " " * column
    if single:
        return start, end, f"{indent}{single}"
    return start, end, f"{indent}{json.dumps(last)}:{_lines(value, f'{indent}  ')}"


def without_defaults(path: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new entry without the values that its file's defaults give it, and with the others."""
    defaults = _build_defaults(read_document(path).content)
    whole = {**entry, "build_args": entry.get("build_args", "")}
    return {key: value for key, value in whole.items() if key not in defaults or value != defaults[key]}


def _build_defaults(content: Any) -> dict[str, Any]:  # noqa: ANN401 - YAML
    """Return the values for the build of entries that leave a key out."""
    defaults = content.get("defaults") if isinstance(content, dict) else None
    given = defaults if isinstance(defaults, dict) else {}
    return {"build_args": "", **{key: given[key] for key in BUILD_DEFAULTS if key in given}}


def entry_text(name: str, entry: Mapping[str, Any]) -> str:
    """Return the text that `amend` writes for an entry."""
    return f"  {json.dumps(name)}:{_lines(entry, chr(10) + ' ' * 4)}"


def _lines(mapping: Mapping[str, Any], indent: str) -> str:
    """Return keys and values, a line each after `indent`."""
    return "".join(f"{indent}{key}: {_flow(item)}" for key, item in mapping.items())


def _children(mapping: yaml.MappingNode) -> dict[str | int, Any]:
    return {key.value: value for key, value in mapping.value}


def _end_of_line(text: str, node: yaml.Node) -> int:
    """Return the end of a mapping's last line: the mapping's own end mark follows any comments after it."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    end = text.find("\n", node.end_mark.index)
    return len(text) if end < 0 else end


def _flow(value: Any) -> str:  # noqa: ANN401 - YAML
    """Return a value on one line, text in quotes."""
    if isinstance(value, Unquoted):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def _with_values(content: Any, values: Mapping[KeyPath, Any]) -> Any:  # noqa: ANN401 - YAML
    changed = copy.deepcopy(content)
    for (*parents, last), value in values.items():
        mapping = changed
        for key in parents:
            mapping = mapping[key]
        mapping[last] = value
    return changed


Entries = Mapping[tuple[str, str], object]
"""Content of ``packages.yml`` and ``packages.lock``, by section and project."""


def changed_since(config: Config, reference: str, warn: Warn = lambda _text: None) -> frozenset[ProjectName]:
    """Return the packages that changed since a commit: in their entry, their lock, or a file that the entry names."""
    folder = config.directory
    commit = _base_of(folder, reference, warn)
    touched = run_git(folder, "diff", "--name-only", "--relative", "-z", commit).split("\0")
    was = _entries(config.file, lambda path: run_git(folder, "show", f"{commit}:./{path.name}").encode())
    now = _entries(config.file, Path.read_bytes)
    rewritten = {key[1] for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    return frozenset(
        name
        for name in config.packages
        if name in rewritten
        or any(path.is_relative_to(own) for own in _paths_in(now["packages", name]) for path in map(Path, touched))
    )


def added_torches(config: Config, reference: str) -> tuple[TorchVersion, ...]:
    """Return torches and candidates that ``compatibility.yml`` gained since a commit; none if it was unreadable."""
    folder = config.directory
    commit = _base_of(folder, reference)
    now = config.compatibility.torch
    try:
        before = run_git(folder, "show", f"{commit}:./{COMPATIBILITY}").encode()
        torch = parse_document(Path(COMPATIBILITY), before).content["torch"]
        was = {TorchVersion.parse(key) for section in ("releases", "candidates") for key in torch.get(section, ())}
    except (ProcessError, ConfigurationError, TypeError, LookupError, AttributeError, ValueError):
        return ()
    return tuple(sorted({*now, *now.candidates} - was))


def _base_of(folder: Path, reference: str, warn: Warn = lambda _text: None) -> str:
    """Return the merge base of HEAD and a reference: later commits of the reference are no changes of this checkout.

    After a force push that names the previous commit, no branch leads to that commit, and a new checkout lacks it.
    Then only the last commit is compared: everything would be too much, and a dispatch builds unpublished wheels.
    https://docs.github.com/en/webhooks/webhook-events-and-payloads#push
    """
    try:
        commit = run_git(folder, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()
        return run_git(folder, "merge-base", commit, "HEAD").strip()
    except ProcessError as error:
        if not is_commit(reference.lower()):  # a mistyped branch
            raise UsageError(
                "ref-unknown", f"--changed-since: git does not know {reference!r} in {folder}: {error.tail}"
            ) from None
    warn(
        f"--changed-since: {reference} is not in this checkout, as after a force push: only the last commit is compared"
        " with the one before it; 'wheelmill plan' without --changed-since has whatever is not published"
    )
    message = f"--changed-since: there is no commit before this one in {folder}"
    with raise_on_failure(UsageError("no-parent-commit", message)):
        return run_git(folder, "rev-parse", "--verify", "HEAD^").strip()


def _entries(packages: Path, read: Callable[[Path], bytes]) -> Entries:
    """Return the entries of a packages file, with its defaults for the build, and of its lock; none if unreadable."""
    entries: dict[tuple[str, str], object] = {}
    for path in (packages, lock_path(packages)):
        with suppress(OSError, ProcessError, ConfigurationError):
            content = parse_document(path, read(path)).content
            for section, projects in content.items() if isinstance(content, dict) else ():
                taken = _build_defaults(content) if section == "packages" else {}
                for name, entry in projects.items() if isinstance(projects, dict) else ():
                    entries[section, name] = taken | entry if isinstance(entry, dict) else entry
    return entries


def _paths_in(entry: object) -> Iterator[str]:
    """Yield the files and folders that an entry of ``packages.yml`` names."""
    if isinstance(entry, dict):
        yield from entry.get("patches", ())
        yield from (path for key in ("smoke_script", "source") if isinstance(path := entry.get(key), str))
