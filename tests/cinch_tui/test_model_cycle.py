from __future__ import annotations

from cinch_tui.command_host.chat import ModelCycle


def test_available_models_cycle():
    models = ModelCycle()
    at_hand = ["a/one", "b/two"]

    gone_through = [current := "c/chosen"]
    for _ in range(4):
        current = models.step(current, at_hand)
        gone_through.append(current)

    assert gone_through == ["c/chosen", "a/one", "b/two", "c/chosen", "a/one"]


def test_without_another_model_the_current_one_stays():
    assert ModelCycle().step("a/one", ["", "a/one"]) == "a/one"


def test_a_preset_without_a_model_is_no_model_to_go_to():
    assert ModelCycle().step("a/one", ["anthropic"]) == "a/one"
