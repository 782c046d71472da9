import { isAddress } from '../../core/money/holder-address.ts';
import { type SqlScript, sql, write } from '../sql/statement.ts';
import { append, insertLink } from '../sql/trail.ts';
import { type Actor, SERVER, THE_TRAIL, type TrailAction } from '../trail.ts';
import { BEFORE_GENESIS, linkAfter } from '../trail-chain.ts';

/** The table of the audit trail is append-only: triggers refuse updates and deletions. `key_id` has no foreign key. */
const trailTable = (actors: readonly Actor['kind'][]) => `CREATE TABLE trail (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      actor TEXT NOT NULL CHECK (${actors.map((kind) => `actor = '${kind}'`).join(' OR ')}),
      actor_name TEXT,
      action TEXT NOT NULL,
      key_id TEXT NOT NULL,
      details TEXT NOT NULL,
      request_id TEXT
    ) STRICT;
    CREATE INDEX trail_key ON trail (key_id);
    CREATE TRIGGER trail_is_not_changed BEFORE UPDATE ON trail BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;
    CREATE TRIGGER trail_is_not_shortened BEFORE DELETE ON trail BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;`;

export const TRAIL_TABLE = trailTable(['cli', 'key', 'server']);

/** Copies the rows to a new table whose `actor` may be a wallet, because SQLite cannot change a CHECK in place. */
export const TRAIL_OF_WALLETS = `ALTER TABLE trail RENAME TO trail_before;
    DROP TRIGGER trail_is_not_changed;
    DROP TRIGGER trail_is_not_shortened;
    DROP INDEX trail_key;
    ${trailTable(['cli', 'key', 'wallet', 'server'])}
    INSERT INTO trail SELECT * FROM trail_before;
    DROP TABLE trail_before;`;

/**
 * The audit trail is a chain of hashes, with personal words in a separate table. Triggers refuse updates, and deletions that no anchor
 * covers. The earlier rows stay in `trail_before` until `chainEarlier` copies them.
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

const SELECT_EARLIER =
  sql(`SELECT time, actor, actor_name AS name, action, key_id AS keyId, details, request_id AS requestId
    FROM trail_before ORDER BY id`);

interface EarlierRow {
  readonly time: number;
  readonly actor: 'cli' | 'key' | 'wallet' | 'server';
  readonly name: string | null;
  readonly action: TrailAction;
  readonly keyId: string;
  readonly details: string;
  readonly requestId: string | null;
}

/**
 * Adds to the chain the audit-trail entries from before the chain existed, numbered from 1. An anchor before these entries states their
 * number.
 */
export function* chainEarlier(): SqlScript {
  // The table of the trail is STRICT, so its rows have these types.
  const rows = (yield write(SELECT_EARLIER)) as unknown as readonly EarlierRow[];
  if (rows.length === 0) return;
  const details = { unchained_before: rows.length };
  const anchor = { time: Date.now(), actor: SERVER, action: 'anchor', subject: THE_TRAIL, details } as const;
  yield* insertLink(linkAfter(BEFORE_GENESIS, anchor));
  for (const { time, action, keyId, ...row } of rows) {
    const subject = { kind: isAddress(keyId) ? 'wallet' : 'key', id: keyId };
    yield* append({ time, actor: actorOf(row), action, subject, details: JSON.parse(row.details) });
  }
}

function actorOf({ actor, name, requestId }: Pick<EarlierRow, 'actor' | 'name' | 'requestId'>): Actor {
  if (actor === 'server') return SERVER;
  if (actor === 'key') return { kind: actor, name: name ?? '', requestId: requestId ?? '' };
  return { kind: actor, name: name ?? '' };
}
