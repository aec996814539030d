"""What a statement says, as frozen values. Equality ignores where in the text a node stood."""
