import { isAddress } from '../../core/holder-address.ts';
import {
  type Actor,
  type SaltedWords,
  SERVER,
  type SubjectEvent,
  THE_TRAIL,
  type TrailAction,
  type TrailEvent,
  type TrailHead,
  type TrailLink,
  type TrailTable,
  WORD_SLOTS,
} from '../trail.ts';
import { anchorOf, BEFORE_GENESIS, entryOf, erasureOf, GENESIS, linkAfter } from '../trail-chain.ts';
import {
  first,
  type SqlReader,
  type SqlTurn,
  type SqlValue,
  type SqlWrite,
  type Statement,
  sql,
  write,
} from './statement.ts';

/** Append-only: triggers refuse updates and deletions. `key_id` has no foreign key. */
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

/** Copies the rows to a table whose `actor` may be a wallet: a CHECK cannot be changed in place. */
export const TRAIL_OF_WALLETS = `ALTER TABLE trail RENAME TO trail_before;
    DROP TRIGGER trail_is_not_changed;
    DROP TRIGGER trail_is_not_shortened;
    DROP INDEX trail_key;
    ${trailTable(['cli', 'key', 'wallet', 'server'])}
    INSERT INTO trail SELECT * FROM trail_before;
    DROP TABLE trail_before;`;

/**
 * A chain of hashes, with personal words beside it. Triggers refuse updates, and deletions that no anchor covers. The earlier rows
 * stand in `trail_before`: `chainEarlier` takes them over.
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

const DAY_MS = 86_400_000;

const SELECT_HEAD = sql('SELECT id, hash FROM trail ORDER BY id DESC LIMIT 1');
const INSERT =
  sql(`INSERT INTO trail (id, previous, hash, time, actor, action, subject_kind, subject, facts, request_id, by_seal,
    from_seal, details_seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_WORDS = sql('INSERT INTO trail_words (entry, slot, salt, words) VALUES (?, ?, ?, ?)');

/** These select the subjects of entries, at the moment of the commit. */
const THE_SUBJECT = sql('SELECT ? AS id');
/** None, which fails its commit, unless the key is valid at that moment. */
const IF_VALID = sql(
  'SELECT id FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)',
  { mustChange: true },
);
/** The same for a key that was changed meanwhile, or is the last admin key. */
const IF_UNCHANGED = sql(
  `SELECT id FROM keys WHERE id = ?1 AND revoked_at IS NULL AND changed = ?2 AND (?3 IS NULL OR EXISTS (
      SELECT 1 FROM keys WHERE id <> ?1 AND instr(scopes, '"admin"') > 0 AND revoked_at IS NULL AND suspended_at IS NULL
        AND (expires_at IS NULL OR expires_at > ?3)))`,
  { mustChange: true },
);
/** The same for a wallet with too many unrevoked keys, or too many made since a time. */
const IF_ROOM = sql(
  `SELECT ? AS id WHERE (SELECT count(*) FROM keys WHERE wallet = ? AND revoked_at IS NULL) < ?
      AND (SELECT count(*) FROM keys WHERE wallet = ? AND created_at > ?) < ?`,
  { mustChange: true },
);
/** Whether a key is valid by the secret with a hash; `?3` is the time. */
const isValidBy = (key: string, made: string): string => `${key}.revoked_at IS NULL AND ${key}.suspended_at IS NULL
      AND (${key}.expires_at IS NULL OR ${key}.expires_at > ?3)
      AND (${key}.hash = ${made} OR ${key}.previous_hash = ${made} AND ${key}.previous_until > ?3)`;
/** The same for a line: its keys from the parent to the first, while each is valid by the secret that made the one below. */
const IF_ROOM_BELOW = sql(
  `WITH RECURSIVE line (id, parent, made, depth) AS (
      SELECT id, parent, parent_hash, 1 FROM keys WHERE id = ?2 AND ${isValidBy('keys', '?4')}
      UNION ALL SELECT keys.id, keys.parent, keys.parent_hash, depth + 1 FROM line JOIN keys ON keys.id = line.parent
        WHERE depth < ?5 AND ${isValidBy('keys', 'line.made')})
    SELECT ?1 AS id FROM line JOIN keys AS root ON root.id = line.id WHERE line.parent IS NULL AND root.wallet IS NULL
      AND (SELECT count(*) FROM keys JOIN keys AS above ON above.id = keys.parent WHERE keys.parent = ?2
        AND keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > ?3)
        AND (above.hash = keys.parent_hash OR above.previous_hash = keys.parent_hash AND above.previous_until > ?3)) < ?6
      AND (SELECT count(*) FROM keys WHERE keys.root = line.id AND created_at > ?7) < ?8`,
  { mustChange: true },
);
const OF_WALLET = sql(
  'SELECT id FROM keys WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ? ORDER BY created_at, id',
);

