"""Progress displays that remember what they are told."""

from wheelmill.system.progress import Progress


class RecordedProgress(Progress):
    """Steps and lines, each in the order in which they came."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.lines: list[str] = []

    def step(self, text: str) -> None:
        """Remember a step."""
        self.steps.append(text)

    def line(self, text: str) -> None:
        """Remember a line."""
        self.lines.append(text)
