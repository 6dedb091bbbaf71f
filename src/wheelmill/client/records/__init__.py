"""What the client knows: the target, where wheels are, which there are, and what was chosen."""

from __future__ import annotations

from wheelmill.client.records.candidates import Candidate, Source, SourceKind, SourceList
from wheelmill.client.records.resolution import Aspect, Choice, Mismatch, Resolution, Unresolved
from wheelmill.client.records.target import Gpu, TargetEnvironment

__all__ = [
    "Aspect",
    "Candidate",
    "Choice",
    "Gpu",
    "Mismatch",
    "Resolution",
    "Source",
    "SourceKind",
    "SourceList",
    "TargetEnvironment",
    "Unresolved",
]
