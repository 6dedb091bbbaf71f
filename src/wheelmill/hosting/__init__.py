"""Other people's hosts: the settings that a factory needs on GitHub, and the layout of kernels on the Hub."""
