"""Tools for dates: the day of the week, and the working days between two dates."""

from __future__ import annotations

from datetime import date, timedelta

from harness import tool

SATURDAY = 5


@tool(risk="read")
def weekday(day: date) -> str:
    """Return the day of the week of a date.

    Args:
        day: The date, as YYYY-MM-DD.
    """
    return f"{day:%A}"


@tool(risk="read")
def working_days(start: date, end: date) -> int:
    """Count the days from Monday to Friday between two dates, both included.

    Args:
        start: The first date, as YYYY-MM-DD.
        end: The last date, as YYYY-MM-DD.
    """
    days = (start + timedelta(each) for each in range((end - start).days + 1))
    return sum(day.weekday() < SATURDAY for day in days)


TOOLS = [weekday, working_days]
