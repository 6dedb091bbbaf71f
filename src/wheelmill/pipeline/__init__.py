"""The way of a wheel, stage after stage. Nothing else knows more than its own stage."""

from wheelmill.pipeline.catalogue import catalogue_of
from wheelmill.pipeline.publishing import build_index, release_folder
from wheelmill.pipeline.run import Factory, Report, run
from wheelmill.pipeline.trial import smoke

__all__ = ["Factory", "Report", "build_index", "catalogue_of", "release_folder", "run", "smoke"]
