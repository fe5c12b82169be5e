"""What targets see: rules for images, prepared pixels, and the towers."""
