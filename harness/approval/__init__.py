"""Approval: the policy that assesses calls, permission rules, and the user's decisions."""
