"""A command of the client: how much it prints, and the defaults of its options in a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from wheelmill.cli.shared.commands import Command, say, verbosity_option
from wheelmill.errors import UsageError

if TYPE_CHECKING:
    from typer._click.core import Context  # typer has no public name for it

_RECORDS: Final = frozenset({"extra", "packages", "required", "sources", "torch-as-written", "torch-for", "torch-was"})
"""Keys in which the editors of ``pyproject.toml`` keep their records."""
_SOURCES: Final = ("source", "index")
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "WHEELMILL_SOURCES": _SOURCES,
    "UV_PYTHON": ("python",),
    "UV_TORCH_BACKEND": ("cuda",),
    "UV_CUDA_DRIVER_VERSION": ("driver",),
}
"""Options in whose place a variable stands, before a default."""


class ClientCommand(Command):
    """Command with -q and -v, whose options have their defaults in ``[tool.wheelmill]``."""

    def __init__(self, *args: Any, params: Any, **more: Any) -> None:  # noqa: ANN401 - as typer has it
        super().__init__(*args, params=[*params, verbosity_option()], **more)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse a command line; neither help nor a command without groups of options needs a project."""
        has_groups = any(getattr(each, "rich_help_panel", None) for each in self.params)
        if has_groups and not ctx.resilient_parsing and not {"-h", "--help"} & {*args}:
            given, _, _ = self.make_parser(ctx).parse_args([*args])
            ctx.default_map = _defaults(given)
        return super().parse_args(ctx, args)


def _defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the defaults of options in the named or the nearest project; ``given`` ones and variables come before."""
    start = Path(given.get("project") or ".").absolute()
    places = (folder / "pyproject.toml" for folder in (start, *start.parents))
    path = next((place for place in places if place.is_file()), None)
    taken = {name for variable in _VARIABLES if os.environ.get(variable) for name in _VARIABLES[variable]}
    taken |= {*_SOURCES} if any(given.get(name) for name in _SOURCES) else set()
    return {name: value for name, value in (_settings(path) if path else {}).items() if name not in taken}


def _settings(path: Path) -> dict[str, Any]:
    """Read ``[tool.wheelmill]``, whose keys are options; empty if the file is no TOML, which others report."""
    import tomllib  # help reads no project

    from wheelmill.system.files import read_bounded

    try:
        table = dict(tomllib.loads(read_bounded(path).decode("utf-8-sig"))["tool"]["wheelmill"])
    except (OSError, UsageError, ValueError, RecursionError, LookupError, TypeError):
        return {}
    import msgspec

    from wheelmill.cli.client.resolve import SearchOptions
    from wheelmill.cli.shared.options import TargetOptions
    from wheelmill.client.environment.interpreter import find_distrust

    if reason := find_distrust(path):
        say(f"note: the settings in tool.wheelmill are ignored, as others may change them: {reason}")
        return {}
    target, settings = get_type_hints(TargetOptions), dict[str, Any]()
    hints = {name.replace("_", "-"): hint for name, hint in (target | get_type_hints(SearchOptions)).items()}
    del hints["python-path"]
    for key in sorted(table.keys() - _RECORDS):
        name, place = key.replace("-", "_"), f"{path}: tool.wheelmill.{key}"
        if key not in hints:
            raise UsageError("setting-unknown", f"{place}: no such key", hint=f"name one of {', '.join(sorted(hints))}")
        try:
            settings[name] = msgspec.convert(table[key], (get_args(hints[key]) or (hints[key],))[0])
            if name in target:
                TargetOptions(**{name: settings[name]}).overrides()
        except (msgspec.ValidationError, UsageError) as error:
            raise UsageError("setting-invalid", f"{place}: {error}") from None
    return settings
