"""The operating system: programs, files, git, containers, time."""
