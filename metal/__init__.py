"""The Metal kernel sources, one file a kernel. README.md holds their contracts."""
