"""Outlets whose target is a table of a database: rows and the position behind them in one transaction."""
