"""One line of a requirements file is what was meant, or it is refused."""

import pytest
from pip._internal.req.constructors import install_req_from_line
from pip._internal.req.req_file import get_line_parser, preprocess

from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line

HASH = f"--hash=sha256:{'1' * 64}"
URL = "demo @ https://h.example/demo-1-py3-none-any.whl"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("demo @ https://h.example/${SECRET}/demo-1-py3-none-any.whl", id="variable"),
        pytest.param(f"{URL} {HASH}", id="other-hash"),
        pytest.param(f"{URL} #", id="comment"),
        pytest.param(f"{URL};python_version<'3'", id="marker-in-url"),
        pytest.param("demo @ ;python_version<'3'", id="marker-for-url"),
        pytest.param(f"{URL} ; python_version<'3'#", id="marker-with-comment"),
        pytest.param("demo ; platform_version != ' --index-url=https://evil.example/ '", id="option-in-marker"),
        pytest.param("demo ; platform_version != ' #'", id="comment-in-marker"),
        pytest.param("demo ; platform_version != '${SECRET}'", id="variable-in-marker"),
        pytest.param("demo ; platform_version != 'a\\'", id="backslash-in-marker"),
        *(
            pytest.param(f"{URL}{end}--index-url=https://evil.example/", id=f"line-break-{ord(end):x}")
            for end in "\n\r\v\f\x1c\x85\u2028\u2029"
        ),
        pytest.param("--index-url=https://evil.example/", id="option"),
        pytest.param("-r", id="leading-hyphen"),
        pytest.param("# demo", id="comment-alone"),
        pytest.param("demo[x;y]", id="marker-in-extra"),
        pytest.param("demo demo", id="two-names"),
        pytest.param("./demo", id="path"),
    ],
)
def test_a_text_that_pip_would_read_as_more_than_a_requirement_is_refused(text: str) -> None:
    with pytest.raises(UsageError, check=coded("requirement-ambiguous")):
        requirements_line(text, HASH)


def test_a_line_does_not_go_on_in_the_next_one() -> None:
    with pytest.raises(UsageError, check=coded("requirement-ambiguous")):
        requirements_line(f"{URL}\\")


@pytest.mark.parametrize(
    "option",
    [
        "--extra-index-url https://h.example/a b",
        "--extra-index-url https://h.example/ --index-url=https://evil.example/",
        "--extra-index-url https://h.example/${SECRET}/",
        "--extra-index-url https://h.example/ #",
        "--extra-index-url https://h.example/\n-r evil.txt",
        "--extra-index-url 'https://h.example/",
    ],
)
def test_the_address_of_an_index_stays_one_word(option: str) -> None:
    with pytest.raises(UsageError, check=coded("requirement-ambiguous")):
        requirements_line("", option)


@pytest.mark.parametrize(
    "text",
    [
        *("demo==1!2.0+cu130torch2.11", "demo[a,b-c]>=1,<2", f"{URL}#sha256={'1' * 64}"),
        *(f"{URL} ; python_version == '3.12' and sys_platform == \"linux\"", "demo ; python_version<'3.13'"),
        *("demo;python_version<'3.13'", "demo @ file:///a%20b%23c%3Fd%25e%24%7BX%7D%C3%A9/demo-1-py3-none-any.whl"),
        "demo @ https://h.example/$HOME/~a/!b/(c)/'d'/*,=&@:+/demo-1-py3-none-any.whl",
    ],
)
def test_pip_reads_what_was_written(text: str) -> None:
    ((_, line),) = preprocess(requirements_line(text, HASH))
    args, options = get_line_parser(None)(line)
    read = install_req_from_line(args)
    wanted = install_req_from_line(text)
    assert (read.req, read.markers, read.link) == (wanted.req, wanted.markers, wanted.link)
    assert options.hashes == {"sha256": ["1" * 64]}


def test_pip_reads_the_address_of_an_index() -> None:
    ((_, line),) = preprocess(requirements_line("", "--extra-index-url https://h.example/a%20b/simple/"))
    args, options = get_line_parser(None)(line)
    assert (args, options.extra_index_urls) == ("", ["https://h.example/a%20b/simple/"])
