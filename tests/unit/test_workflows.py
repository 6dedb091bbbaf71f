"""What the workflow files promise: whoever opens a pull request reaches no token and no machine of ours."""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.programs import needs
from wheelmill.cli import application
from wheelmill.config.maintenance.request import workflow_text
from wheelmill.errors import UsageError
from wheelmill.wheel.attestation import WHEELS_WORKFLOW

ROOT = Path(__file__).parents[2]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+( # zizmor: ignore\[[a-z-]+\])?")
STAGES = {"plan", "build", "release", "index"}
RUNS_FOREIGN_CODE = {
    ("wheels-group", "part"),
    ("wheels-group", "build"),
    ("wheels-group", "gpu"),
    ("request", "plan"),
    ("request", "build"),
    ("request", "summary"),
}
WRITES: dict[tuple[str, str], set[str]] = {
    ("package", "wheels"): {"actions", "contents", "id-token", "attestations", "pages"},  # calls wheels, as above
    ("wheels", "plan"): {"contents"},  # claims groups in the ledger
    ("wheels", "summary"): {"contents"},  # frees them
    ("wheels", "build"): {"contents", "id-token", "attestations"},  # calls wheels-shard, whose jobs share these out
    ("wheels-shard", "build"): {"id-token", "attestations"},  # calls wheels-group, whose jobs share these out
    ("wheels-group", "attest"): {"id-token", "attestations"},
    ("wheels-shard", "attest"): {"id-token", "attestations"},
    ("wheels-shard", "release"): {"contents"},
    ("wheels", "index"): {"pages", "id-token"},
    ("wheels", "resume"): {"actions"},
    ("index", "deploy"): {"pages", "id-token"},
    ("release", "attest"): {"id-token", "attestations"},
    ("release", "publish"): {"id-token"},  # by which the package index knows it
    ("release", "announce"): {"contents"},
    ("downloads", "count"): {"contents"},  # writes to the ledger
    ("downloads", "index"): {"pages", "id-token"},  # calls index
    ("request-comment", "comment"): {"pull-requests"},
    ("newest", "report"): {"issues"},  # calls report
    ("nightly", "report"): {"issues"},  # the same
    ("report", "issue"): {"issues"},
    ("schedule", "dispatch"): {"actions"},
    ("upstream", "pull-request"): {"actions", "contents", "pull-requests"},
}


SCHEMAS = {
    "github-workflows": [*WORKFLOWS.values()],
    "github-actions": ACTIONS,
    "github-issue-forms": [ROOT / ".github" / "ISSUE_TEMPLATE" / "package-request.yml"],
}


@cache
def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text())
    return content


@cache
def read_action(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in WORKFLOWS:
        for job, content in read(name)["jobs"].items():
            yield name, job, content


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job, content in jobs():
        yield from ((f"{name}.{job}", step) for step in content.get("steps", ()))
    for path in ACTIONS:
        yield from ((path.parent.name, step) for step in read_action(path)["runs"]["steps"])


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_is_one_that_github_reads(schema: str) -> None:
    from check_jsonschema import main  # type: ignore[import-untyped]  # noqa: PLC0415 - takes seconds

    options = ["--quiet", "--builtin-schema", f"vendor.{schema}"]
    assert main([*options, *map(str, SCHEMAS[schema])], standalone_mode=False) in (None, 0)


def test_every_action_is_pinned_by_commit_and_says_which_version_that_is() -> None:
    lines = [line for path in (*WORKFLOWS.values(), *ACTIONS) for line in path.read_text().splitlines()]
    used = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]
    assert [use for use in used if not use.startswith("./") and not PINNED.fullmatch(use)] == []
    assert len({use.partition("@")[0] for use in used}) > 8


def test_one_action_has_one_version() -> None:
    text = "\n".join(path.read_text() for path in (*WORKFLOWS.values(), *ACTIONS))
    commits: dict[str, set[str]] = {}
    for action, commit in re.findall(r"uses: ([\w-]+/[\w-]+)\S*@(\S+)", text):
        commits.setdefault(action, set()).add(commit)
    assert {action: found for action, found in commits.items() if len(found) > 1} == {}


