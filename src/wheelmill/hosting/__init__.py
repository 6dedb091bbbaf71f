"""What a repository on GitHub must be set to, so that the factory's workflows can do their work in it."""
