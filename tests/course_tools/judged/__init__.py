"""Submissions that deceive and submissions in odd styles, each with the marks that it deserves."""