def test_no_script_holds_an_expression() -> None:
    """Values reach a script as variables, which a shell does not read as code."""
    assert [where for where, step in steps() if "${{" in step.get("run", "")] == []


def test_a_failure_on_the_left_of_a_pipe_is_one() -> None:
    """Only a shell that is named gets pipefail."""
    assert {name: read(name)["defaults"]["run"]["shell"] for name in WORKFLOWS} == dict.fromkeys(WORKFLOWS, "bash")


def test_no_permission_is_given_to_a_whole_workflow() -> None:
    assert {name: read(name)["permissions"] for name in WORKFLOWS} == {name: {} for name in WORKFLOWS}


def test_every_job_has_the_permissions_it_needs_and_no_others() -> None:
    writes = {
        (name, job): {scope for scope, access in content["permissions"].items() if access == "write"}
        for name, job, content in jobs()
    }
    assert {where: scopes for where, scopes in writes.items() if scopes} == WRITES


def test_foreign_code_runs_where_nothing_can_be_written_and_no_secret_is() -> None:
    for name, job, content in jobs():
        if (name, job) in RUNS_FOREIGN_CODE:
            assert content["permissions"] == {"contents": "read"}, (name, job)
            assert "secrets" not in str(content), (name, job)
        elif name.startswith("wheels") and WRITES.get((name, job)):
            assert "wheelmill run" not in str(content), (name, job)
    (update,) = (read_action(path) for path in ACTIONS if path.parent.name == "update")
    assert "token" not in str(update["runs"]).lower()


def test_jobs_that_run_foreign_code_on_machines_of_github_install_the_sandbox_first() -> None:
    """Without it, wheelmill refuses local builds there, and tests of them fail."""
    needing = ("wheelmill run", "wheelmill build", "scripts/test", ".ci/run", "tests.mutants")
    checked = set()
    for name, job, content in jobs():
        words = [str(step.get("uses") or step.get("run")) for step in content.get("steps", ())]
        if needs := [number for number, text in enumerate(words) if any(word in text for word in needing)]:
            assert "./.github/actions/sandbox" in words[: needs[0]], (name, job)
            checked.add(job)
    assert checked == {"part", "build", "test", "every-test", "mutants"}


def test_no_other_job_reads_what_foreign_code_could_have_kept() -> None:
    """Every job of a branch may write every cache, and one is unpacked with absolute names: over a job's programs."""
    reads = {where for where, step in steps() if "cache" in f"{step.get('uses')} {step.get('with')}"}
    assert reads == {"wheels-group.part", "wheels-group.build"}


def test_what_a_build_delivers_is_found_by_an_output_that_no_other_job_can_set() -> None:
    """Artifacts of a run can be replaced by any of its jobs; one with this number cannot."""
    jobs_of_group = read("wheels-group")["jobs"]
    assert set(jobs_of_group) == {"part", "build", "gpu", "attest"}
    assert jobs_of_group["build"]["outputs"] == {"wheels": "${{ steps.wheels.outputs.artifact-id }}"}
    assert jobs_of_group["gpu"]["outputs"] == {"certificates": "${{ steps.certificates.outputs.artifact-id }}"}
    steps_of = jobs_of_group["attest"]["steps"]
    wheels, certificates = (step["with"] for step in steps_of if "download-artifact" in step.get("uses", ""))
    assert wheels == {"artifact-ids": "${{ needs.build.outputs.wheels }}", "path": "out/wheels"}
    assert certificates == {"artifact-ids": "${{ needs.gpu.outputs.certificates }}", "path": "out/gpu"}


