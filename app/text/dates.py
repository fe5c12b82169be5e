"""Dates and times in the window's language."""

from datetime import date

from PySide6.QtCore import QDate, QDateTime, QLocale

from app.text.language import tr


def short_date(seconds: float) -> str:
    """Format seconds since 1970 as a time of today, or as a date such as “Nov 10”."""
    moment, today = QDateTime.fromSecsSinceEpoch(int(seconds)), QDate.currentDate()
    if moment.date() == today:
        return QLocale().toString(moment.time(), QLocale.FormatType.ShortFormat)
    same_year = moment.date().year() == today.year()
    # as in the documentation of QDate.toString
    return QLocale().toString(moment.date(), tr("MMM d") if same_year else tr("MMM d, yyyy"))


def month_and_year(day: date) -> str:
    """Format the month of a date: “October 2026”."""
    return QLocale().toString(QDate(day.year, day.month, 1), tr("MMMM yyyy"))


def date_and_time(seconds: float) -> str:
    """Format seconds since 1970 as a date and time."""
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(seconds)), QLocale.FormatType.ShortFormat)
