"""What README and docs promise is there, and each command they show is run by a test."""

import ast
import itertools
import re
import shlex
from functools import cache
from pathlib import Path
from urllib.parse import urldefrag

import pytest
import typer
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from myst_parser.mdit_to_docutils.base import default_slugify

from tests import install_pages
from tests.shown_commands import shown_in
from wheelmill.cli import application
from wheelmill.cli.shared.commands import CommandsWithDefault
from wheelmill.pipeline.summary_text import WORDS
from wheelmill.wheel.findings import Code

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

GENERATED = {"messages.md", "commands.md"}
WIDTH = 125

RUN_BY = {
    "scripts/image debian:trixie-slim": "real/test_docker_build.py",
    'docker run --rm --volume "$PWD:/work" wheelmill plan': "real/test_docker_build.py",
    "wheelmill --install-completion": "real/test_completion.py",
    "scripts/quickstart": "real/test_quickstart.py",
    "scripts/test": "../.ci/run",
    "wheelmill run torch-spline-conv --python 3.12 --cuda 13.0 --torch 2.11": "real/test_torch_spline_conv.py",
    "wheelmill index serve out": "real/test_torch_spline_conv.py",
    "pip install --extra-index-url http://127.0.0.1:8000/site/cu130/torch2.11/simple/ --only-binary torch-spline-conv"
    " torch-spline-conv": "real/test_torch_spline_conv.py",
    "wheelmill release DIR --store github:OWNER/REPO": "real/test_github.py",
    "wheelmill index build --store github:OWNER/REPO --output site": "real/test_github.py",
    "wheelmill release DIR --store s3:BUCKET/PREFIX": "integration/test_s3_commands.py",
    "wheelmill index build --store s3:BUCKET/PREFIX --output site": "integration/test_s3_commands.py",
    "wheelmill index upload site s3:BUCKET/PREFIX": "integration/test_s3_commands.py",
    "wheelmill export kernels WHEEL... --output DIR": "real/test_stable_demo.py",
    "wheelmill show WHEEL --stable": "integration/test_show_command.py",
    "wheelmill release ledger --store STORE": "integration/test_ledger_command.py",
    "wheelmill release ledger --rebuild --store STORE": "integration/test_ledger_command.py",
    "wheelmill index check https://example.org/simple/": "integration/test_index_check_command.py",
    "wheelmill index check public/ --all-files": "integration/test_index_check_command.py",
    "wheelmill index check https://example.org/simple/ --project demo": "integration/test_index_check_command.py",
    'uv tool install "wheelmill @ git+https://github.com/OWNER/wheelmill"': "real/test_install_the_command.py",
    'pipx install "wheelmill @ git+https://github.com/OWNER/wheelmill"': "real/test_install_the_command.py",
    'pip install "wheelmill @ git+https://github.com/OWNER/wheelmill"': "real/test_install_the_command.py",
    "wheelmill add flash-attn": "real/test_client_project.py",
    "wheelmill explain flash-attn": "integration/test_finding_commands.py",
    "wheelmill config add PROJECT": "integration/test_config_add_command.py",
    "wheelmill config check": "integration/test_config_command.py",
    "wheelmill init --from OWNER/wheelmill@COMMIT": "integration/test_init_command.py",
    "wheelmill run PROJECT --sample": "real/test_demo.py",
    "wheelmill plan": "integration/test_init_command.py",
    "wheelmill build PROJECT --here": "real/test_local_builds.py",
    "CUDA_HOME=/opt/cuda-13.0 wheelmill build PROJECT --cuda 13.0": "real/test_local_builds.py",
    "wheelmill plan PROJECT": "integration/test_plan_command.py",
    "benchmarks/plan.py": "integration/test_benchmarks.py",
    "benchmarks/index.py --wheels 100000 --json": "integration/test_benchmarks.py",
    "benchmarks/index.py --growth 1000 10000 100000 300000": "integration/test_benchmarks.py",
    "benchmarks/ledger.py --live 1000 10000 100000": "integration/test_benchmarks.py",
    "benchmarks/site.py": "real/site/test_pages.py",
    "benchmarks/client.py": "integration/test_benchmarks.py",
    "wheelmill release variants --store dir:releases --to dir:variants": "integration/test_variant_clients.py",
    "wheelmill index build --store dir:releases --variants dir:variants"
    " --output site": "integration/test_variant_clients.py",
    ".venv/bin/sphinx-build --fail-on-warning docs out/docs": "integration/test_rendered_documents.py",
    "uv pip install --preview-features wheel-variants --index-url https://HOST/torch2.11/variants/simple/ --no-deps"
    " flash-attn": "integration/test_variant_clients.py",
    **dict.fromkeys(
        ("wheelmill doctor", "wheelmill doctor --fix", "wheelmill test", "wheelmill doctor --driver 535.104.05"),
        "real/test_when_it_does_not_work.py",
    ),
    "wheelmill install flash-attn": "real/test_when_it_does_not_work.py",
    "uv pip install 'torch==2.11.*' --reinstall-package torch": "real/test_when_it_does_not_work.py",
    "wheelmill doctor --gpu 'rtx 5090'": "integration/test_doctor_command.py",
    "wheelmill explain flash-attn --gpu 'rtx 5090'": "integration/test_finding_commands.py",
    "wheelmill add flash-attn --build": "real/test_add_builds.py",
    "pip install --only-binary flash-attn flash-attn": "integration/test_when_it_does_not_work.py",
    "uv pip install --only-binary flash-attn flash-attn": "integration/test_when_it_does_not_work.py",
    "pip install --index-url https://HOST/cu130/torch2.11/simple/"
    " --no-deps demo": "integration/test_when_it_does_not_work.py",
    "uv pip install --default-index https://HOST/cu130/torch2.11/simple/"
    " --no-deps demo": "integration/test_when_it_does_not_work.py",
    **dict.fromkeys(
        (
            "export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            "export PIP_CERT=/etc/ssl/certs/ca-certificates.crt",
            "export HTTPS_PROXY=http://proxy.example:3128",
            "export NO_PROXY=localhost,127.0.0.1,index.example",
        ),
        "integration/test_when_it_does_not_work.py",
    ),
    "export PYTHONNOUSERSITE=1": "unit/client/doctor/test_inventory.py",
    "wheelmill install --lock pylock.toml": "integration/test_lock_command.py",
    "wheelmill lock": "integration/test_lock_command.py",
}

