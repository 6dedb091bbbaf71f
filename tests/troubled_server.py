"""Servers on this machine that hang, drip or never end."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from typing import Final

TROUBLE: Final = {"hangs": (0.0, b""), "drips": (0.02, b"x"), "never ends": (0.02, b"x" * 65_536)}
"""Seconds between the pieces of an answer, and a piece."""


@contextmanager
def troubled_server(kind: str) -> Iterator[tuple[str, list[int]]]:
    """Serve any number of requests so; gives the URL, and what grows by one with each."""
    pause, piece = TROUBLE[kind]
    over, begun = Event(), list[int]()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" if piece else b"")
            while not over.wait(pause or 60):
                connection.sendall(piece)

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                begun.append(1)
                Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as end:
        end.callback(over.set)
        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/", begun
        listening.shutdown(socket.SHUT_RDWR)
