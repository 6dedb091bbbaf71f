"""client: what is installed on a user's machine. Imports nothing of the factory extra.

target -> sources -> choose -> install -> lock -> project -> doctor: each knows those before it.
"""
