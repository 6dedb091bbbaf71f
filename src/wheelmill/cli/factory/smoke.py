"""``wheelmill smoke``: rules on the bytes of wheels, and their installation and import in a clean environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.inputs import ConfigOption, SandboxKind, SandboxOption, config_at, environments_in, store_at
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import SmokeError
from wheelmill.release.ledger.releases import published
from wheelmill.smoke.verdict import GPU_SUFFIX, SUFFIX, Verdict, certify, kernels_in
from wheelmill.wheel.findings import Finding
from wheelmill.wheel.name import WheelFile

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import FindingOf, Smoke, VerdictOf
    from wheelmill.smoke.environment import SmokeEnvironments


def smoke(
    wheels: Annotated[list[Path], typer.Argument(help="Wheel files.", metavar="WHEEL...", exists=True, dir_okay=False)],
    *,
    sandbox: SandboxOption = SandboxKind.LOCAL,
    config: ConfigOption = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Store of the wheels that these require: dir:PATH, github:OWNER/REPO or s3:BUCKET/PREFIX.",
            metavar="STORE",
            envvar="WHEELMILL_STORE",
        ),
    ] = None,
    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu", help="Write the results of this machine's GPU to WHEEL.gpu.json, beside the certificate."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Test wheels: check their bytes, install and import them in a clean environment. Exits with 5 on findings."""
    suffix = GPU_SUFFIX if gpu else SUFFIX
    verdicts = _examine(wheels, environments_in(sandbox, config_at(config)), store, suffix)
    if as_json:
        content: Smoke = {"schema": "wheelmill.smoke/1", "wheels": [verdict_content(verdict) for verdict in verdicts]}
        print_json(content)
    for verdict in verdicts:
        say(str(verdict))
        if verdict.ok:
            certify(verdict, suffix)
            say(f"  holds {verdict.sizes}")
            if gpu:
                say(f"  {kernels_in(verdict.clean_rooms)}")
    refused = [verdict.file.filename for verdict in verdicts if not verdict.ok]
    if refused:
        raise SmokeError("wheels-refused", f"refused: {', '.join(refused)}")


def _examine(wheels: list[Path], environments: SmokeEnvironments, store: str | None, suffix: str) -> list[Verdict]:
    """Examine wheels that may require each other and the wheels of a store."""
    from wheelmill.pipeline.run import (
        released_wheels,  # needs the factory extra
        serve_candidate,
    )
    from wheelmill.release.github.store import QUOTAS
    from wheelmill.smoke.examine import examine_wheel, wheels_on_disk

    with progress() as shown:
        files = [WheelFile.at(path) for path in wheels]
        available = wheels_on_disk(files)
        if store:
            releases = store_at(store)
            available += released_wheels(published(releases, say_warning), releases)
        return [
            examine_wheel(
                file,
                environments,
                serve_candidate,
                available=available,
                max_size=QUOTAS.asset,
                suffix=suffix,
                progress=shown,
            )
            for file in files
        ]


def _finding_content(finding: Finding) -> FindingOf:
    content: FindingOf = {"code": finding.code, "level": finding.code.level, "detail": finding.detail}
    if finding.reason is not None:
        content["allowed"] = finding.reason
    return content


def verdict_content(verdict: Verdict) -> VerdictOf:
    """Return a verdict as JSON."""
    return {
        "file": verdict.file.filename,
        "sha256": verdict.file.sha256,
        "ok": verdict.ok,
        "findings": [_finding_content(finding) for finding in verdict.findings if finding.refuses],
        "warnings": [_finding_content(finding) for finding in verdict.findings if not finding.refuses],
        "evidence": verdict.evidence,
        "sizes": verdict.sizes,
        "kernels": kernels_in(verdict.clean_rooms) if verdict.ok else None,
    }