const ERASABLE_OF_ACTOR = sql(
  `SELECT entry, slot FROM trail_words WHERE slot IN ('by', 'from') AND entry IN
      (SELECT entry FROM trail_words WHERE slot = 'by' AND words = ?) ORDER BY entry, slot`,
  { mustChange: true },
);
const ERASABLE_OF_SUBJECT = sql(
  `SELECT entry, slot FROM trail_words WHERE slot = 'details' AND entry IN (SELECT id FROM trail WHERE subject = ?)
      ORDER BY entry, slot`,
  { mustChange: true },
);
const OVERWRITE = sql('PRAGMA secure_delete = ON');
const OVERWRITE_NO_MORE = sql('PRAGMA secure_delete = OFF');
const ERASE = sql('DELETE FROM trail_words WHERE entry = ? AND slot = ?');

/** The last entry before the first one that stays. An anchor goes with the entries that it stands among. */
const LAST_BEFORE = sql(`SELECT id, hash FROM trail WHERE id = (SELECT min(id) FROM (
      SELECT min(id) - 1 AS id FROM trail WHERE time >= ? AND action <> 'anchor' UNION ALL SELECT max(id) FROM trail))
    AND id >= (SELECT min(id) FROM trail WHERE action <> 'anchor')`);
const PRUNE_WORDS = sql('DELETE FROM trail_words WHERE entry <= ?');
const PRUNE = sql('DELETE FROM trail WHERE id <= ?');

const SELECT = `SELECT id, previous, hash, time, actor, action, subject_kind AS subjectKind, subject, facts, request_id AS requestId,
    by_seal AS bySeal, from_seal AS fromSeal, details_seal AS detailsSeal,
    (SELECT json_group_array(json_array(slot, salt, words)) FROM trail_words WHERE entry = trail.id) AS words FROM trail`;
const FILTERED = `(?1 IS NULL OR subject_kind = ?1) AND (?2 IS NULL OR id < ?2) AND (?4 IS NULL OR action = ?4)
    AND (?5 IS NULL OR actor = ?5 OR EXISTS (
      SELECT 1 FROM trail_words WHERE entry = trail.id AND slot = 'by' AND words = ?5))
    AND (?6 IS NULL OR time >= ?6) AND (?7 IS NULL OR time < ?7) ORDER BY id DESC LIMIT ?3`;
