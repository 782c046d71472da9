import { type DecisionRecord, modelOf, statusOf } from '../../../core/decision-record.ts';
import { isEmpty } from '../../../core/object.ts';
import { hasSecret, scrub } from '../../../telemetry/secrets.ts';
import { type RecordLog, UnreadableRecord } from '../../records.ts';
import { first, type SqlTables, type SqlValue, type SqlWrite, type Statement, sql } from '../../sql/statement.ts';
import { decodeBody, encodeBody, type RecordHead } from './body.ts';
import { decodeEstimate, encodeEstimate } from './estimate.ts';
import { indexRecords, pruneRecords } from './indexing.ts';
import { listRecords } from './list.ts';

const INSERT =
  sql(`INSERT INTO records (id, time, key_id, kind, operation, status, model, task, labels, revision, frame, quality,
    estimate, body, session, team_id, user_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const HEAD = 'id, time, key_id AS keyId, kind, revision, frame AS readingsNumber, quality, estimate, body';
const NAMED = `${HEAD}, labels, session, team_id AS team, user_id AS "user"`;
const FIND = sql(`SELECT ${NAMED} FROM records WHERE seq = (SELECT seq FROM record_index WHERE id = ?1)
    UNION ALL SELECT ${NAMED} FROM records WHERE seq > (SELECT through FROM record_indexing) AND id = ?1
    UNION ALL SELECT ${HEAD}, NULL, NULL, NULL, NULL FROM decisions WHERE id = ?1 LIMIT 1`);
const READ = sql(`SELECT ${NAMED} FROM records WHERE seq = ?`);
const READ_OLD = sql(
  `SELECT ${HEAD}, NULL AS labels, NULL AS session, NULL AS team, NULL AS "user" FROM decisions WHERE id = ?`,
);

type RecordRow = RecordHead & {
  readonly quality: Uint8Array;
  readonly estimate: Uint8Array | null;
  readonly body: string;
  /** Null for a row of version 0.1. */
  readonly labels: string | null;
};

export function sqliteRecordLog(db: SqlTables): RecordLog {
  const read = async (statement: Statement, place: number): Promise<DecisionRecord | null> => {
    const row = await first<RecordRow>(db, statement, place);
    return row ? decodeRow(row) : null;
  };
  const index = () => indexRecords(db);
  return {
    add: (record): SqlWrite => new RecordWrite(record),
    find: (id) => read(FIND, id),
    list: (query) => listRecords(db, query, (id, seq) => (seq === null ? read(READ_OLD, id) : read(READ, seq))),
    index,
    prune: (beforeId) => pruneRecords(db, beforeId),
  };
}

/**
 * The row of a record. Its values are made when its batch is written: for many records in a row that takes a third of the time.
 * A record must not change once it is added.
 */
class RecordWrite implements SqlWrite {
  readonly statement = INSERT;
  readonly #record: DecisionRecord;

  constructor(record: DecisionRecord) {
    this.#record = record;
  }

  get params(): readonly SqlValue[] {
    const record = this.#record;
    return [
      record.id,
      record.time,
      record.keyId,
      record.kind,
      record.facts.operation,
      statusOf(record),
      modelOf(record),
      record.facts.task,
      labelsText(record.labels),
      record.revision,
      record.readingsNumber,
      record.quality ?? NO_QUALITY,
      record.estimate === null && record.draw === null ? null : encodeEstimate(record),
      bodyOf(record),
      record.session,
      record.team,
      record.user,
    ];
  }
}

/** In the place of qualities that are not kept: the column takes no null. */
const NO_QUALITY = new Uint8Array(0);

const labelsText = (labels: DecisionRecord['labels']): string => (isEmpty(labels) ? '{}' : JSON.stringify(labels));

/** Languages and metadata are the only texts in it from a caller; those of metadata are redacted already. */
function bodyOf(record: DecisionRecord): string {
  const body = encodeBody(record);
  return record.facts.languages.length > 0 && hasSecret(body) ? scrub(body) : body;
}

/** @throws UnreadableRecord for a row that was edited */
function decodeRow({ body, estimate, labels, ...head }: RecordRow): DecisionRecord {
  try {
    const quality = head.quality.length === 0 ? null : new Float64Array(head.quality.slice().buffer);
    const decoded = decodeBody(body);
    const record: DecisionRecord = {
      ...head,
      ...decoded,
      ...(labels === null ? { labels: null, stream: null } : { labels: JSON.parse(labels) }),
      quality,
      ...decodeEstimate(estimate, quality),
    };
    checkParts(record);
    return record;
  } catch (cause) {
    throw new UnreadableRecord({ cause });
  }
}

/** @throws Error if a part is missing */
function checkParts({ facts, choice, fallbacks, lastResorts }: DecisionRecord): void {
  const lists: readonly unknown[] = [fallbacks, lastResorts, facts.languages, facts.mix, facts.cached];
  const isWhole = typeof choice === 'string' && typeof facts.needs === 'number' && lists.every(Array.isArray);
  if (!isWhole || typeof facts.ceilings !== 'object') throw new Error('a part is missing');
}
