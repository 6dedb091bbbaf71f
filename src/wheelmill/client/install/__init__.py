"""Installation of wheels into an environment: hash-checked downloads, and the installer."""
