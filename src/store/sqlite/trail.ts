import { isAddress } from '../../core/money/holder-address.ts';
import { type SqlScript, sql, write } from '../sql/statement.ts';
import { append, insertLink } from '../sql/trail.ts';
import { type Actor, SERVER, THE_TRAIL, type TrailAction } from '../trail.ts';
import { BEFORE_GENESIS, linkAfter } from '../trail-chain.ts';

/** The audit trail of 0.1. */
export const FORMER_TRAIL = `CREATE TABLE trail (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      actor TEXT NOT NULL CHECK (actor = 'cli' OR actor = 'key' OR actor = 'wallet' OR actor = 'server'),
      actor_name TEXT,
      action TEXT NOT NULL,
      key_id TEXT NOT NULL,
      details TEXT NOT NULL,
      request_id TEXT
    ) STRICT;
    CREATE INDEX trail_key ON trail (key_id);`;

/**
 * The audit trail is a chain of hashes, with personal words in a separate table. Triggers refuse updates, and deletions that no anchor
 * covers. The rows of 0.1 stay in `trail_before` until `chainFormer` has copied them.
 */
export const TRAIL_CHAIN = `CREATE TABLE trail_before AS SELECT * FROM trail;
    DROP TABLE trail;
    CREATE TABLE trail (
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

const SELECT_FORMER =
  sql(`SELECT time, actor, actor_name AS name, action, key_id AS keyId, details, request_id AS requestId
    FROM trail_before ORDER BY id`);

interface FormerRow {
  readonly time: number;
  readonly actor: 'cli' | 'key' | 'wallet' | 'server';
  readonly name: string | null;
  readonly action: TrailAction;
  readonly keyId: string;
  readonly details: string;
  readonly requestId: string | null;
}

const DROP_FORMER = sql('DROP TABLE trail_before');

/** Adds the audit trail of 0.1 to the chain, numbered from 1. An anchor before these entries states their number. */
export function* chainFormer(): SqlScript {
  // The table of the trail is STRICT, so its rows have these types.
  const rows = (yield write(SELECT_FORMER)) as unknown as readonly FormerRow[];
  yield write(DROP_FORMER);
  if (rows.length === 0) return;
  const details = { unchained_before: rows.length };
  const anchor = { time: Date.now(), actor: SERVER, action: 'anchor', subject: THE_TRAIL, details } as const;
  yield* insertLink(linkAfter(BEFORE_GENESIS, anchor));
  for (const { time, action, keyId, ...row } of rows) {
    const subject = { kind: isAddress(keyId) ? 'wallet' : 'key', id: keyId };
    yield* append({ time, actor: actorOf(row), action, subject, details: JSON.parse(row.details) });
  }
}

function actorOf({ actor, name, requestId }: Pick<FormerRow, 'actor' | 'name' | 'requestId'>): Actor {
  if (actor === 'server') return SERVER;
  if (actor === 'key') return { kind: actor, name: name ?? '', requestId: requestId ?? '' };
  return { kind: actor, name: name ?? '' };
}
