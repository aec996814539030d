"""What a query means: names, keys, groups, joins, and what is wrong with it."""
