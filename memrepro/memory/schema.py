"""The tables of a user's journal; COLD's are in `cold_tables`."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE,
    speaker TEXT NOT NULL, at REAL NOT NULL, text TEXT NOT NULL, channel TEXT NOT NULL,
    importance REAL NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS messages_at ON messages (at, number);
CREATE TABLE IF NOT EXISTS segments (
    number INTEGER PRIMARY KEY, segment_id TEXT NOT NULL UNIQUE,
    tier TEXT NOT NULL CHECK (tier IN ('warm', 'cold', 'silent')),
    start REAL NOT NULL, end REAL NOT NULL, text TEXT NOT NULL, last_access REAL NOT NULL,
    accesses INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS segments_tier ON segments (tier, end);
CREATE INDEX IF NOT EXISTS segments_start ON segments (start);
CREATE INDEX IF NOT EXISTS segments_length ON segments (end - start);
CREATE TABLE IF NOT EXISTS segment_messages (
    segment_id TEXT NOT NULL, place INTEGER NOT NULL, message_id TEXT NOT NULL,
    PRIMARY KEY (segment_id, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    segment_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (segment_id, first, last)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, tokenize = 'unicode61 remove_diacritics 2');
"""
