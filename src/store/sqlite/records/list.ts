import type { DecisionRecord } from '../../../core/decision-record.ts';
import { idAt } from '../../../core/id.ts';
import { type RecordEntry, type RecordQuery, UnreadableRecord } from '../../records.ts';
import type { SqlReader, SqlValue, Statement } from '../statement.ts';

type IndexRow = Omit<RecordEntry, 'record'> & {
  /** Its row in `records`; null for one in `decisions`. */
  readonly seq: number | null;
};

/**
 * The filters by a column, the most selective first: the first that is given leads the search by its index. The index
 * of the last two leaves out their usual value, which a scan finds at once.
 */
const FILTERS = [
  { name: 'session', column: 'session', usual: null },
  { name: 'keyId', column: 'key_id', usual: null },
  { name: 'user', column: 'user_id', usual: null },
  { name: 'team', column: 'team_id', usual: null },
  { name: 'model', column: 'model', usual: null },
  { name: 'task', column: 'task', usual: null },
  { name: 'status', column: 'status', usual: 'completed' },
  { name: 'operation', column: 'operation', usual: 'chat' },
] as const;

const COLUMNS = 'r.id, r.seq, r.key_id AS keyId, r.model, r.task, r.status, r.operation';

/**
 * The newest records that match: of the index, and of the records behind it that it has yet to reach.
 * @param read reads a record by its row, or by its ID where that is null
 * @throws StoreError
 */
export async function listRecords(
  db: SqlReader,
  query: RecordQuery,
  read: (id: number, seq: number | null) => Promise<DecisionRecord | null>,
): Promise<RecordEntry[]> {
  // The fresh ones first: what is indexed between the two queries is in both.
  const fresh = await db.query<IndexRow>(...freshSelection(query));
  const indexed = await db.query<IndexRow>(...indexedSelection(query));
  const rows = new Map([...fresh, ...indexed].map((row) => [row.id, row]));
  const newest = [...rows.values()].sort((one, other) => other.id - one.id).slice(0, query.limit);
  return Promise.all(
    newest.map(async ({ seq, ...row }) => ({ ...row, record: await read(row.id, seq).catch(orNone) })),
  );
}

function orNone(cause: unknown): null {
  if (cause instanceof UnreadableRecord) return null;
  throw cause;
}

type Selection = readonly [statement: Statement, params: readonly SqlValue[]];

/** Conditions with their parameters. */
class Conditions {
  readonly texts: string[] = [];
  readonly params: SqlValue[] = [];

  add(text: string, ...params: readonly SqlValue[]): void {
    this.texts.push(text);
    this.params.push(...params);
  }

  /** @param id the column by which the rows are ordered */
  selection(source: string, id: string, query: RecordQuery): Selection {
    return [{ sql: this.#newest(COLUMNS, source, id, query) }, [...this.params, query.limit]];
  }

  /** The newest of each key, and of those the newest: what a key has not asked for long costs no look at the others' records. */
  selectionByKey(keyIds: readonly string[], query: RecordQuery): Selection {
    const own = this.#newest('r.id', 'record_index AS r', 'r.id', query);
    const sql = `SELECT ${COLUMNS} FROM json_each(?) AS k CROSS JOIN record_index AS r ON r.id IN (${own}) ORDER BY r.id DESC LIMIT ?`;
    return [{ sql }, [JSON.stringify(keyIds), ...this.params, query.limit, query.limit]];
  }

  #newest(columns: string, source: string, id: string, { from = 0, to, after }: RecordQuery): string {
    const below = Math.min(to === undefined ? Number.MAX_SAFE_INTEGER : idAt(to), after ?? Number.MAX_SAFE_INTEGER);
    this.add(`${id} >= ? AND ${id} < ?`, idAt(from), below);
    return `SELECT ${columns} FROM ${source} WHERE ${this.texts.join(' AND ')} ORDER BY ${id} DESC LIMIT ?`;
  }
}

function freshSelection(query: RecordQuery): Selection {
  const where = new Conditions();
  where.add('r.seq > (SELECT through FROM record_indexing)');
  for (const [name, value] of Object.entries(query.labels ?? {})) {
    // A name may have dots and quotes, which a path of JSON would read.
    where.add('EXISTS (SELECT 1 FROM json_each(r.labels) AS j WHERE j.key = ? AND j.atom = ?)', name, value);
  }
  for (const { name, column } of FILTERS) {
    const value = query[name];
    if (value !== undefined) where.add(`r.${column} = ?`, value);
  }
  if (query.keyIds) where.add('r.key_id IN (SELECT value FROM json_each(?))', JSON.stringify(query.keyIds));
  return where.selection('records AS r', 'r.id', query);
}

function indexedSelection(query: RecordQuery): Selection {
  const where = new Conditions();
  const labels = Object.entries(query.labels ?? {});
  const label = query.keyIds ? undefined : labels.shift();
  if (query.keyIds) where.add('r.key_id = k.value');
  if (label) where.add('l.name = ? AND l.value = ?', ...label);
  for (const [name, value] of labels) {
    where.add(
      'EXISTS (SELECT 1 FROM record_labels AS o WHERE o.name = ? AND o.value = ? AND o.id = r.id)',
      name,
      value,
    );
  }
  let leads = label !== undefined || query.keyIds !== undefined;
  for (const { name, column, usual } of inOrder(query)) {
    const value = query[name];
    if (value === undefined) continue;
    const isUsual = value === usual;
    // `+` keeps a column from leading.
    where.add(`${leads || isUsual ? '+' : ''}r.${column} = ?`, value);
    if (usual !== null && !isUsual) where.add(`r.${column} <> '${usual}'`);
    leads ||= !isUsual;
  }
  if (query.keyIds) return where.selectionByKey(query.keyIds, query);
  if (label) return where.selection('record_labels AS l CROSS JOIN record_index AS r ON r.id = l.id', 'l.id', query);
  return where.selection('record_index AS r', 'r.id', query);
}

/** Failures are rare, and so lead. */
function inOrder({ status }: RecordQuery): readonly (typeof FILTERS)[number][] {
  const [session, keyId, user, team, model, task, ofStatus, operation] = FILTERS;
  if (status === undefined || status === 'completed') return FILTERS;
  return [session, ofStatus, keyId, user, team, model, task, operation];
}