def test_no_job_waits_for_a_machine_with_a_gpu_where_nobody_names_one() -> None:
    condition = read("wheels-group")["jobs"]["gpu"]["if"]
    assert "vars.WHEELMILL_GPU_RUNNER != ''" in condition
    required = [step["env"] for _, step in steps() if "WHEELMILL_REQUIRE_GPU" in step.get("env", {})]
    assert {env["WHEELMILL_REQUIRE_GPU"] for env in required} == {
        "${{ vars.WHEELMILL_GPU_RUNNER != '' && 'linux_x86_64' || '' }}"
    }
    releasing = [step for _, step in steps() if re.search(r"wheelmill release(?! downloads)", step.get("run", ""))]
    assert len(required) == len(releasing)


def test_a_release_and_an_attestation_are_given_the_plan_by_an_input() -> None:
    for name, job, plan in (("wheels-shard", "release", "inputs.matrix"), ("wheels-group", "attest", "inputs.group")):
        (step,) = (step for step in read(name)["jobs"][job]["steps"] if "wheelmill release" in step.get("run", ""))
        assert "--plan out/plan.json" in step["run"]
        assert f"${{{{ {plan} }}}}" in step["env"].values()


def test_the_workflow_whose_attestations_count_is_there() -> None:
    assert {"build", "attest"} <= read(Path(WHEELS_WORKFLOW).stem)["jobs"].keys()
    assert (ROOT / WHEELS_WORKFLOW).exists()


def test_what_is_released_and_listed_is_attested_by_the_default_branch() -> None:
    steps_that_require = {
        where: step["env"]["WHEELMILL_REQUIRE_ATTESTATION"]
        for where, step in steps()
        if "WHEELMILL_REQUIRE_ATTESTATION" in step.get("env", {})
    }
    assert steps_that_require.keys() == {"wheels-shard.release", "index.index"}
    assert len(set(steps_that_require.values())) == 1
    (required,) = set(steps_that_require.values())
    assert "github.event.repository.default_branch" in required
    # Of a workflow that another repository calls, this commit counts, and those that a file of the caller names.
    assert "format('{0}:{1}@{2}{3}', github.repository, job.workflow_repository, job.workflow_sha" in required
    assert "wheelmill.commits" in required


def test_the_token_of_a_pull_request_reads_the_repository_and_nothing_else() -> None:
    assert {str(job["permissions"]) for job in read("request")["jobs"].values()} == {"{'contents': 'read'}"}


def test_no_checkout_leaves_a_token_behind() -> None:
    checkouts = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) > 5
    assert [step for step in checkouts if step["with"].get("persist-credentials") is not False] == []


def test_a_pull_request_is_built_on_machines_of_github_whatever_its_entry_says() -> None:
    for job, content in read("request")["jobs"].items():
        assert "runner" not in content["runs-on"].lower(), job
    assert "ubuntu-24.04-arm" in read("request")["jobs"]["build"]["runs-on"]


def test_no_workflow_runs_code_of_a_pull_request_with_the_rights_of_the_repository() -> None:
    # YAML 1.1 reads the key "on" as true; this loader makes text of everything, and nothing else.
    texts = {name: path.read_text() for name, path in WORKFLOWS.items()}
    triggers = {name: yaml.load(text, yaml.BaseLoader)["on"] for name, text in texts.items()}  # noqa: S506
    assert [name for name, on in triggers.items() if "pull_request_target" in on] == []
    assert [name for name, on in triggers.items() if "workflow_run" in on] == ["request-comment"]
    used = [step.get("uses", "") for where, step in steps() if where.startswith("request-comment")]
    assert [use.partition("@")[0] for use in used if use] == ["actions/download-artifact"]


def test_jobs_are_called_what_the_stages_are_called() -> None:
    assert {job for name, job, _ in jobs() if name.startswith("wheels")} > STAGES
    names = {(name, job): str(content["name"]) for name, job, content in jobs()}
    assert [where for where, shown in names.items() if shown.split()[0] != where[1]] == []


def test_every_job_ends_before_the_host_ends_it() -> None:
    limits = [(name, job, content) for name, job, content in jobs() if "uses" not in content]
    assert [where for *where, content in limits if not content.get("timeout-minutes", 999) < 360] == []


