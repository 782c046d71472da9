import type { DecisionRecord } from '../../../core/decision-record.ts';
import { idAt } from '../../../core/id.ts';
import { type RecordEntry, type RecordQuery, UnreadableRecord } from '../../records.ts';
import type { SqlValue, Statement, Store } from '../../store.ts';

type IndexRow = Omit<RecordEntry, 'record'>;

/** The filters by a column, the most selective first: the first that is given leads the search by its index. */
const FILTERS = [
  ['keyId', 'key_id'],
  ['model', 'model'],
  ['task', 'task'],
  ['status', 'status'],
  ['operation', 'operation'],
] as const;

const COLUMNS = 'r.id, r.key_id AS keyId, r.model, r.task, r.status, r.operation';

/** One statement for each set of filters, because the store prepares each statement once. */
const statements = new Map<string, Statement>();

function statementOf(sql: string): Statement {
  let statement = statements.get(sql);
  if (!statement) {
    statement = { sql };
    statements.set(sql, statement);
  }
  return statement;
}

/**
 * The newest records that match: of the index, and of the records behind it that it has yet to reach.
 * @param find reads a record by its ID
 * @throws StoreError
 */
export async function listRecords(
  db: Pick<Store, 'query'>,
  query: RecordQuery,
  find: (id: number) => Promise<DecisionRecord | null>,
): Promise<RecordEntry[]> {
  // The fresh ones first: what is indexed between the two queries is in both.
  const fresh = await select(db, query, 'fresh');
  const rows = new Map([...fresh, ...(await select(db, query, 'indexed'))].map((row) => [row.id, row]));
  const newest = [...rows.values()].sort((one, other) => other.id - one.id).slice(0, query.limit);
  return Promise.all(newest.map(async (row) => ({ ...row, record: await find(row.id).catch(orNone) })));
}

function orNone(cause: unknown): null {
  if (cause instanceof UnreadableRecord) return null;
  throw cause;
}

function select(db: Pick<Store, 'query'>, query: RecordQuery, part: 'fresh' | 'indexed'): Promise<IndexRow[]> {
  const { from = 0, to, after, limit, labels = {}, status } = query;
  const until = Math.min(to === undefined ? Number.MAX_SAFE_INTEGER : idAt(to), after ?? Number.MAX_SAFE_INTEGER);
  const params: SqlValue[] = [];
  const where: string[] = [];
  const wanted = Object.entries(labels);
  const [first, ...others] = wanted;
  const isFresh = part === 'fresh';
  let source = isFresh ? 'records AS r' : 'record_index AS r';
  if (isFresh) where.push('r.seq > (SELECT through FROM record_indexing)');
  const ordered = !isFresh && first ? 'l.id' : 'r.id';
  if (!isFresh && first) {
    source = 'record_labels AS l CROSS JOIN record_index AS r ON r.id = l.id';
    where.push('l.name = ? AND l.value = ?');
    params.push(...first);
  }
  for (const [name, value] of isFresh ? wanted : others) {
    // A label's name may have dots and quotes, which a path of JSON would read.
    where.push(
      isFresh
        ? 'EXISTS (SELECT 1 FROM json_each(r.labels) AS j WHERE j.key = ? AND j.atom = ?)'
        : 'EXISTS (SELECT 1 FROM record_labels AS o WHERE o.name = ? AND o.value = ? AND o.id = r.id)',
    );
    params.push(name, value);
  }
  // Failures are rare, and so lead before all but labels. `+` keeps a column from leading.
  let leads = isFresh || first !== undefined;
  const order = status === undefined || status === 'completed' ? FILTERS : [FILTERS[3], ...FILTERS];
  const seen = new Set<string>();
  for (const [name, column] of order) {
    const value = query[name];
    if (value === undefined || seen.has(name)) continue;
    seen.add(name);
    where.push(`${leads ? '+' : ''}r.${column} = ?`);
    params.push(value);
    leads = true;
  }
  where.push(`${ordered} >= ? AND ${ordered} < ?`);
  params.push(idAt(from), until, limit);
  const sql = `SELECT ${COLUMNS} FROM ${source} WHERE ${where.join(' AND ')} ORDER BY ${ordered} DESC LIMIT ?`;
  return db.query<IndexRow>(statementOf(sql), params);
}
