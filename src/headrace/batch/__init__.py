"""What a batch is, wherever its tasks run: what it reads, its visits, what travels between them, and the one commit."""
