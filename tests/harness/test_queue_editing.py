from __future__ import annotations

import threading

import pytest

from harness.inbox import Queue
from harness.messages import UserMessage, user


def filled(*texts: str) -> tuple[Queue, list[UserMessage]]:
    queue, messages = Queue(), [user(text) for text in texts]
    for message in messages:
        queue.put(message)
    return queue, messages


def texts(queue: Queue) -> list[str]:
    return [message.text for message in queue.messages]


def test_message_is_removed_by_its_id_and_returned():
    queue, [first, *_] = filled("a", "b", "c")

    assert queue.remove(first.id) is first
    assert texts(queue) == ["b", "c"]


def test_message_is_replaced_in_its_place():
    queue, [_, second, _] = filled("a", "b", "c")

    assert queue.replace(second.id, user("B"))
    assert texts(queue) == ["a", "B", "c"]


@pytest.mark.parametrize(
    ("by", "order"), [(1, "acb"), (-1, "bac"), (9, "acb"), (-9, "bac"), (0, "abc")], ids=lambda value: str(value)
)
def test_message_is_moved_within_bounds(by: int, order: str):
    queue, [_, second, _] = filled("a", "b", "c")

    assert queue.move(second.id, by)
    assert texts(queue) == list(order)


def test_delivered_message_cannot_be_changed():
    queue, [first, *_] = filled("a", "b")
    queue.take()

    assert queue.remove(first.id) is None
    assert not queue.replace(first.id, user("x"))
    assert not queue.move(first.id, 1)
    assert queue.place(first.id) is None
    assert texts(queue) == ["b"]


@pytest.mark.parametrize(("at", "order"), [(0, "xab"), (1, "axb"), (7, "abx"), (None, "abx")])
def test_message_is_inserted_at_a_position(at: int | None, order: str):
    queue, _ = filled("a", "b")

    queue.put(user("x"), at)

    assert texts(queue) == list(order)


def test_two_threads_cannot_remove_the_same_message():
    queue, messages = filled(*(str(number) for number in range(2_000)))
    removed: list[UserMessage] = []

    def remove_all() -> None:
        removed.extend(each for message in messages if (each := queue.remove(message.id)))

    thread = threading.Thread(target=remove_all)
    thread.start()
    taken: list[UserMessage] = []
    while thread.is_alive() or len(queue):
        taken.extend(queue.take())
        queue.move(messages[-1].id, -5)
    thread.join()

    assert sorted(int(message.text) for message in (*taken, *removed)) == list(range(2_000))
