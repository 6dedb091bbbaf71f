"""``wheelmill show``: contents and metadata of a wheel, or of two compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from wheelmill.cli.shared.commands import JsonOption, print_json
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.client.choose.wheel_summary import (
    CodeInside,
    CodeSummary,
    WheelContents,
    WheelFacts,
    contents_at,
    contents_behind,
)
from wheelmill.client.variants.machine import property_text
from wheelmill.errors import UsageError
from wheelmill.system.process import printable
from wheelmill.system.progress import number_of, size
from wheelmill.web.budget import TIMEOUT_S
from wheelmill.wheel.build_facts import BuildFacts, Sbom, SourceFacts
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.gpu_code import KernelReader
from wheelmill.wheel.label import torch_in_json, words_for
from wheelmill.wheel.name import WHEEL_SUFFIX
from wheelmill.wheel.shared_objects import CodeBudget
from wheelmill.wheel.stable_abi import compare_with_stable_abi
from wheelmill.wheel.torch_symbols import name_in
from wheelmill.wheel.variant import Properties

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import WheelShown


_PACKED: Final = "wheel, packed"


def _comparison(wheel: WheelFacts, other: WheelFacts) -> Iterator[str]:
    """Yield a line for each part of either wheel: packed as a whole, then unpacked by content."""
    yield wheel["filename"]
    yield f"beside {other['filename']}"
    gpu_code = (name for facts in (wheel, other) if facts["sizes"] for name in facts["sizes"].gpu_code)
    columns = [(_parts(facts), "-" if facts["sizes"] else "not read") for facts in (wheel, other)]
    for name in dict.fromkeys((_PACKED, *gpu_code, *columns[0][0], *columns[1][0])):
        first, second = (size(parts[name]) if name in parts else absent for parts, absent in columns)
        yield f"  {name:<18}{first:>10}{second:>12}"


def _parts(facts: WheelFacts) -> Mapping[str, int]:
    return {_PACKED: facts["size"], **(facts["sizes"].parts if facts["sizes"] else {})}


_MAX_SYMBOLS: Final = 100
"""Number of symbols of one counterpart that are printed; ``--json`` has all."""

_LARGEST: Final = 5
"""Files that are shown for people; --json has all."""


def show(
    wheel: Annotated[
        str,
        typer.Argument(help="A wheel's file, its URL, or an installed package.", metavar="WHEEL", show_default=False),
    ],
    *,
    beside: Annotated[
        str | None,
        typer.Option(help="Another wheel, file or URL: compare the size of each part.", metavar="OTHER"),
    ] = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="Also list its GPU kernels.")] = False,
    stable: Annotated[bool, typer.Option("--stable", help="Also compare it with torch's stable ABI.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the content and the metadata of a wheel, or the target of an installed package, without running it.

    For a wheel on a server, only the needed parts are downloaded.
    """
    if not (wheel.endswith(WHEEL_SUFFIX) or {"/", "\\", ":"} & {*wheel} or Path(wheel).exists()):
        from wheelmill.cli.client.list_and_test import print_installed

        print_installed([wheel], TargetOptions(), as_json=as_json)
        return
    contents = _contents_of(wheel, kernels=kernels)
    other = _contents_of(beside, kernels=kernels) if beside is not None else None
    if as_json:
        content = partial(_content, kernels=kernels, stable=stable)
        beside_it = {"beside": content(other)} if other else {}
        print_json({"schema": "wheelmill.show/1", **content(contents), **beside_it})
        return
    if other:
        print("\n".join(map(printable, _comparison(contents.facts, other.facts))))
        return
    print(printable(f"{contents.name.project} {contents.name.version}"))
    asked = (*(_kernel_lines(contents) if kernels else ()), *(_stable_lines(contents) if stable else ()))
    for heading, text in (*_lines(contents), *asked):
        print(printable(f"  {heading:<13} {' '.join(text.splitlines())}"))  # no text makes lines of its own


def _contents_of(wheel: str, *, kernels: bool) -> WheelContents:
    budget = CodeBudget(kernels=KernelReader() if kernels else None)
    if wheel.lower().startswith(("http://", "https://")):
        from wheelmill.web.client import ATTENDED, Web

        with Web(retries=ATTENDED, seconds=TIMEOUT_S) as web:
            return contents_behind(wheel, web, budget)
    if not Path(wheel).is_file():
        raise UsageError(
            "no-wheel-file",
            f"expected a wheel's file or its URL, and there is no file {wheel!r}",
            hint="'wheelmill explain PROJECT' shows a project's wheels, 'wheelmill list' what is installed",
        )
    return contents_at(Path(wheel), budget)


def _lines(contents: WheelContents) -> Iterator[tuple[str, str]]:
    name, facts = contents.name, contents.facts
    yield "file", f"{facts['filename']}, {size(facts['size'])}"
    if facts["sha256"]:
        yield "sha256", facts["sha256"]
    if facts["summary"]:
        yield "summary", facts["summary"].partition("\n")[0]
    yield "for", ", ".join(sorted(map(str, name.tags)))
    torch = words_for(contents.torch) if contents.torch else contents.label.torch_words
    yield "built for", ", ".join(filter(None, (str(contents.label), torch)))
    yield from (("variant", text) for text in _variants(facts["variants"]))
    if facts["driver"]:
        yield "driver", f"{facts['driver']} or newer, on Linux"
    python = [] if facts["requires_python"] is None else [f"Python {facts['requires_python']}"]
    yield "requires", ", ".join([*python, *facts["requires_dist"]]) or "nothing"
    licence = facts["licence"] or (facts["built"].licence if facts["built"] else None) or "not stated"
    yield "licence", f"{licence}; {', '.join(facts['licence_files']) or 'no licence file inside'}"
    if contents.code is None:
        yield "code", "not read: more than is read from a server; download the wheel to see it"
    else:
        yield from _code_lines(contents.code)
    if facts["sizes"]:
        yield "unpacked", str(facts["sizes"])
    if facts["bundled"]:
        yield "bundled", ", ".join(facts["bundled"])
    if facts["built"]:
        yield from _build_lines(facts["built"])
    for sbom in facts["sboms"]:
        yield "SBOM", _sbom_line(sbom)
    if not facts["sboms"]:
        yield "SBOM", "none inside"
    yield "files", f"{len(facts['files'])}, {size(sum(facts['files'].values()))} unpacked; the largest:"
    largest = sorted(facts["files"].items(), key=lambda each: (-each[1], each[0]))[:_LARGEST]
    yield from (("", f"{size(each):>9}  {member}") for member, each in largest)


