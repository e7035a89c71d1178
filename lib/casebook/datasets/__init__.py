"""What experiments read: cards, checksummed sources and loaders."""
