"""Code that commands of the factory and of the client share."""
