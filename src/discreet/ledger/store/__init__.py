"""Where a ledger is kept: SQLite and PostgreSQL, locks, keys, migrations."""
