"""What is drawn, apart from the widgets that draw it."""
