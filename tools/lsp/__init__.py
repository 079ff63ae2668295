"""Language servers: code intelligence for the model, and new errors after its edits.

Nothing here imports pygls before the first server starts; see `tools.lsp.servers`.
"""
