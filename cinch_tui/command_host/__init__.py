"""What commands may do, in each front end."""
