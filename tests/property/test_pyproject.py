"""Whatever a ``pyproject.toml`` holds: adding and removing packages leaves the rest as it is."""

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.pyproject import UvPyproject
from wheelmill.names import project_name

DEMO = project_name("demo-gpu")

comments = st.just("") | st.text(alphabet='ab [x]"=#{},', max_size=9).map(lambda text: f"# {text}x")
others = st.sampled_from(["rich", "numpy>=1.26", "a @ https://x.example/a.whl", "b[c]; python_version < '3.13'", "z_z"])
own = st.sampled_from(["demo-gpu", "Demo_GPU>=0.9", "demo.gpu[x]==1.*"])
tails = st.lists(
    st.sampled_from(
        [
            "[tool.ruff]  # wide\nline-length = 100\n",
            '[tool.poetry.group.dev.dependencies]\npytest = { version = "^8", optional = true } # tests\n',
            "[[tool.mypy.overrides]]\nmodule = 'x.*'\n\n[[tool.mypy.overrides]]\nmodule = \"y\"\n",
            '# before\n[[tool.uv.index]]\nname = "own"\nurl = "https://own.example/simple"\nexplicit = true\n',
            '[tool.uv.sources]\nrich = { index = "own" }  # ours\n',
            "[dependency-groups]\ndev = [\n  'pytest', # tests\n]\n",
        ]
    ),
    unique=True,
)
pins = st.sampled_from(
    [
        [Pin(requirement="demo-gpu @ https://x.example/demo_gpu-1-py3-none-any.whl#sha256=00")],
        [Pin(requirement="demo-gpu==1+cu130", index=Index(name="wheelmill-x", url="https://x.example/simple/"))],
        [Pin(requirement=f"demo-gpu=={minor}", marker=f"python_version == '3.{minor}'") for minor in (12, 13)],
    ]
)


def lines_of(requirements: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    line = st.builds(lambda text, comment: f'    "{text}",{comment}\n', requirements, comments)
    return st.lists(line | comments.map("    {}\n".format), max_size=6)


def document(lines: list[str], tail: list[str]) -> str:
    return "".join(('# about\n[project]\nname = "x"  # name\ndependencies = [\n', *lines, "]\n\n", "\n".join(tail)))


def read(text: str) -> UvPyproject:
    pyproject = UvPyproject(Path("pyproject.toml"))
    pyproject._load(text)  # noqa: SLF001 - as from a file
    return pyproject


def besides_ours(text: str) -> dict[str, Any]:
    """What a document says of anything but the package and its index."""
    content = tomllib.loads(text)
    kept = [each for each in content["project"]["dependencies"] if not each.lower().startswith("demo")]
    content["project"]["dependencies"] = kept
    uv = content.get("tool", {}).pop("uv", {})
    sources = {name: source for name, source in uv.get("sources", {}).items() if name != DEMO}
    indexes = [index for index in uv.get("index", []) if not index["name"].startswith("wheelmill-")]
    return content | {"tool": content.get("tool", {}), "sources": sources, "indexes": indexes}


def written_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@given(lines_of(others), tails, pins)
def test_what_is_added_and_removed_leaves_no_trace(lines: list[str], tail: list[str], chosen: list[Pin]) -> None:
    before = document(lines, tail)
    pyproject = read(before)

    pyproject.pin(DEMO, chosen)
    added = read(pyproject.text)
    added.pin(DEMO, [])

    assert written_lines(added.text) == written_lines(before)


@given(lines_of(others), lines_of(others | own), tails, pins)
def test_everything_else_is_as_it_was(first: list[str], rest: list[str], tail: list[str], chosen: list[Pin]) -> None:
    before = document([*first, '    "demo-gpu>=0.1",  # the one\n', *rest], tail)
    pyproject = read(before)

    pyproject.pin(DEMO, chosen)

    had, ours = (
        [each for each in read(text).requirements if canonicalize_name(each.name) == DEMO]
        for text in (before, pyproject.text)
    )
    extras = {extra for each in had for extra in each.extras}
    assert all(each.extras == extras for each in ours)
    for each in ours:
        each.extras.clear()
    assert ours == [Requirement(pin.dependency) for pin in chosen]
    assert besides_ours(pyproject.text) == besides_ours(before)
    assert [line for line in first + tail if line.strip() and line not in pyproject.text] == []