UNTESTED = {
    "uv pip install 'torch==2.11.*' --reinstall-package torch --torch-backend auto": "no test runs it: it asks torch's"
    " own index",
    "git push -u origin torch-lap-cuda": "No test runs the last two: they need GitHub",
    "gh pr create --fill": "No test runs the last two: they need GitHub",
    "gh attestation verify WHEEL --repo OWNER/REPO --signer-workflow OWNER/REPO/.github/workflows/wheels-group.yml"
    " --source-ref refs/heads/main --deny-self-hosted-runners": "No test runs it: GitHub keeps the attestations",
    ".venv/bin/sphinx-build --builder linkcheck docs out/links": "it asks other people's servers",
    "hf upload OWNER/NAME DIR . --type kernel --revision v1": "no test runs it: it takes an account there",
    "benchmarks/catalogue.py": "no test runs it: it compiles for hours",
    "benchmarks/ledger.py": "no test runs it: it takes six minutes",
    "benchmarks/sandbox.py --rounds 3": "no test runs it: it compiles for minutes",
    "benchmarks/build_group.py PROJECT": "no test runs it: it compiles for ten minutes",
    "wheelmill run flash-attn --python 3.11,3.12 --cuda 13.0 --torch 2.11 --sandbox docker --policy manylinux_2_34"
    " --memory 17": "no test runs it: it compiles for hours",
    "wheelmill build torch-spline-conv --python 3.12 --cuda 13.0 --torch 2.11 --part 1/3": "no test runs it: it"
    " compiles for an hour",
}

WALKED = {"add-a-package.md": "real/test_add_a_package.py", "verify-a-wheel.md": "real/test_verify_a_wheel.py"}
"""Pages of which one test runs every other command, as it stands there."""

UNTESTED |= {
    shown.command: "No test runs these steps: they need GitHub"
    for shown in shown_in(ROOT / "docs" / "first-live-run.md")
    if shown.command not in RUN_BY
}

RUN_BY |= {
    shown.command: test
    for page, test in WALKED.items()
    for shown in shown_in(ROOT / "docs" / page)
    if shown.command not in UNTESTED
}


def commands() -> list[str]:
    """The lines of every shell block, without their comments; those on installing have a test of their own."""
    documents = [path for path in DOCUMENTS if path.parent != install_pages.FOLDER]
    return [shown.command for path in documents for shown in shown_in(path)]


def commands_of(program: str) -> set[str]:
    """Commands of a program: between backticks in sentences and tables, and those that no test runs."""
    text = "\n".join(re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL) for path in DOCUMENTS)
    inline = {" ".join(command.split()) for command in re.findall(rf"`({program}\s[^`]*)`", text)}
    return inline | {command for command in UNTESTED if command.startswith(f"{program} ")}


def links_of(document: Path) -> list[tuple[Path, str]]:
    """The files that a document leads to, each with an anchor, or an empty one."""
    found = [urldefrag(link) for link in re.findall(r"\]\(([^)]+)\)", document.read_text()) if "://" not in link]
    return [((document.parent / url).resolve() if url else document, anchor) for url, anchor in found]


@cache
def anchors_of(document: Path) -> frozenset[str]:
    """What GitHub gives the headings of a document, and Sphinx here."""
    tokens = MarkdownIt().use(anchors_plugin, max_level=6, slug_func=default_slugify).parse(document.read_text())
    return frozenset(str(token.attrs["id"]) for token in tokens if token.type == "heading_open")


