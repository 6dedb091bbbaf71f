"""What commands of the factory and of the client have in common."""