def test_a_build_stops_itself_before_its_job_is_stopped() -> None:
    for name in ("wheels-group", "request"):
        job = read(name)["jobs"]["build"]
        (script,) = (step["run"] for step in job["steps"] if "wheelmill run" in step.get("run", ""))
        limit = int(re.findall(r"--time-limit (\d+)", script)[0])
        assert limit + 15 < job["timeout-minutes"]


def test_a_release_and_a_site_that_wait_are_not_cancelled_by_later_ones() -> None:
    queued = {"cancel-in-progress": False, "queue": "max"}
    for concurrency in (read("wheels-shard")["jobs"]["release"]["concurrency"], read("index")["concurrency"]):
        assert {key: concurrency[key] for key in queued} == queued
    assert "${{ github.run_id }}" in read("wheels")["concurrency"]["group"]


def test_only_a_file_that_does_nothing_else_has_a_schedule_and_a_variable_turns_it_on() -> None:
    """GitHub disables all triggers of a file with a schedule after 60 days without a commit."""
    scheduled = [name for name, path in WORKFLOWS.items() if "schedule:" in path.read_text()]
    assert scheduled == ["schedule"]
    (job,) = read("schedule")["jobs"].values()
    assert job["if"] == "${{ vars.WHEELMILL_SCHEDULE == 'true' }}"
    text = WORKFLOWS["schedule"].read_text()
    for started in re.findall(r"[a-z]+\.yml'", text):
        assert "workflow_dispatch:" in WORKFLOWS[started.removesuffix(".yml'")].read_text()
    due = dict(re.findall(r'cron: "([^"]+)" # (\S+)', text))
    assert sorted(due.values()) == ["downloads.yml", "newest.yml", "nightly.yml", "upstream.yml", "wheels.yml"]
    chosen = dict(re.findall(r"github.event.schedule == '([^']+)' && '([^']+)'", text))
    assert chosen == {cron: name for cron, name in due.items() if name != "wheels.yml"}


def test_the_pull_request_of_upstream_is_checked_by_dispatches() -> None:
    (script,) = (step["run"] for where, step in steps() if "gh workflow run request.yml" in step.get("run", ""))
    for started in re.findall(r"gh workflow run (\w+)\.yml --ref upstream", script):
        assert "workflow_dispatch:" in WORKFLOWS[started].read_text()
    assert "ci.yml --ref upstream" in script


def test_ci_runs_on_each_python_that_set_up_takes() -> None:
    (pythons,) = re.findall('^PYTHONS="(.+)"', (ROOT / "scripts" / "machine.sh").read_text(), re.MULTILINE)
    assert read("ci")["jobs"]["test"]["strategy"]["matrix"]["python"] == sorted(pythons.split())


def test_upstream_can_mend_a_lock_that_nothing_can_be_set_up_from() -> None:
    done = [step.get("uses") or step["run"] for step in read("upstream")["jobs"]["update"]["steps"]]
    first_needs_setup = done.index("./.github/actions/setup")
    assert "scripts/lock --upgrade" in done[first_needs_setup - 1]
    assert not any(".venv" in command for command in done[:first_needs_setup])


def test_a_release_waits_for_the_rules_of_its_environment() -> None:
    assert read("wheels-shard")["jobs"]["release"]["environment"] == "release"


