-- The tables of a user's memory. The journal: what was said, and its segments.

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
-- What a caller keeps beside a message, and the segments whose facts are made and that stay warm.
CREATE TABLE IF NOT EXISTS metadata (
    message_id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS message_goes AFTER DELETE ON messages BEGIN
    DELETE FROM metadata WHERE message_id = old.message_id; END;
CREATE TABLE IF NOT EXISTS facts_made (segment_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS read_segment_goes AFTER DELETE ON segments BEGIN
    DELETE FROM facts_made WHERE segment_id = old.segment_id; END;

-- The words of the warm segments, whatever changes these.
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS segment_comes AFTER INSERT ON segments WHEN new.tier = 'warm' BEGIN
    INSERT INTO words (rowid, text) VALUES (new.number, new.text); END;
CREATE TRIGGER IF NOT EXISTS segment_goes AFTER DELETE ON segments WHEN old.tier = 'warm' BEGIN
    DELETE FROM words WHERE rowid = old.number; END;
CREATE TRIGGER IF NOT EXISTS segment_chills AFTER UPDATE OF tier ON segments
    WHEN old.tier = 'warm' AND new.tier <> 'warm' BEGIN
    DELETE FROM words WHERE rowid = old.number; END;

-- COLD. `successor` is the fact that this one gave way to, or ''.
CREATE TABLE IF NOT EXISTS facts (
    number INTEGER PRIMARY KEY, fact_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('preference', 'fact', 'event', 'relationship')),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1), created_at REAL NOT NULL,
    last_validated_at REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'deleted', 'merged')),
    successor TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS facts_by_status ON facts (status);
CREATE INDEX IF NOT EXISTS facts_by_successor ON facts (successor);
CREATE TABLE IF NOT EXISTS fact_sources (
    fact_id TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (fact_id, source)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fact_sources_by_source ON fact_sources (source);
-- `said` names the statement, so that one that comes again changes nothing.
CREATE TABLE IF NOT EXISTS fact_history (
    number INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, fact_id TEXT NOT NULL,
    old_id TEXT NOT NULL, text TEXT NOT NULL, category TEXT NOT NULL, confidence REAL NOT NULL,
    sources TEXT NOT NULL, at REAL NOT NULL, changed_at REAL NOT NULL, reason TEXT NOT NULL,
    said TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS fact_history_by_fact ON fact_history (fact_id);
CREATE INDEX IF NOT EXISTS fact_history_by_said ON fact_history (said);

-- The words of the active facts, whatever changes these.
CREATE VIRTUAL TABLE IF NOT EXISTS fact_words USING fts5(
    text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER IF NOT EXISTS fact_comes AFTER INSERT ON facts WHEN new.status = 'active' BEGIN
    INSERT INTO fact_words (rowid, text) VALUES (new.number, new.text); END;
CREATE TRIGGER IF NOT EXISTS fact_goes AFTER DELETE ON facts WHEN old.status = 'active' BEGIN
    DELETE FROM fact_words WHERE rowid = old.number; END;
CREATE TRIGGER IF NOT EXISTS fact_changes AFTER UPDATE OF text, status ON facts BEGIN
    DELETE FROM fact_words WHERE rowid = old.number;
    INSERT INTO fact_words (rowid, text)
        SELECT new.number, new.text WHERE new.status = 'active'; END;
