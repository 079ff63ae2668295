"""The dialect `cats`: the tools of trustee, with its parameters and a window on one open file.

Source: CATS, the tools of trustee (https://github.com/podtan/trustee); its `open`, `goto` and `scroll_*` are those of
SWE-agent.
"""
