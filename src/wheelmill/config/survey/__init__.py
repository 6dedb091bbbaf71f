"""What a source says of how it is built; it is read and never run."""
