"""The way of a wheel, stage after stage. Nothing else knows more than its own stage."""

from wheelmill.pipeline.publishing import build_index, catalogue_of, release_folder
from wheelmill.pipeline.run import Factory, RunOutcome, run

__all__ = ["Factory", "RunOutcome", "build_index", "catalogue_of", "release_folder", "run"]