def outputs_in(text: str) -> dict[str, str]:
    """Outputs of a step, as the host reads the file that it writes."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, multiline, end = line.partition("<<")
        if multiline:
            found[name] = "\n".join(iter(lambda: next(lines), end))
        else:
            name, _, value = line.partition("=")
            found[name] = value
    return found


def write_output(content: bytes, file: Path) -> None:
    """Hand on a value as workflows do."""
    argv = [str(ROOT / "scripts" / "output"), "value"]
    subprocess.run(argv, input=content, env={**os.environ, "GITHUB_OUTPUT": str(file)}, check=True)


def test_outputs_have_one_writer() -> None:
    assert [where for where, step in steps() if re.search("GITHUB_(OUTPUT|ENV|PATH|STATE)", step.get("run", ""))] == []


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("a\nEND-OF-NOTICE\ncontinues=666\nother<<END-OF-NOTICE\nx", None),
        ("notice=forged\n\nnotice<<x\nforged\nx", None),
        ("a\nvalue\n", "a\nvalue"),
        ('{"shards": []}\n', '{"shards": []}'),
        ("x" * 1_000_000, None),
        ("\n", ""),
        ("", ""),
    ],
)
def test_a_text_that_ends_its_output_and_begins_another(content: str, value: str | None, tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("earlier=1\n")
    write_output(content.encode(), file)
    assert outputs_in(file.read_text()) == {"earlier": "1", "value": content if value is None else value}


def test_the_end_of_an_output_cannot_be_foreseen(tmp_path: Path) -> None:
    ends = set()
    for number in range(3):
        write_output(b"x", tmp_path / str(number))
        ends.add((tmp_path / str(number)).read_text().splitlines()[0].partition("<<")[2])
    assert sorted(map(len, ends)) == [32, 32, 32]


@needs("jq")
@pytest.mark.parametrize(("summary", "line"), [("{}", "\n"), ('{"continues": ["1", "2"]}', "1 2\n")])
def test_which_runs_are_taken_up_is_handed_on_and_after_a_rehearsal_none(summary: str, line: str) -> None:
    scripts = [step["run"] for where, step in steps() if where == "wheels.summary" and "run" in step]
    (expression,) = re.findall(r"jq --raw-output '(.continues.+)' out/summary.json", "\n".join(scripts))
    jq = ["jq", "--raw-output", expression]
    assert subprocess.run(jq, input=summary, capture_output=True, text=True, check=True).stdout == line


def test_no_condition_reads_wheels() -> None:
    """hashFiles reads all that a pattern finds, and GitHub ends it after 120 seconds."""
    patterns = {each for file in WORKFLOWS.values() for each in re.findall(r"hashFiles\(([^)]*)\)", file.read_text())}
    assert patterns
    assert not [each for each in patterns if each.endswith((".whl'", "out/wheels'", "*'"))]


@pytest.mark.parametrize(("number", "does"), [("", "issue create --title"), ("7", "issue comment 7 --body")])
def test_a_failure_is_told_in_one_open_issue(number: str, does: str, tmp_path: Path) -> None:
    (step,) = (step for where, step in steps() if where == "report.issue")
    program = tmp_path / "gh"
    program.write_text(f'#!/bin/sh\n[ "$2" = list ] && exec echo {number}\necho "$@" > {tmp_path}/done\n')
    program.chmod(0o755)
    variables = {"TITLE": "It fails", "TEXT": "Where", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=variables, check=True)
    assert (tmp_path / "done").read_text().startswith(does)


def test_a_report_follows_what_failed_or_was_ended_and_no_fork_has_one() -> None:
    for name in ("newest", "nightly"):
        *tried, report = read(name)["jobs"].values()
        assert {job["if"] for job in tried} == {"${{ !github.event.repository.fork }}"}
        needed = report["needs"] if isinstance(report["needs"], list) else [report["needs"]]
        assert set(needed) == {job["name"] for job in tried}
        assert "'failure'" in report["if"]
        assert "'cancelled'" in report["if"]


def test_artifacts_are_kept_for_90_days_and_a_missing_one_is_an_error() -> None:
    uploads = [step["with"] for _, step in steps() if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert len(uploads) > 4
    optional = [upload["name"] for upload in uploads if upload["if-no-files-found"] != "error"]
    assert [name.partition("-")[0] for name in optional] == ["wheels"]  # where no wheel passed, there is none
    days = {upload["name"].partition("-")[0]: upload["retention-days"] for upload in uploads}
    assert {name: kept for name, kept in days.items() if kept != 90} == {"compiled": 7}  # for the run's last job


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("PACKAGE=--store", "project: "),
        ("PACKAGE= , ,", "project: expected a value"),
        ("VERSION=--force", "--version: "),
        ("PLATFORMS=linux_riscv64", "platform linux_riscv64 is not in compatibility.yml"),
        ("TORCHES=,", "--torch: expected a value"),
    ],
)
def test_what_somebody_dispatches_is_never_an_option_and_never_everything(
    given: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step,) = (step for where, step in steps() if where == "wheels.plan" and "wheelmill plan" in step.get("run", ""))
    name, _, text = given.partition("=")
    variables = dict.fromkeys(step["env"], "") | {"WHEELMILL_SANDBOX": "docker", "GITHUB_RUN_ID": "1", name: text}
    program = tmp_path / ".venv" / "bin" / "wheelmill"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")  # tells how it was called
    program.chmod(0o755)
    shell = ["bash", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(shell, cwd=tmp_path, env={**variables, "PATH": "/usr/bin:/bin"}, check=True)
    words = (tmp_path / "out" / "plan.json").read_text().split("\0")[:-1]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(application(words), words, env={**variables, "WHEELMILL_STORE": f"dir:{tmp_path}"})
    assert isinstance(done.exception, UsageError) or done.exit_code == UsageError.exit_code
    assert error in (done.exception.explained if isinstance(done.exception, UsageError) else done.stderr)


def test_a_package_gives_our_workflow_what_its_jobs_share_out_and_no_more() -> None:
    """GitHub refuses to start a run of which a job wants more than its caller has."""
    called = {"wheels", "wheels-shard", "wheels-group", "index"}
    wanted = {scope for name, job, _ in jobs() if name in called for scope in WRITES.get((name, job), ())}
    assert WRITES["package", "wheels"] == wanted
    (written,) = yaml.safe_load(workflow_text("owner/wheelmill", "v1"))["jobs"].values()
    assert written["permissions"] == read("package")["jobs"]["wheels"]["permissions"]
    # YAML 1.1 reads the key "on" as true.
    assert set(written["with"]) <= set(read("package")[True]["workflow_call"]["inputs"])  # type: ignore[index]


def test_foreign_code_of_a_package_lies_beside_what_runs() -> None:
    """Our own files are checked out at the commit of the workflow, by its repository: what is in project/ is read."""
    called = [name for name in WORKFLOWS if name.startswith(("wheels", "index"))]
    ours = {"repository": "${{ job.workflow_repository }}", "ref": "${{ job.workflow_sha }}"}
    checkouts = [
        step["with"]
        for where, step in steps()
        if where.partition(".")[0] in called and step.get("uses", "").startswith("actions/checkout@")
    ]
    assert len(checkouts) > 5
    assert [each for each in checkouts if not ours.items() <= each.items()] == []


def comment_on(found: bytes, folder: Path) -> str:
    """What is said of a request run below its pull request."""
    (script,) = (step["run"] for _, step in steps() if "comment/request.txt" in step.get("run", ""))
    (folder / "comment").mkdir()
    (folder / "comment" / "request.txt").write_bytes(found)
    variables = {"RUN": "https://example.org", "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=variables, check=True)
    return (folder / "comment.md").read_bytes().decode()


def test_the_text_of_a_pull_request_stays_inside_a_code_block(tmp_path: Path) -> None:
    """Four spaces before every line, also before one that a lone carriage return would begin."""
    hostile = b"# heading\r**bold**\n```\n</details>@everyone \xff\r\n\tx"
    first, blank, *quoted = comment_on(hostile, tmp_path).split("\n")
    assert (first, blank) == ("What the [request run](https://example.org) found:", "")
    assert quoted
    assert [line for line in quoted if line and not line.startswith("    ")] == []
    assert "\r" not in "".join(quoted)


@pytest.mark.parametrize("line", ["", "x", "größe" * 10], ids=["blank", "short", "wide"])
def test_a_comment_is_not_longer_than_github_takes_with_its_spaces(line: str, tmp_path: Path) -> None:
    assert 60_000 < len(comment_on(f"{line}\n".encode() * 20_000, tmp_path).encode()) <= 65_536
