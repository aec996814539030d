"""State stores: contracts, the ways to keep bytes, and the layers that add typing, caching and changelogs."""
