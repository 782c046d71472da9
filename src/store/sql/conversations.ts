import {
  CONVERSATION_MS,
  type ConversationRow,
  type ConversationTable,
  type EscalatedShare,
  SHARE_SLACK,
} from '../conversations.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type SqlTables, sql, write } from './statement.ts';

type SqlPlace = EscalatedShare & { readonly held: number };
type SqlConversation = Omit<ConversationRow, 'isEscalated'> & { readonly isEscalated: number };

/** The changes of an answer. A conversation that had ended begins again, without its signal and its place. */
const again = (greater: string) => `seen = ${greater}(excluded.seen, conversations.seen),
    prompt = coalesce(excluded.prompt, conversations.prompt),
    prompt_at = CASE WHEN excluded.prompt IS NULL THEN conversations.prompt_at ELSE excluded.prompt_at END,
    signal = CASE WHEN conversations.seen > excluded.seen - ${CONVERSATION_MS} THEN conversations.signal END,
    is_escalated = CASE WHEN conversations.seen > excluded.seen - ${CONVERSATION_MS} THEN conversations.is_escalated ELSE 0 END`;
const COLUMNS = '(conversation, key_id, seen, prompt, prompt_at)';
/** A group of PostgreSQL may contain several answers of a conversation, of which one statement can write only one. */
const SEE = sql(
  `INSERT INTO conversations ${COLUMNS} SELECT $conversation, $keyId, $seen, $prompt, $promptAt
    WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = $keyId AND revoked_at IS NOT NULL)
    ON CONFLICT (conversation) DO UPDATE SET ${again('max')}`,
  {
    inPostgres: `INSERT INTO conversations ${COLUMNS}
      SELECT DISTINCT ON (given.conversation) given.conversation, given.key_id, given.seen, given.prompt, given.prompt_at
      FROM unnest($conversation::text[], $keyId::text[], $seen::bigint[], $prompt::text[], $promptAt::bigint[]) AS given ${COLUMNS}
      WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = given.key_id AND revoked_at IS NOT NULL)
      ORDER BY given.conversation, (given.prompt IS NULL), given.seen DESC
      ON CONFLICT (conversation) DO UPDATE SET ${again('greatest')}`,
    takesRows: true,
  },
);
const SIGNAL = sql(
  `INSERT INTO conversations (conversation, key_id, seen, signal, answers) VALUES ($conversation, $keyId, $seen, $signal, $answers)
    ON CONFLICT (conversation) DO UPDATE SET seen = excluded.seen, signal = excluded.signal, answers = excluded.answers,
    is_escalated = CASE WHEN conversations.seen > excluded.seen - ${CONVERSATION_MS} THEN conversations.is_escalated ELSE 0 END`,
);

/** Counts the escalated conversations of a key except this one, and all of them. */
const OTHERS = `(SELECT count(*) FROM conversations WHERE key_id = $keyId AND seen > $since AND is_escalated = 1
    AND conversation <> $conversation)`;
const ALL = '(SELECT count(*) FROM conversations WHERE key_id = $keyId AND seen > $since)';
const escalateBy = (greater: string, real: string) =>
  `INSERT INTO conversations (conversation, key_id, seen, is_escalated) SELECT $conversation, $keyId, $seen, 1
    WHERE ${OTHERS} = 0 OR ${OTHERS} + 1 <= CAST($share AS ${real}) * ${ALL} + ${SHARE_SLACK}
    OR EXISTS (SELECT 1 FROM conversations WHERE conversation = $conversation AND is_escalated = 1 AND seen > $since)
    ON CONFLICT (conversation) DO UPDATE SET seen = ${greater}(excluded.seen, conversations.seen), is_escalated = 1,
    signal = CASE WHEN conversations.seen > $since THEN conversations.signal END`;
const ESCALATE = sql(escalateBy('max', 'REAL'), {
  inPostgres: escalateBy('greatest', 'float8'),
  takesTurns: true,
  mustChange: true,
});
const placeBy = (whole: string) => `SELECT count(*) AS conversations, ${whole} AS escalated,
    (SELECT count(*) FROM conversations WHERE conversation = ?3 AND seen > ?2 AND is_escalated = 1) AS held
    FROM conversations WHERE key_id = ?1 AND seen > ?2`;
const PLACE = sql(placeBy('coalesce(sum(is_escalated), 0)'), {
  inPostgres: placeBy('coalesce(sum(is_escalated), 0)::bigint'),
});
const SINCE = sql(`SELECT conversation, key_id AS keyId, seen, prompt, prompt_at AS promptAt, signal, answers,
    is_escalated AS isEscalated FROM conversations WHERE seen > ?1 ORDER BY seen DESC LIMIT ?2`);
const deleteOld = batchDeletion({
  table: 'conversations',
  key: 'conversation',
  by: 'seen',
  comparison: '<=',
  batch: 1_000,
});

export const sqlConversations = (db: SqlTables): ConversationTable => ({
  see: (row) => write(SEE, { ...row, promptAt: row.prompt === null ? 0 : row.seen }),
  signal: (row) => write(SIGNAL, { ...row }),
  escalate: (row, share) => write(ESCALATE, { ...row, share, since: row.seen - CONVERSATION_MS }),
  async place({ conversation, keyId, seen }) {
    const found = await first<SqlPlace>(db, PLACE, keyId, seen - CONVERSATION_MS, conversation);
    const { escalated = 0, conversations = 0, held = 0 } = found ?? {};
    return { isEscalated: held === 1, share: { escalated, conversations } };
  },
  async since(time, most) {
    const rows = await db.query<SqlConversation>(SINCE, [time, most]);
    return rows.map((row) => ({ ...row, isEscalated: row.isEscalated === 1 }));
  },
  prune: (until) => deleteOld(db, until),
});
