"""What can be shown beside the conversation."""
