"""A pair on several computers: rank 0 decides, and the others follow."""
