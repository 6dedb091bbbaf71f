"""Hosts of third parties: the settings that a factory needs on GitHub, and the layout of kernels on the Hub."""
