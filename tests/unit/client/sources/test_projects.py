"""What a name that no source has is answered with."""

import json

import pytest

from tests.page_server import Answer, PageServer, links_page
from tests.unit.client.conftest import TARGET
from wheelmill.cli import main
from wheelmill.client.choose.combinations import find_offer
from wheelmill.client.choose.explain import explain
from wheelmill.client.choose.resolve import Search, resolve
from wheelmill.names import project_name, read_requirement, words_like
from wheelmill.web.pages import JSON_TYPE

WHEEL = "flash_attn-2.8+cu128torch2.8-cp312-cp312-linux_x86_64.whl"


def advice(name: str, *sources: str, offline: bool = False) -> str | None:
    search = Search(named=sources, offline=offline, look=False)
    return resolve([read_requirement(name)], TARGET, search).unresolved[project_name(name)].suggestion


def test_a_slip_is_answered_with_a_name_on_the_pages_that_were_read(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    page = f"find-links:{server.url}/wheels/"
    assert advice("flash-atn", page) == advice("flash", page) == "did you mean flash-attn?"
    assert advice("flash-atn", page, offline=True) == "did you mean flash-attn?"
    search = Search(named=[page], look=False)
    absence = explain(read_requirement("flashattn"), TARGET, search).absence
    assert absence
    assert absence.suggestion == "did you mean flash-attn?"
    offer = find_offer(project_name("flash_attention"), TARGET.platform, TARGET, search)
    assert offer.absence.suggestion == "did you mean flash-attn?"


def test_nothing_is_meant_by_a_name_that_is_like_no_other(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    page = f"find-links:{server.url}/wheels/"
    assert "did you mean" not in str(advice("numpy", page))
    assert resolve([read_requirement("flash-attn")], TARGET, Search(named=[page], look=False)).choices


LISTS = {
    "text/html": b'<a href="flash-attn/">flash_attn</a><a href="../">up</a><a href="\x1b[2J/">x</a>',
    JSON_TYPE: json.dumps({"meta": {"api-version": "1.0"}, "projects": [{"name": "Flash.Attn"}]}).encode(),
}


@pytest.mark.parametrize("content_type", LISTS)
def test_an_index_is_asked_for_its_projects_once_a_name_is_wrong(server: PageServer, content_type: str) -> None:
    server.pages["/simple/"] = Answer(LISTS[content_type], headers={"Content-Type": content_type})
    index = f"simple:{server.url}/simple/"
    assert advice("flash-atn", index) == "did you mean flash-attn?"
    asked = len(server.asked)
    assert advice("flash-atn", index, offline=True) == "did you mean flash-attn?"
    assert len(server.asked) == asked


def test_a_shell_is_offered_what_is_known(
    server: PageServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_WHEELMILL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_CWORD", "2")
    server.pages["/wheels/"] = Answer(links_page(WHEEL, "flash$(touch x)-1.0-py3-none-any.whl"))
    page = f"find-links:{server.url}/wheels/"

    def offered(command: str, typed: str, sources: str = page) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", f"wheelmill {command} {typed}")
        monkeypatch.setenv("WHEELMILL_SOURCES", sources)
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        return capsys.readouterr().out.split()

    assert offered("resolve", "fl") == []
    advice("other", page)
    asked = len(server.asked)
    for command in ("resolve", "add", "install", "lock", "explain", "available", "doctor"):
        assert offered(command, "fl") == ["flash-attn"]
    assert offered("resolve", "x") == offered("resolve", "fl", "no-such-file.yml") == []
    assert len(server.asked) == asked


@pytest.mark.parametrize("answer", [b"", b"{", b"\xff\xfe", b"[" * 5000])
def test_an_index_that_gives_no_list_says_nothing(server: PageServer, answer: bytes) -> None:
    server.pages["/simple/"] = Answer(answer, headers={"Content-Type": JSON_TYPE})
    assert "did you mean" not in str(advice("flash-atn", f"simple:{server.url}/simple/"))


def test_a_slip_has_few_answers() -> None:
    assert words_like("mamba", ["mamba-ssm", "mamba", "other"]) == ["mamba", "mamba-ssm"]
    assert words_like("sage", ["sageattention", "torch"]) == ["sageattention"]
    assert words_like("", ["torch"]) == words_like("xyz", ["torch"]) == []
