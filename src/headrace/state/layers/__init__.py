"""What is put around a bytes store: types and measuring, caching, changelogs."""