def test_the_map_names_every_room_and_only_files_that_are_there() -> None:
    text, package = (ROOT / "docs" / "architecture.md").read_text(), ROOT / "src" / "wheelmill"
    rooms = {f"`{path.name}/`" for path in package.iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if room not in text} == set()
    files = re.findall(r"`((?:\w+/)+[\w.]+\.(?:py|yml))`", text)
    assert files
    assert [name for name in files if not ((package / name).exists() or (ROOT / name).exists())] == []


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path.name not in GENERATED], ids=lambda path: path.name
)
def test_prose_is_wrapped(document: Path) -> None:
    lines, tokens = document.read_text().splitlines(), MarkdownIt().enable("table").parse(document.read_text())
    prose = [number for token in tokens if token.type == "paragraph_open" and token.map for number in range(*token.map)]
    assert [number + 1 for number in prose if len(lines[number]) > WIDTH] == []


def test_every_command_that_is_shown_is_run_by_a_test() -> None:
    assert sorted(set(commands())) == sorted(RUN_BY | UNTESTED)


def test_a_command_that_no_test_runs_says_why() -> None:
    text = " ".join(word for path in DOCUMENTS for word in path.read_text().split())
    assert [command for command, reason in UNTESTED.items() if reason not in text] == []


@pytest.mark.parametrize("path", sorted(set(RUN_BY.values())))
def test_the_test_that_runs_it_exists(path: str) -> None:
    assert (ROOT / "tests" / path).exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    links = links_of(document)
    assert [str(path) for path, _ in links if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in links if anchor and anchor not in anchors_of(path)] == []


def test_every_page_is_found_from_readme_in_two_steps() -> None:
    first = {path for path, _ in links_of(ROOT / "README.md") if path.suffix == ".md"}
    second = {path for page in first for path, _ in links_of(page)}
    pages = {*(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs" / "decisions").glob("0*.md")}
    assert pages - first - second == set()


@pytest.mark.parametrize("command", sorted(commands_of("wheelmill")))
def test_options_of_a_command_in_a_sentence_are_there(command: str) -> None:
    words = command.split()[1:]
    found = typer.main.get_command(application(words))
    while isinstance(found, typer.core.TyperGroup) and words and words[0] in found.commands:
        found = found.commands[words.pop(0)]
    if isinstance(found, CommandsWithDefault):
        found = found.commands[found.default]
    known = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    assert [word for word in words if word.startswith("--") and word.partition("=")[0] not in known] == []


@pytest.mark.parametrize("command", sorted(commands_of("gh workflow run")))
def test_a_dispatch_in_a_sentence_gives_inputs_that_its_workflow_takes(command: str) -> None:
    _, _, _, file, *options = shlex.split(command)
    dispatch = yaml.safe_load((ROOT / ".github" / "workflows" / file).read_text())[True]["workflow_dispatch"] or {}
    given = {option.partition("=")[0] for flag, option in itertools.pairwise(options) if flag in {"-f", "--field"}}
    assert given - dispatch.get("inputs", {}).keys() == set()


def test_every_code_of_smoke_is_documented_with_its_level_and_nothing_else() -> None:
    text = (ROOT / "docs" / "smoke.md").read_text()
    table = text[text.index("| code |") :].partition("\n\n")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([a-z]+) \|", table, re.MULTILINE)
    assert sorted(rows) == sorted((code.value, code.level.value) for code in Code)


RED = (ROOT / "docs" / "when-something-is-red.md").read_text()


def first_cells(heading: str) -> list[list[str]]:
    """What stands between backticks in the first cell of each row below a heading, or the cell itself."""
    rows = re.findall(r"^\| (.+?) \|", RED.partition(f"\n## {heading}\n")[2].partition("\n## ")[0], re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) or [row] for row in rows[1:]]


def test_every_job_that_can_be_red_has_a_row() -> None:
    files = (ROOT / ".github" / "workflows").glob("*.yml")
    jobs = {name for path in files for name, job in yaml.safe_load(path.read_text())["jobs"].items()}
    assert set(itertools.chain(*first_cells("By job"))) == jobs


def test_every_state_of_a_group_has_a_row() -> None:
    told = set(itertools.chain(*first_cells("What the summary says of a group")))
    assert set(WORDS.values()) - told == set()


def test_every_sentence_of_the_summary_and_of_notices_has_a_row() -> None:
    tree = ast.parse((ROOT / "src" / "wheelmill" / "pipeline" / "summary_text.py").read_text())
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and each not in docstrings]
    sentences = {
        text.strip(" .:,#")
        for text in texts
        if isinstance(text, str) and "|" not in text and len(re.findall(r"[a-z]+", text)) > 3
    }
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    sentences |= set(re.findall(r"::warning::([^;']+)", workflow)) | set(re.findall(r"notice \|\| '([^']+)'", workflow))
    assert len(sentences) > len(WORDS)
    told = list(itertools.chain(*first_cells("Messages"), *first_cells("What the summary says of a group")))
    assert [sentence for sentence in sentences if not any(sentence in message for message in told)] == []


def test_every_message_in_the_page_of_remedies_is_one_of_ours() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / ".github" / "workflows").glob("*.yml")]
    text = "\n".join(path.read_text() for path in files)
    told = itertools.chain(*first_cells("Messages"), *first_cells("What the summary says of a group"))
    parts = [part.strip() for message in told for part in re.split(r"\.\.\.|\b\d+\b", message)]
    assert [part for part in parts if part not in text] == []
