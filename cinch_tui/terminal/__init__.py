"""Terminal handling: taking over, painting, restoring, and suspending for other programs."""
