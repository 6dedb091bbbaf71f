"""Requirements that are written into a file: pip's own reader finds them again, or they are refused."""

from packaging.requirements import Requirement
from pip._internal.req.constructors import install_req_from_line
from pip._internal.req.req_file import get_line_parser, preprocess

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated_text
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line

TEXTS = [
    "demo[a,b]>=1,<2 ; python_version < '3.13'",
    "demo @ https://files.example/demo-1.0-py3-none-any.whl#sha256=" + "a" * 64,
    "demo==1!2.0+cu130 ; platform_version != ' '",
]
WORDS = [*"#;-=@${}'\"\\[],()", "--", "==", "${HOME}", "--hash=sha256:00", "--index-url=https://evil.example/", "-r"]
WORDS += [" ", " #", " ;", " -", " --hash=sha256:00", "\\\n", "\n", "\r", "\f", "\x85", "\u2028", "\t", "\0", " and "]
WORDS += ["(" * 900, "(" * 20_000, "/" * 5000]
HASH = "--hash=sha256:" + "1" * 64


def read(text: str) -> None:
    if not text:  # an option alone
        raise UsageError("text-empty", "there is no requirement")
    line = requirements_line(text, HASH)
    ((_, whole),) = preprocess(f"{line}\n")
    args, options = get_line_parser(None)(whole)
    found, meant = install_req_from_line(args), Requirement(text)
    assert (str(found.req).partition(" ;")[0], str(found.markers or ""), options.hashes) == (
        str(install_req_from_line(str(meant)).req).partition(" ;")[0],
        str(meant.marker or ""),
        {"sha256": ["1" * 64]},
    )


FORMAT = Format(inputs=mutated_text(TEXTS, WORDS), read=read)
