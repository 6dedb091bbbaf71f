"""The way of a wheel, stage after stage. Nothing else knows more than its own stage."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from wheelmill.build.local import build_locally
from wheelmill.build.records import provenance_of
from wheelmill.errors import BuildError, CompileError, RefusedError, ReleaseError, SmokeError, WheelmillError
from wheelmill.files import write_bytes
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serving
from wheelmill.index.write import write_site
from wheelmill.names import ReleaseTag
from wheelmill.plan.failures import inputs_of
from wheelmill.plan.records import BuildTarget, KnownFailure
from wheelmill.progress import Progress
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.release.rebuild import numbered
from wheelmill.release.records import SIDECAR_SUFFIX, Manifest
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.local import try_in_clean_room
from wheelmill.smoke.records import CleanRoom, TestedWheel, Verdict, certificate_path, certify, tested_wheel_at
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.records import Finding, WheelFile


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a run did."""

    verdicts: tuple[Verdict, ...]
    releases: tuple[ReleaseTag, ...]
    failures: tuple[WheelmillError, ...]
    """Builds that failed and wheels that were refused, in the order of the plan."""


def run(
    targets: Iterable[BuildTarget], *, policy: str, store: DirectoryStore, output: Path, progress: Progress
) -> Report:
    """Take targets the whole way; what fails does not hold up the others.

    Args:
        targets: what to build.
        policy: ``auto``, or a platform policy without its machine.
        store: where releases are kept.
        output: gets ``wheels`` and ``site``.
        progress: told of every stage.

    Raises:
        ReleaseError: the wheels cannot be published.
    """
    verdicts: list[Verdict] = []
    tested: list[TestedWheel] = []
    failures: list[WheelmillError] = []
    published = {entry.filename: entry.sha256 for manifest in store.manifests() for entry in manifest.wheels}
    for target in targets:
        try:
            built = build_locally(target, policy=policy, output=output / "wheels", progress=progress)
            rebuilt = numbered(built, published)
            if rebuilt is None:
                progress.step(f"{built.file.filename} is published already, byte for byte")
                continue
            verdicts.append(verdict := smoke(rebuilt.file, progress=progress))
            tested.append(certify(verdict))
        except (BuildError, SmokeError) as error:
            progress.step(error.explained)
            failures.append(error)
            if _would_fail_again(error):
                store.remember_failure(inputs_of(target), _known_failure(target, error))
    manifests = publish(store, tested, now=datetime.now(UTC))
    for manifest in manifests:
        progress.step(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    base_url = quote(os.path.relpath(store.directory, output / "site"))
    build_index(store.manifests(), base_url=base_url, output=output / "site")
    return Report(
        verdicts=tuple(verdicts),
        releases=tuple(manifest.tag for manifest in manifests),
        failures=tuple(failures),
    )


def _would_fail_again(error: BuildError | SmokeError) -> bool:
    """Whether the fault is in the inputs, not in the network or in what this machine lacks."""
    return isinstance(error, CompileError | RefusedError)


def _known_failure(target: BuildTarget, error: WheelmillError) -> KnownFailure:
    first_line = str(error).splitlines()[0]
    return KnownFailure(id=target.cell.id, failed_at=datetime.now(UTC).replace(microsecond=0), reason=first_line)


def smoke(file: WheelFile, *, progress: Progress) -> Verdict:
    """Examine a wheel's bytes; if they have no findings, install it from an index of its own in a clean room.

    A certificate that it had is taken away: what counts is what is found now.
    """
    progress.step(f"smoke: {file.filename}")
    certificate_path(file.path).unlink(missing_ok=True)
    provenance = provenance_of(file)
    contents = open_wheel(file, provenance)
    if not isinstance(contents, Contents):
        return Verdict(file=file, provenance=provenance, findings=contents, evidence=None, clean_room=None)
    outcome = findings_of(contents) or _try_from_throwaway_index(contents)
    findings, room = ((), outcome) if isinstance(outcome, CleanRoom) else (outcome, None)
    return Verdict(file=file, provenance=provenance, findings=findings, evidence=contents.evidence, clean_room=room)


def _try_from_throwaway_index(contents: Contents) -> CleanRoom | tuple[Finding, ...]:
    """What is tested is what a user will do, so the candidate is installed from a real index."""
    with tempfile.TemporaryDirectory(prefix="wheelmill-candidate-") as folder:
        files = Path(folder, "files")
        files.mkdir()
        shutil.copyfile(contents.file.path, files / contents.file.filename)
        write_bytes(files / (contents.file.filename + SIDECAR_SUFFIX), metadata_bytes(contents.file.path))
        site = site_of_folder(files, "../files", warn=lambda _text: None)
        write_site(pages_of(site), Path(folder, "site"))
        with serving(Path(folder)) as url:
            return try_in_clean_room(contents, f"{url}site/{site.trees[-1].folder}/")


def release_folder(directory: Path, store: DirectoryStore) -> tuple[Manifest, ...]:
    """Publish the wheels of a folder that passed smoke.

    Raises:
        ReleaseError: one of them did not, or is published with other bytes.
    """
    paths = sorted(directory.glob("*.whl"))
    tested = {path: tested_wheel_at(path) for path in paths}
    if untested := [path.name for path, wheel in tested.items() if wheel is None]:
        raise ReleaseError(f"not tested: {', '.join(untested)}", hint=f"run 'wheelmill smoke {directory}/*.whl' first")
    return publish(store, [wheel for wheel in tested.values() if wheel], now=datetime.now(UTC))


def build_index(manifests: Sequence[Manifest], *, base_url: str, output: Path) -> int:
    """Regenerate the site of all releases; returns the number of its pages."""
    pages = pages_of(site_of_releases(manifests, base_url))
    write_site(pages, output)
    return len(pages)
