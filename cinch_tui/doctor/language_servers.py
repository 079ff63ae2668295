"""Check of the language servers that are installed."""

from __future__ import annotations

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.doctor.findings import Finding
from cinch_tui.language_servers import lsp_options
from cinch_tui.trust.prompt import folder_state
from harness.terminal_text import escape_controls
from tools.lsp.options import installed_servers


def language_server_finding(options: Options, settings: Settings) -> Finding:
    """Return the language servers that are found; none is started."""
    subject = "lsp"
    if not settings.lsp.enabled:
        return Finding("ok", subject, "language servers are disabled")
    is_trusted = folder_state(options)[1].is_trusted
    lsp, problems = lsp_options(options, settings, lambda: is_trusted)
    if problems:
        return Finding("note", subject, escape_controls("; ".join(problems)), "correct the configuration")
    found = installed_servers(options.cwd, lsp)
    if not found:
        return Finding("ok", subject, "no language server found; install one for errors after edits")
    held = [each.server.name for each in found if each.server.runs_code and not is_trusted]
    names = ", ".join(each.server.name for each in found)
    waiting = f"; only in a trusted folder: {', '.join(held)}" if held else ""
    return Finding("ok", subject, escape_controls(f"language servers: {names}{waiting}"))
