"""Sample project of the tour, with one bug and a test that shows it."""

from __future__ import annotations

SAMPLE: dict[str, str] = {
    "README.md": "# Till\n\nAdds up a receipt. Run the tests with `python3 -m unittest`.\n",
    "till/__init__.py": "",
    "till/receipt.py": '''"""A receipt: items, a discount, a total."""


def subtotal(prices: list[float]) -> float:
    return sum(prices)


def total(prices: list[float], discount: float = 0.0) -> float:
    """The sum after a discount given in percent."""
    return subtotal(prices) * (1 - discount)
''',
    "tests/__init__.py": "",
    "tests/test_receipt.py": """import unittest

from till.receipt import total


class TestTotal(unittest.TestCase):
    def test_without_discount(self) -> None:
        self.assertEqual(total([2.0, 3.0]), 5.0)

    def test_ten_percent_off(self) -> None:
        self.assertEqual(total([20.0, 30.0], discount=10), 45.0)


if __name__ == "__main__":
    unittest.main()
""",
}
