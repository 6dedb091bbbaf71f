"""The way of a wheel, stage after stage. Nothing else knows more than its own stage."""

from wheelmill.pipeline.attested import attested_in, write_manifest_checksums, write_wheel_checksums
from wheelmill.pipeline.gate import Gate, GpuTrials, delivered_in
from wheelmill.pipeline.matrix_plan import read_plan
from wheelmill.pipeline.publishing import build_index, catalogue_of, release_folder
from wheelmill.pipeline.run import Factory, RunOutcome, released_wheels, run

__all__ = [
    "Factory",
    "Gate",
    "GpuTrials",
    "RunOutcome",
    "attested_in",
    "build_index",
    "catalogue_of",
    "delivered_in",
    "read_plan",
    "release_folder",
    "released_wheels",
    "run",
    "write_manifest_checksums",
    "write_wheel_checksums",
]