const SELECT_ALL = sql(`${SELECT} WHERE ${FILTERED}`);
const SELECT_OF_SUBJECT = sql(`${SELECT} WHERE subject = ?8 AND ${FILTERED}`);
const SELECT_LINKS = sql(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`);

interface TrailRow extends Omit<TrailLink, 'subject' | 'seals' | 'words'> {
  readonly subjectKind: string;
  readonly subject: string;
  readonly bySeal: string | null;
  readonly fromSeal: string | null;
  readonly detailsSeal: string | null;
  /** JSON: slot, salt and text of each. */
  readonly words: string;
}

export const sqliteTrail = (db: SqlReader): TrailTable => ({
  add: (event) => chained(THE_SUBJECT, [event.subject.id], event, event.subject.kind),
  addIfValid: (event, validAt) => chained(IF_VALID, [event.keyId, validAt], event),
  addIfUnchanged: (event, { version, otherAdminAt }) =>
    chained(IF_UNCHANGED, [event.keyId, version, otherAdminAt], event),
  addIfRoom: (event, holder, { unrevoked, aDay }) =>
    chained(IF_ROOM, [event.keyId, holder, unrevoked, holder, event.time - DAY_MS, aDay], event),
  addIfRoomBelow: (event, { parent, hash, depth, live, aDay }) =>
    chained(IF_ROOM_BELOW, [event.keyId, parent, event.time, hash, depth, live, event.time - DAY_MS, aDay], event),
  addOfHolder: (event, holder, exceptId) => chained(OF_WALLET, [holder, exceptId], event),
  erase(words, actor, time) {
    const erasable =
      'actorName' in words ? write(ERASABLE_OF_ACTOR, words.actorName) : write(ERASABLE_OF_SUBJECT, words.subject);
    const follow: SqlWrite['follow'] = (rows, turn) => {
      append(
        turn,
        erasureOf(
          rows.map(({ entry, slot }) => `${entry}.${slot}`),
          actor,
          time,
        ),
      );
      turn.run(OVERWRITE);
      for (const { entry = null, slot = null } of rows) turn.run(ERASE, entry, slot);
      turn.run(OVERWRITE_NO_MORE);
    };
    return { ...erasable, follow };
  },
  prune(before, time) {
    const follow: SqlWrite['follow'] = ([last], turn) => {
      const through = { id: Number(last?.id), hash: String(last?.hash) };
      append(turn, anchorOf(through, time));
      turn.run(PRUNE_WORDS, through.id);
      turn.run(PRUNE, through.id);
    };
    return { ...write(LAST_BEFORE, before), follow };
  },
  // Writers take their turns.
  horizon: async () => (await first<TrailHead>(db, SELECT_HEAD))?.id ?? 0,
  async list({ keyId, kind = null, before = null, limit, action = null, actor = null, from = null, to = null }) {
    const filters = [kind, before, limit, action, actor, from, to];
    const rows =
      keyId === null
        ? await db.query<TrailRow>(SELECT_ALL, filters)
        : await db.query<TrailRow>(SELECT_OF_SUBJECT, [...filters, keyId]);
    return rows.map((row) => entryOf(linkOf(row)));
  },
  links: async (after, limit) => (await db.query<TrailRow>(SELECT_LINKS, [after, limit])).map(linkOf),
});

/** Adds an entry for each subject that a statement selects, behind the head that its transaction reads: writers take their turns. */
const chained = (subjects: Statement, params: readonly SqlValue[], event: TrailEvent, kind = 'key'): SqlWrite => ({
  ...write(subjects, ...params),
  follow(rows, turn) {
    for (const { id } of rows) append(turn, { ...event, subject: { kind, id: String(id) } });
  },
});

function append(turn: SqlTurn, event: SubjectEvent): void {
  const [head = GENESIS] = turn.all<TrailHead>(SELECT_HEAD);
  insert(turn, linkAfter(head, event));
}

function insert(turn: SqlTurn, link: TrailLink): void {
  const { id, previous, hash, time, actor, action, subject, facts, requestId, seals, words } = link;
  const sealed = [seals.by, seals.from, seals.details];
  turn.run(INSERT, id, previous, hash, time, actor, action, subject.kind, subject.id, facts, requestId, ...sealed);
  for (const slot of WORD_SLOTS) {
    const own = words[slot];
    if (own) turn.run(INSERT_WORDS, id, slot, own.salt, own.text);
  }
}

function linkOf({ subjectKind, subject, bySeal, fromSeal, detailsSeal, words, ...row }: TrailRow): TrailLink {
  const beside: [string, string, string][] = JSON.parse(words);
  return {
    ...row,
    subject: { kind: subjectKind, id: subject },
    seals: { by: bySeal, from: fromSeal, details: detailsSeal },
    words: Object.fromEntries(beside.map(([slot, salt, text]): [string, SaltedWords] => [slot, { salt, text }])),
  };
}

interface EarlierRow {
  readonly time: number;
  readonly actor: 'cli' | 'key' | 'wallet' | 'server';
  readonly name: string | null;
  readonly action: TrailAction;
  readonly keyId: string;
  readonly details: string;
  readonly requestId: string | null;
}

const SELECT_EARLIER =
  sql(`SELECT time, actor, actor_name AS name, action, key_id AS keyId, details, request_id AS requestId
    FROM trail_before ORDER BY id`);

/** Chains the entries of before the chain, behind an anchor that says how many they are, numbered from 1. */
export function chainEarlier(turn: SqlTurn): void {
  const rows = turn.all<EarlierRow>(SELECT_EARLIER);
  if (rows.length === 0) return;
  const details = { unchained_before: rows.length };
  insert(
    turn,
    linkAfter(BEFORE_GENESIS, { time: Date.now(), actor: SERVER, action: 'anchor', subject: THE_TRAIL, details }),
  );
  for (const { time, action, keyId, ...row } of rows) {
    const subject = { kind: isAddress(keyId) ? 'wallet' : 'key', id: keyId };
    append(turn, { time, actor: actorOf(row), action, subject, details: JSON.parse(row.details) });
  }
}

function actorOf({ actor, name, requestId }: Pick<EarlierRow, 'actor' | 'name' | 'requestId'>): Actor {
  if (actor === 'server') return SERVER;
  if (actor === 'key') return { kind: actor, name: name ?? '', requestId: requestId ?? '' };
  return { kind: actor, name: name ?? '' };
}
