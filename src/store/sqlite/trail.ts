/**
 * The audit trail is a chain of hashes, with personal words in a separate table. Triggers refuse updates, and deletions that no anchor
 * covers.
 */
export const TRAIL_TABLES = `CREATE TABLE trail (
      id INTEGER PRIMARY KEY,
      previous TEXT NOT NULL,
      hash TEXT NOT NULL,
      time INTEGER NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      subject_kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      facts TEXT NOT NULL,
      request_id TEXT,
      by_seal TEXT,
      from_seal TEXT,
      details_seal TEXT
    ) STRICT;
    CREATE INDEX trail_subject ON trail (subject);
    CREATE INDEX trail_anchors ON trail (id) WHERE action = 'anchor';
    CREATE TABLE trail_words (
      entry INTEGER NOT NULL,
      slot TEXT NOT NULL,
      salt TEXT NOT NULL,
      words TEXT NOT NULL,
      PRIMARY KEY (entry, slot)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER trail_is_not_changed BEFORE UPDATE ON trail BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;
    CREATE TRIGGER trail_is_not_shortened BEFORE DELETE ON trail
      WHEN NOT EXISTS (SELECT 1 FROM trail WHERE action = 'anchor' AND id > OLD.id AND facts ->> '$.through' >= OLD.id) BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;
    CREATE TRIGGER trail_words_are_not_changed BEFORE UPDATE ON trail_words BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;`;
