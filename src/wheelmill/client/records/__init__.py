"""What the client knows: the target, where wheels are, which there are, and what was chosen."""

from __future__ import annotations

from wheelmill.client.records.candidates import Candidate, Source, SourceKind, SourceList
from wheelmill.client.records.resolution import Choice, Refusal, Resolution, Stage, Unresolved
from wheelmill.client.records.target import Gpu, TargetEnvironment

__all__ = [
    "Candidate",
    "Choice",
    "Gpu",
    "Refusal",
    "Resolution",
    "Source",
    "SourceKind",
    "SourceList",
    "Stage",
    "TargetEnvironment",
    "Unresolved",
]
