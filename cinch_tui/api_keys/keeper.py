"""Storing the API key of one provider, and applying it to the running agent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cinch_tui.api_keys.check import KeyAccepted, KeyCheck, KeyRefused, check_key
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from providers.catalog import EnvironmentCredentials, Preset, Secret
from providers.installed import each_preset

if TYPE_CHECKING:
    from cinch_tui.assembly import Assembly


def keyed_preset(name: str) -> Preset:
    """The provider of that name, if it takes keys.

    Raises:
        ConfigError: there is none.
    """
    known = {preset.name: preset for preset in each_preset() if preset.variables}
    if name not in known:
        raise ConfigError(f"there is no provider {name!r}; there are {', '.join(known)}")
    return known[name]


@dataclass(frozen=True, slots=True)
class KeyKeeper:
    """The key of one provider, for the agent of `assembly`."""

    assembly: Assembly
    preset: Preset

    @property
    def environment_key(self) -> Secret | None:
        """The key that wins over a stored one."""
        return EnvironmentCredentials(self.assembly.keys.environ).find(self.preset.name, self.preset.variables)

    @property
    def note(self) -> str:
        """A sentence about the environment variable that wins, shown before a key is entered; may be empty."""
        found = self.environment_key
        return f"{found.variable} is set in the environment and wins over a stored key." if found else ""

    async def check(self, secret: str) -> KeyCheck:
        """Send one small request with the key, to the model in use where it is this provider's."""
        spec = self.assembly.agent.state.model.spec
        if spec.provider != self.preset.name:
            return await check_key(self.preset, secret)
        return await check_key(self.preset, secret, model_id=spec.model_id, base_url=spec.base_url)

    async def keep(self, secret: str, verdict: KeyCheck) -> str:
        """Store the key and use it from the next request on; returns what to report to the user.

        Raises:
            ConfigError: it could not be stored.
        """
        keys, name, label = self.assembly.keys, self.preset.name, self.preset.label
        place = await asyncio.to_thread(keys.store, name, secret)
        report = [f"{_verdict(verdict, label)} It is stored in {place}."]
        found = self.environment_key
        if found and found.value != secret:
            report.append(await self._beside_environment(found, secret))
        if self._is_in_use:
            self._apply()
            if not found or keys.overrides(name):
                report.append(f"{self.assembly.agent.state.model.spec.name} uses it from the next request on.")
        return " ".join(report)

    async def _beside_environment(self, found: Secret, secret: str) -> str:
        variable = found.variable
        if isinstance(await self.check(found.value), KeyRefused):
            self.assembly.keys.use_now(self.preset.name, secret)
            return (
                f"The key in {variable} was rejected, so this process uses the new one; "
                f"unset {variable} or correct it before the next start."
            )
        return f"{variable} is set in the environment and wins over the stored key; unset it to use the stored key."

    @property
    def _is_in_use(self) -> bool:
        return self.assembly.agent.state.model.spec.provider == self.preset.name

    def _apply(self) -> None:
        spec = self.assembly.agent.state.model.spec
        self.assembly.agent.set_model(self.assembly.connect(spec.name, spec.thinking))


def _verdict(verdict: KeyCheck, label: str) -> str:
    match verdict:
        case KeyAccepted(remark) if remark:
            return f"{label} accepted the key, but refused the test request: {remark.rstrip('.')}."
        case KeyAccepted():
            return f"{label} accepted the key."
        case _:
            return f"The key for {label} was not checked."
