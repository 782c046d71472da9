import { visible } from '../../core/text/visible.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import {
  type SaltedWords,
  type SubjectEvent,
  type TrailEvent,
  type TrailHead,
  type TrailLink,
  type TrailTable,
  WORD_SLOTS,
} from '../trail.ts';
import { anchorOf, entryOf, erasureOf, GENESIS, linkAfter } from '../trail-chain.ts';
import { childrenOf, madeBy, unrevokedOf } from './keys.ts';
import { raiseOf } from './news.ts';
import {
  first,
  type SqlReader,
  type SqlRow,
  type SqlScript,
  type SqlValue,
  type SqlWrite,
  type Statement,
  sql,
  write,
} from './statement.ts';

const SELECT_HEAD = sql('SELECT id, hash FROM trail ORDER BY id DESC LIMIT 1');
const INSERT =
  sql(`INSERT INTO trail (id, previous, hash, time, actor, action, subject_kind, subject, facts, request_id, by_seal,
    from_seal, details_seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_WORDS = sql('INSERT INTO trail_words (entry, slot, salt, words) VALUES (?, ?, ?, ?)');

const LINK_COLUMNS = {
  ...{
    id: 'bigint',
    previous: 'text',
    hash: 'text',
    time: 'bigint',
    actor: 'text',
    action: 'text',
    subject_kind: 'text',
  },
  ...{ subject: 'text', facts: 'text', request_id: 'text', by_seal: 'text', from_seal: 'text', details_seal: 'text' },
};
const WORD_COLUMNS = { entry: 'bigint', slot: 'text', salt: 'text', words: 'text' };

/** A statement that inserts rows, which it takes as one JSON array of objects. */
function insertRows(table: string, columns: Readonly<Record<string, string>>): Statement {
  const names = Object.keys(columns);
  const insert = `INSERT INTO ${table} (${names.join(', ')}) SELECT`;
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return sql(`${insert} ${names.map((name) => `value ->> '${name}'`).join(', ')} FROM json_each(?)`, {
    inPostgres: `${insert} ${names.join(', ')} FROM json_to_recordset(?::json) AS given (${types.join(', ')})`,
  });
}
const INSERT_LINKS = insertRows('trail', LINK_COLUMNS);
const INSERT_ALL_WORDS = insertRows('trail_words', WORD_COLUMNS);

/** Selects a given subject of a new trail entry, without a condition. */
const THE_SUBJECT = sql('SELECT ? AS id');
/** Selects the key if it is valid at the moment of the commit. For an invalid key, the statement selects no row, and the commit fails. */
const IF_VALID = sql(
  'SELECT id FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)',
  { mustChange: true },
);
/**
 * Selects the key unless the key was changed after the caller read it, or is the last admin key. If no row is selected, the commit fails.
 */
const IF_UNCHANGED = sql(
  `SELECT id FROM keys WHERE id = ?1 AND revoked_at IS NULL AND changed = ?2 AND (CAST(?3 AS BIGINT) IS NULL OR EXISTS (
      SELECT 1 FROM keys WHERE id <> ?1 AND scopes LIKE '%"admin"%' AND revoked_at IS NULL AND suspended_at IS NULL
        AND (expires_at IS NULL OR expires_at > ?3)))`,
  { mustChange: true },
);
/** Selects no row, so that the commit fails, if a wallet has too many unrevoked keys or created too many keys since a time. */
const IF_ROOM = sql(
  `SELECT ? AS id WHERE (SELECT count(*) FROM keys WHERE wallet = ? AND revoked_at IS NULL) < ?
      AND (SELECT count(*) FROM keys WHERE wallet = ? AND created_at > ?) < ?`,
  { mustChange: true },
);
/** Selects no row, so that the commit fails, if a user has too many unrevoked keys or created too many keys since a time. */
const IF_ROOM_OF_USER = sql(`SELECT ?1 AS id WHERE ${unrevokedOf('?2')} < ?4 AND ${madeBy('?3', '?5')} < ?6`, {
  mustChange: true,
});
/** The condition that a key is valid and has a secret with the given hash. The parameter `?3` is the time. */
const isValidBy = (key: string, made: string): string => `${key}.revoked_at IS NULL AND ${key}.suspended_at IS NULL
      AND (${key}.expires_at IS NULL OR ${key}.expires_at > ?3)
      AND (${key}.hash = ${made} OR ${key}.previous_hash = ${made} AND ${key}.previous_until > ?3)`;
/** The user whose limits count the child keys of a line, read from the first key of the line; null for a line of an operator. */
const OWNER = 'coalesce(root."user", root.maker)';
/**
 * Selects no row, so that the commit fails, if a line has no room for another key. The statement walks from the parent key to the first key
 * of the line. Each key must be valid with the secret that created the next key of the line.
 */
const IF_ROOM_BELOW = sql(
  `WITH RECURSIVE line (id, parent, made, depth) AS (
      SELECT id, parent, parent_hash, 1 FROM keys WHERE id = ?2 AND ${isValidBy('keys', '?4')}
      UNION ALL SELECT keys.id, keys.parent, keys.parent_hash, depth + 1 FROM line JOIN keys ON keys.id = line.parent
        WHERE depth < ?5 AND ${isValidBy('keys', 'line.made')})
    SELECT ?1 AS id FROM line JOIN keys AS root ON root.id = line.id WHERE line.parent IS NULL AND root.wallet IS NULL
      AND (SELECT count(*) FROM keys JOIN keys AS above ON above.id = keys.parent WHERE keys.parent = ?2
        AND keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > ?3)
        AND (above.hash = keys.parent_hash OR above.previous_hash = keys.parent_hash AND above.previous_until > ?3)) < ?6
      AND (SELECT count(*) FROM keys WHERE keys.root = line.id AND created_at > ?7) < ?8
      AND (${OWNER} IS NULL OR ${childrenOf(OWNER, '?7')} < ?9
        OR EXISTS (SELECT 1 FROM users WHERE users.id = ${OWNER} AND users.role IN ('owner', 'admin')))`,
  { mustChange: true },
);
const OF_WALLET = sql(
  'SELECT id FROM keys WHERE wallet = ? AND revoked_at IS NULL AND id IS DISTINCT FROM ? ORDER BY created_at, id',
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
const OVERWRITE = sql('PRAGMA secure_delete = ON', { inPostgres: '' });
const OVERWRITE_NO_MORE = sql('PRAGMA secure_delete = OFF', { inPostgres: '' });
const ERASE = sql('DELETE FROM trail_words WHERE entry = ? AND slot = ?');

/**
 * Selects the last entry before the first entry to keep. Anchors have no time limit of their own: an anchor is deleted with the entries
 * around it.
 */
const LAST_BEFORE = sql(`SELECT id, hash FROM trail WHERE id = (SELECT min(id) FROM (
      SELECT min(id) - 1 AS id FROM trail WHERE time >= ? AND action <> 'anchor' UNION ALL SELECT max(id) FROM trail) AS ends)
    AND id >= (SELECT min(id) FROM trail WHERE action <> 'anchor')`);
const PRUNE_WORDS = sql('DELETE FROM trail_words WHERE entry <= ?');
const PRUNE = sql('DELETE FROM trail WHERE id <= ?');

const COLUMNS = `id, previous, hash, time, actor, action, subject_kind AS subjectKind, subject, facts, request_id AS requestId,
    by_seal AS bySeal, from_seal AS fromSeal, details_seal AS detailsSeal`;
const WORDS = 'FROM trail_words WHERE entry = trail.id';
const SELECT = `SELECT ${COLUMNS}, (SELECT json_group_array(json_array(slot, salt, words)) ${WORDS}) AS words FROM trail`;
const IN_POSTGRES = `SELECT ${COLUMNS}, (SELECT coalesce(json_agg(json_build_array(slot, salt, words)), '[]') ${WORDS}) AS words FROM trail`;
const select = (rest: string): Statement => sql(`${SELECT} ${rest}`, { inPostgres: `${IN_POSTGRES} ${rest}` });
const FILTERED = `(subject_kind = ?1 OR ?1 IS NULL) AND (id < ?2 OR ?2 IS NULL) AND (action = ?4 OR ?4 IS NULL)
    AND (actor = ?5 OR ?5 IS NULL OR EXISTS (
      SELECT 1 FROM trail_words WHERE entry = trail.id AND slot = 'by' AND words = ?8))
    AND (time >= ?6 OR ?6 IS NULL) AND (time < ?7 OR ?7 IS NULL) ORDER BY id DESC LIMIT ?3`;
const SELECT_ALL = select(`WHERE ${FILTERED}`);
const SELECT_OF_SUBJECT = select(`WHERE subject = ?9 AND ${FILTERED}`);
const CHARS = `length(facts) + (SELECT coalesce(sum(length(words)), 0) ${WORDS})`;
/** The parameter `?3` bounds the characters of all entries except the last one. */
const SELECT_LINKS = select(`WHERE id > ?1 AND id <= (SELECT max(id) FROM (
      SELECT id, sum(chars) OVER (ORDER BY id) - chars AS ahead FROM (
        SELECT id, ${CHARS} AS chars FROM trail WHERE id > ?1 ORDER BY id LIMIT ?2) AS page) AS sums WHERE ahead < ?3)
    ORDER BY id`);

interface TrailRow extends Omit<TrailLink, 'subject' | 'seals' | 'words'> {
  readonly subjectKind: string;
  readonly subject: string;
  readonly bySeal: string | null;
  readonly fromSeal: string | null;
  readonly detailsSeal: string | null;
  /** A JSON array of the entry's words: slot, salt and text of each word. */
  readonly words: string;
}

export const sqlTrail = (db: SqlReader): TrailTable => ({
  add: (event) => chained(THE_SUBJECT, [event.subject.id], event, event.subject.kind),
  addAll: (events) => ({
    ...write(THE_SUBJECT, ''),
    *follow(): SqlScript {
      const [head] = yield write(SELECT_HEAD);
      let last = head ? headOf(head) : GENESIS;
      const links = events.map((event) => {
        const link = linkAfter(last, event);
        last = link;
        return link;
      });
      yield write(INSERT_LINKS, JSON.stringify(links.map(rowOf)));
      yield write(INSERT_ALL_WORDS, JSON.stringify(links.flatMap(wordRowsOf)));
    },
  }),
  addIfValid: (event, validAt) => chained(IF_VALID, [event.keyId, validAt], event),
  addIfUnchanged: (event, { version, otherAdminAt }) =>
    chained(IF_UNCHANGED, [event.keyId, version, otherAdminAt], event),
  addIfRoom: (event, holder, { unrevoked, aDay }) =>
    chained(IF_ROOM, [event.keyId, holder, unrevoked, holder, event.time - DAY_MS, aDay], event),
  addIfRoomOfUser: (event, { owner, maker, unrevoked, aDay }) =>
    chained(IF_ROOM_OF_USER, [event.keyId, owner, maker, unrevoked, event.time - DAY_MS, aDay], event),
  addIfRoomBelow: (event, { parent, hash, depth, live, aDay, aDayOfUser }) => {
    const params = [event.keyId, parent, event.time, hash, depth, live, event.time - DAY_MS, aDay, aDayOfUser];
    return chained(IF_ROOM_BELOW, params, event);
  },
  addOfHolder: (event, holder, exceptId) => chained(OF_WALLET, [holder, exceptId], event),
  erase(words, actor, time): SqlWrite {
    const erasable =
      'actorName' in words
        ? write(ERASABLE_OF_ACTOR, visible(words.actorName))
        : write(ERASABLE_OF_SUBJECT, words.subject);
    return {
      ...erasable,
      *follow(rows) {
        const erased = rows.map(({ entry, slot }) => `${entry}.${slot}`);
        yield* append(erasureOf(erased, actor, time));
        yield write(OVERWRITE);
        for (const { entry = null, slot = null } of rows) yield write(ERASE, entry, slot);
        yield write(OVERWRITE_NO_MORE);
        // Servers then drop the conversations that they keep in memory.
        yield raiseOf('people');
      },
    };
  },
  prune(before, time): SqlWrite {
    return {
      ...write(LAST_BEFORE, before),
      *follow([last]) {
        const through = headOf(last);
        yield* append(anchorOf(through, time));
        yield write(PRUNE_WORDS, through.id);
        yield write(PRUNE, through.id);
      },
    };
  },
  // Writers of the trail run one after the other, so no entry can appear below the last entry.
  horizon: async () => (await first<TrailHead>(db, SELECT_HEAD))?.id ?? 0,
  async list({ keyId, kind = null, before = null, limit, action = null, actor = null, from = null, to = null }) {
    const filters = [kind, before, limit, action, actor, from, to, actor && visible(actor)];
    const rows =
      keyId === null
        ? await db.query<TrailRow>(SELECT_ALL, filters)
        : await db.query<TrailRow>(SELECT_OF_SUBJECT, [...filters, keyId]);
    return rows.map((row) => entryOf(linkOf(row)));
  },
  links: async (after, { rows, chars }) => (await db.query<TrailRow>(SELECT_LINKS, [after, rows, chars])).map(linkOf),
});

/**
 * Adds an entry for each subject that a statement selects. Each entry follows the head that its transaction reads, so writers run one after
 * the other.
 */
const chained = (subjects: Statement, params: readonly SqlValue[], event: TrailEvent, kind = 'key'): SqlWrite => ({
  ...write(subjects, ...params),
  *follow(rows) {
    for (const { id } of rows) yield* append({ ...event, subject: { kind, id: String(id) } });
  },
});

const headOf = (row: SqlRow | undefined): TrailHead => ({ id: Number(row?.id), hash: String(row?.hash) });

/** Adds an entry after the head of the chain. */
function* append(event: SubjectEvent): SqlScript {
  const [head] = yield write(SELECT_HEAD);
  yield* insertLink(linkAfter(head ? headOf(head) : GENESIS, event));
}

/** Inserts an entry whose position in the chain is already known. */
function* insertLink(link: TrailLink): SqlScript {
  yield write(INSERT, ...Object.values(rowOf(link)));
  for (const row of wordRowsOf(link)) yield write(INSERT_WORDS, ...Object.values(row));
}

/** The row of an entry, in the order of the columns. */
const rowOf = ({ id, previous, hash, time, actor, action, subject, facts, requestId, seals }: TrailLink) => ({
  ...{ id, previous, hash, time, actor, action, subject_kind: subject.kind, subject: subject.id, facts },
  ...{ request_id: requestId, by_seal: seals.by, from_seal: seals.from, details_seal: seals.details },
});

/** The rows of the words of an entry, in the order of the columns. */
const wordRowsOf = ({ id, words }: TrailLink) =>
  WORD_SLOTS.flatMap((slot) => {
    const own = words[slot];
    return own ? [{ entry: id, slot, salt: own.salt, words: own.text }] : [];
  });

function linkOf({ subjectKind, subject, bySeal, fromSeal, detailsSeal, words, ...row }: TrailRow): TrailLink {
  const beside: [string, string, string][] = JSON.parse(words);
  return {
    ...row,
    subject: { kind: subjectKind, id: subject },
    seals: { by: bySeal, from: fromSeal, details: detailsSeal },
    words: Object.fromEntries(beside.map(([slot, salt, text]): [string, SaltedWords] => [slot, { salt, text }])),
  };
}
