"""Texts from outside in the files of users: the parsers of their readers find them again, or nothing is written."""

import re
import tomllib
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from packaging.pylock import Package, PackageWheel, Pylock
from packaging.requirements import Requirement
from packaging.version import Version
from pip._internal.req.constructors import install_req_from_line
from pip._internal.req.req_file import get_line_parser, preprocess

from wheelmill.client.lock.files import pylock_text
from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.pyproject import UvPyproject
from wheelmill.client.project.requirements import RequirementsFile
from wheelmill.client.project.script import ScriptEditor
from wheelmill.client.project.tools import PdmPyproject, PoetryPyproject
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import project_name

DEMO = project_name("demo")
texts = st.lists(
    st.sampled_from(
        [
            *(
                *("a", "1", "/", "-", "--", " ", "  ", " #", "#", ";", " ; ", "@", "[", "]", "$", "${HOME}", "{"),
                *("}", "~", "!"),
            ),
            *(
                *("\\", "\\\n", "\n", "\r", "\t", "\0", "\x0c", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "é"),
                *("%0A", "%"),
            ),
            *(
                *("'", '"', '"""', "'''", "=", "==1", " --hash=sha256:00", " --index-url=https://e", " -r x"),
                *("# ///", "]]"),
            ),
            *(" @ https://h/a.whl", "python_version<'3'", " and ", "# >>> wheelmill add", "[tool.uv]", "x = 1"),
        ]
    ),
    max_size=8,
).map("".join)
"""What means something in one of the grammars."""
SCRIPT_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""https://packaging.python.org/en/latest/specifications/inline-script-metadata/#reference-implementation"""


@given(texts, st.lists(st.sampled_from(["--hash=sha256:00", "--hash=sha512:1"]), unique=True))
def test_pip_reads_a_line_of_requirements_as_it_was_meant(text: str, options: list[str]) -> None:
    requirement = f"demo{text}"
    try:
        line = requirements_line(requirement, *options)
    except UsageError:
        return
    ((_, whole),) = preprocess(f"{line}\n")
    args, read = get_line_parser(None)(whole)
    found, meant = install_req_from_line(args).req, Requirement(requirement)
    assert str(found) == str(meant)
    assert (args.strip(), sorted(read.hashes or ())) == (
        requirement,
        sorted({each[7:].split(":")[0] for each in options}),
    )


@given(texts)
def test_marks_and_comments_stay_lines(text: str) -> None:
    file = RequirementsFile(path=Path("requirements.txt"), command="add", before=("rich\n",), after=("numpy\n",))
    with suppress(UsageError):
        content = file.with_ours([f"# source of demo: {text}", "demo==1"]).decode()
        assert [line for _, line in preprocess(content)] == ["rich", "demo==1", "numpy"]


@given(texts, texts)
def test_tables_hold_what_was_put_into_them(name: str, text: str) -> None:
    url = f"https://h.example/{text}"
    pins = [Pin(requirement="demo==1", index=Index(name=f"wheelmill-{name}", url=url))]
    for editor in (UvPyproject, PdmPyproject, PoetryPyproject):
        pyproject = editor(Path("pyproject.toml"))
        pyproject.pin(DEMO, pins)
        pyproject.keep_source(DEMO, [text])
        tool = tomllib.loads(pyproject.text)["tool"]
        (index,) = next(
            tool[key][word] for key, word in (("uv", "index"), ("pdm", "source"), ("poetry", "source")) if key in tool
        )
        assert (index["name"], index["url"]) == (f"wheelmill-{name}", url)
        assert tool["wheelmill"]["sources"] == {"demo": [text]}


@given(texts.filter(str.isprintable), texts)
def test_the_block_of_a_script_holds_what_was_put_into_it(text: str, code: str) -> None:
    script = ScriptEditor(Path("train.py"))
    with suppress(UsageError):
        script._load(code)  # noqa: SLF001 - as from a file
    try:
        script.keep_source(DEMO, [text])
        written = script.text
    except UsageError:
        return
    block = next(each for each in SCRIPT_BLOCK.finditer(written) if each["type"] == "script")
    content = "".join(
        line[2:] if line.startswith("# ") else line[1:] for line in block["content"].splitlines(keepends=True)
    )
    assert tomllib.loads(content)["tool"]["wheelmill"]["sources"] == {"demo": [text]}


@given(texts)
def test_a_lock_holds_what_was_put_into_it(text: str) -> None:
    wheel = PackageWheel(name="demo-1-py3-none-any.whl", url=f"https://h.example/{text}", hashes={"sha256": "0"})
    lock = Pylock(
        lock_version=Version("1.0"),
        created_by="wheelmill",
        packages=[Package(name=DEMO, version=Version("1"), index=text, wheels=[wheel])],
    )
    (package,) = Pylock.from_dict(tomllib.loads(pylock_text(lock).decode())).packages
    assert (package.index, package.wheels) == (text, [wheel])
