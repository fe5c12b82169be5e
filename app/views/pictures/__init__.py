"""Pictures: the viewer, saving and copying, and the pages of PDFs."""