def _variants(variants: Mapping[str, Properties]) -> Iterator[str]:
    for label, namespaces in variants.items():
        asked = (
            property_text(namespace, feature, values)
            for namespace, features in namespaces.items()
            for feature, values in features.items()
        )
        yield "; ".join((label, *asked))


def _code_lines(code: CodeSummary) -> Iterator[tuple[str, str]]:
    facts = code.facts
    if not facts["shared_objects"]:
        yield "code", "none that is compiled"
        return
    yield "code", f"{number_of(facts['shared_objects'], 'shared object')}; {code.inside}"
    if facts["gpus"]:
        yield "GPUs", "; ".join(f"{gpu} ({on['runs']}) {', '.join(on['cards'])}" for gpu, on in facts["gpus"].items())
    yield "needs", ", ".join(facts["needed"]) or "no library from outside"
    if facts["folders_outside"]:
        folders = ", ".join(folder or "the working folder" for folder in facts["folders_outside"])
        yield "looks in", f"{folders}, outside of its environment"
    if facts["holds_cuda_runtime"]:
        yield "CUDA runtime", "linked in"
    if facts["compilers"]:
        yield "compilers", ", ".join(facts["compilers"])


def _kernel_lines(contents: WheelContents) -> Iterator[tuple[str, str]]:
    """Yield the groups of kernels: the first of a file, which has the most code, by its number, the others by name."""
    file = None
    for group in contents.code.kernels if contents.code else ():
        is_first, file = group["file"] != file, group["file"]
        if is_first:
            yield "kernels", file
        text = "not read: packed with Zstandard, damaged or too much"
        if (names := group["names"]) is not None:
            named = "" if is_first else f": {some_of(list(dict.fromkeys(map(name_in, names))))}"
            text = f"{number_of(len(names), 'kernel')}{named}"
        yield "", f"  {' '.join(group['code'])}: {text}"


def _stable_lines(contents: WheelContents) -> Iterator[tuple[str, str]]:
    """Yield the distance from torch's stable ABI, and the symbols outside of it by their counterpart there."""
    if contents.code is None or (report := compare_with_stable_abi(contents.code.undefined)) is None:
        return
    yield "stable ABI", str(report)
    for group in report.outside:
        torch = f", from torch {group.torch} on" if group.torch else ", any torch" if group.instead else ""
        more = f" and {len(group.names) - _MAX_SYMBOLS:,} more" if len(group.names) > _MAX_SYMBOLS else ""
        yield "", f"  {group.instead or 'no counterpart'}{torch}: {', '.join(group.names[:_MAX_SYMBOLS])}{more}"


def _build_lines(built: BuildFacts) -> Iterator[tuple[str, str]]:
    yield "source", _source_line(built.source)
    if built.patches:
        yield "patches", ", ".join(f"{patch.file} (sha256 {patch.sha256})" for patch in built.patches)
    torch = f", torch {built.torch}" if built.torch else ""
    standard = f", C++{built.cxx_standard}" if built.cxx_standard else ""
    yield "built with", f"CUDA toolkit {built.toolkit}{torch}, Python {built.python}{standard}"
    yield "flags", " ".join(f"{name}={value!r}" for name, value in built.variables.items())
    if built.images:
        yield "built in", ", ".join(built.images)
    yield "built by", f"wheelmill {built.wheelmill}"


def _source_line(source: SourceFacts) -> str:
    match source.kind:
        case "sdist":
            return f"{source.sdist}, sha256 {source.sha256}"
        case "commit":
            below = f", folder {source.subdirectory}" if source.subdirectory else ""
            return f"{source.repository or 'a repository on disk'} at {source.commit} ({source.ref}){below}"
        case "folder":
            return f"a folder, sha256 of its files {source.sha256}"


def _sbom_line(sbom: Sbom) -> str:
    if sbom.fault:
        return f"{sbom.member} cannot be read: {sbom.fault}"
    contained = [f"{each.name} {each.version or ''}".strip() for each in sbom.contained]
    inside = some_of(contained) or "nothing of others"
    return f"{sbom.member}: {sbom.form}; inside: {inside}; for the build: {len(sbom.components) - len(contained)}"


def _content(contents: WheelContents, *, kernels: bool, stable: bool) -> WheelShown:
    name, code = contents.name, contents.code
    label = contents.label
    return {
        **contents.facts,
        **torch_in_json(contents.torch),
        "project": name.project,
        "version": str(name.version),
        "build": "".join(map(str, name.build)) or None,
        "tags": sorted(map(str, name.tags)),
        "cuda": label.cuda,
        "cuda_major": label.cuda_major,
        "code": None if code is None else _code_content(code, kernels=kernels, stable=stable),
    }


def _code_content(code: CodeSummary, *, kernels: bool, stable: bool) -> CodeInside:
    content = code.facts.copy()
    if kernels:
        content["kernels"] = code.kernels
    if stable:
        content["stable_abi"] = compare_with_stable_abi(code.undefined)
    return content
