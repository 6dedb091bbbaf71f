"""Indexes that were made to break whoever reads them: findings, and no crash."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.broken_indexes import FAULTY, Spoil
from tests.good_index import WHEEL, Index
from tests.simple_server import Answer
from tests.unit.conformance.conftest import Serve, check, detail, numbers
from wheelmill.conformance import survey
from wheelmill.conformance.survey import check_folder
from wheelmill.names import project_name

DIGITS = "9" * 5000
"""More than Python turns into a number: https://docs.python.org/3/library/stdtypes.html#int-max-str-digits"""


def answering(answer: Answer) -> Spoil:
    """Give this answer to whoever asks for the newer wheel."""

    def spoil(index: Index) -> None:
        index.after = lambda server: server.html.update({f"/files/{WHEEL}": answer})

    return spoil


def packed_by_lzma(index: Index) -> None:
    """Serve a wheel whose METADATA was packed by LZMA and broken since."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("demo-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\n" * 50)
    content = wheel.getvalue()
    middle = content.index(b"METADATA") + 20
    answering(Answer(content[:middle] + bytes(20) + content[middle + 20 :]))(index)


def named_by_digits(index: Index) -> None:
    """Serve a wheel with a version of thousands of digits in the name of its folder."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("METADATA", "WHEEL", "RECORD"):
            archive.writestr(f"demo-{DIGITS}.dist-info/{name}", b"")
    answering(Answer(wheel.getvalue()))(index)


@pytest.mark.parametrize(
    ("number", "spoil"),
    [
        ("629.3", detail("", f'<meta name="pypi:repository-version" content="{DIGITS}.0">')),
        ("503.15", detail(f"<a href='demo-{DIGITS}-py3-none-any.whl'>demo-{DIGITS}-py3-none-any.whl</a>")),
        ("503.15", detail(f"<a href='demo-{DIGITS}.tar.gz'>demo-{DIGITS}.tar.gz</a>")),
        ("700.1", lambda index: index.detail.update(versions=["0.9", DIGITS])),
        ("503.9", answering(Answer(status=503, headers={"Retry-After": f"Thu, 01 Jan 2026 00:00:00 +{DIGITS[:14]}"}))),
        ("503.10", packed_by_lzma),
        ("427.3", named_by_digits),
    ],
)
def test_what_no_program_can_read_is_a_finding(number: str, spoil: Spoil, serve: Serve) -> None:
    assert number in numbers(check(serve(spoil)))


def test_a_link_that_no_file_of_a_folder_can_have_leads_nowhere(tmp_path: Path) -> None:
    page = tmp_path / "simple" / "demo" / "index.html"
    page.parent.mkdir(parents=True)
    (page.parents[1] / "index.html").write_text('<!DOCTYPE html><a href="demo/">demo</a>')
    names = [f"{'x' * 5000}.whl", f"{'x/' * 5000}x.whl", "a%00b.whl"]
    page.write_text("<!DOCTYPE html>" + "".join(f'<a href="{name}">{name}</a>' for name in names))
    broken = [violation.rule.number for violation in check_folder(tmp_path).violations]
    assert broken.count("503.9") == len(names)


def test_pages_that_list_too_much_for_memory_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_KEPT", 100)
    names = [f"demo{number}" for number in range(5)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("".join(f"<a href={name}-{n}.tar.gz>" for n in range(50)))
    report = check_folder(tmp_path, projects=[*map(project_name, names)])
    unread = [(it.url, it.message) for it in report.violations if it.rule.number == "wheelmill.1"]
    message = "the page is not read: those before it have more than 100 files and faults"
    assert unread == [(f"{name}/", message) for name in names[1:]]
    assert report.files == 50


def test_a_page_of_nearly_nothing_but_faults_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    bodies = {"between": b"<a href=x.whl>x.whl</a>", "faulty": FAULTY, "last": b"<a href=y>"}
    for name, body in bodies.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_bytes(b"<!DOCTYPE html>" + body)
    report = check_folder(tmp_path, projects=[*map(project_name, bodies)])
    assert [(it.rule.severity, it.url, it.message) for it in report.violations if it.rule.number == "wheelmill.1"] == [
        ("error", "faulty/", "the page has more than 10,000 faults")
    ]
    assert (report.pages, report.files) == (3, 2)
