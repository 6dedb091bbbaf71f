"""client: what is installed on a user's machine. Imports nothing of the factory extra."""
