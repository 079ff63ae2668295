"""What commands may do and what they are told: in any front, and in the app."""
