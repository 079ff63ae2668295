"""The conversation on the screen: blocks, their rendering into lines, and the one view that shows them (design 7)."""
