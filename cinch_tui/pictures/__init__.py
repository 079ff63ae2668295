"""Pictures that a person shows to the agent: dropped, pasted or from the clipboard; and where they are kept."""
