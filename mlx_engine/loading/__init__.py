"""Loading a pair: the target, its drafter, and the first passes."""
