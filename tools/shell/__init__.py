"""Analysis of shell commands: their syntax, the programs they run, and the risk of both."""
