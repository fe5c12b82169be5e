"""A model hub on this machine: speaks enough of the hub's API for the real client, and misbehaves on request."""
