"""What cinch knows of terminals: taking one over, painting, giving it back, and lending it to another program."""
