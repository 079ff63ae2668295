"""Who may do what: the policy that judges a call, and what a person has allowed before."""
