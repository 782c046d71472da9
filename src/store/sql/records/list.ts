import { setImmediate } from 'node:timers/promises';
import { type DecisionRecord, summaryOf } from '../../../core/decision/record.ts';
import { idAt } from '../../../core/id.ts';
import { LOOKS_MAX, type RecordEntry, type RecordPage, type RecordQuery, UnreadableRecord } from '../../records.ts';
import { first, type SqlReader } from '../statement.ts';
import {
  addJsonFilters,
  Conditions,
  columns,
  FILTERS,
  type IndexRow,
  limitFor,
  type Selection,
  type Span,
  searchFor,
} from './selection.ts';
import { decodeSummary } from './summary.ts';

/**
 * The most keys that may lead a search with other filters. Each key gets an equal share of the examined rows, however few requests the key
 * has.
 */
const LEADING_KEYS_MAX = 16;
/**
 * The number of index rows that one statement examines. A statement that examines so many rows takes a few milliseconds, in which the
 * process serves no request.
 */
const LOOKS_AT_ONCE = 5_000;

/** The tables, in addition to the index, from which lists are made. */
export interface RecordSource {
  read(id: number): Promise<DecisionRecord | null>;
  /** Selects records that are not indexed yet; absent if all records are indexed. */
  readonly fresh?: (query: RecordQuery, span: Span, limit: number) => Selection;
}

/**
 * Returns the newest matching records: records of the index, and records that are not indexed yet. The search reads the index by the rows
 * of one filter, which leads the search. It examines a limited number of rows at a time, until the page is full or enough rows were
 * examined.
 * @throws StoreError
 */
export async function listRecords(
  db: SqlReader,
  query: RecordQuery,
  { read, fresh: freshSelection }: RecordSource,
): Promise<RecordPage> {
  const span = spanOf(query);
  // The query reads one more row than requested, to find out whether further rows exist.
  const limit = query.limit + 1;
  // Records without an index row are read first. With this order, a record that is indexed between the two queries is in both results, and
  // no record is missed.
  const fresh = freshSelection ? await db.query<IndexRow>(...freshSelection(query, span, limit)) : [];
  const { rows: indexed, to } = await searchIndex(db, query, span, limit);
  const rows = new Map([...fresh, ...indexed].map((row) => [row.id, row]));
  const newest = [...rows.values()].filter(({ id }) => id >= to).sort((one, other) => other.id - one.id);
  const isFull = newest.length > query.limit;
  const shown = newest.slice(0, query.limit);
  const entries = await Promise.all(shown.map((row) => entryOf(row, read)));
  return { entries, next: isFull ? shown.at(-1)!.id : to > span.from ? to : null };
}

function spanOf({ from = 0, to, after, newerThan = -1 }: RecordQuery): Span {
  const below = Math.min(to === undefined ? Number.MAX_SAFE_INTEGER : idAt(to), after ?? Number.MAX_SAFE_INTEGER);
  return { from: Math.max(idAt(from), newerThan + 1), to: below };
}

/** Makes an entry of the list. The function reads the record itself only if the index has no summary of the record yet. */
async function entryOf({ summary, ...row }: IndexRow, read: RecordSource['read']): Promise<RecordEntry> {
  if (summary !== null) return { ...row, summary: decodeSummary(summary) };
  const record = await read(row.id).catch(orNone);
  return { ...row, summary: record && summaryOf(record) };
}

function orNone(cause: unknown): null {
  if (cause instanceof UnreadableRecord) return null;
  throw cause;
}

/** @returns the rows found, and the least ID that was examined; if all rows were examined, the least ID of the span */
async function searchIndex(db: SqlReader, query: RecordQuery, span: Span, limit: number) {
  const { looksMax = LOOKS_MAX } = query;
  const search = new IndexSearch(query);
  const rows: IndexRow[] = [];
  const step = Math.min(LOOKS_AT_ONCE, looksMax);
  for (let { to } = span, looks = 0; ; looks += step) {
    const from = search.isPlain ? span.from : ((await search.step(db, { ...span, to }, step)) ?? span.from);
    rows.push(...(await db.query<IndexRow>(...search.selection({ from, to }, limit - rows.length))));
    to = from;
    if (rows.length >= limit || from <= span.from || looks + step >= looksMax) return { rows, to };
    await setImmediate();
  }
}

function addLabels(where: Conditions, labels: readonly (readonly [string, string])[]): void {
  for (const label of labels) {
    // The `OFFSET` in the query makes PostgreSQL look up the label for each record, instead of reading all records that have the label.
    const own = 'SELECT 1 FROM record_labels AS o WHERE o.name = ? AND o.value = ? AND o.id = r.id LIMIT 1 OFFSET 0';
    where.add(`EXISTS (${own})`, ...label);
  }
}

/** Searches the index for a query. The rows of one filter, the lead, are read in order, and the other filters select among these rows. */
class IndexSearch {
  /** The conditions of the leading filter. */
  readonly #lead = new Conditions();
  readonly #others = new Conditions();
  /** The IDs of the keys if the keys lead the search. */
  readonly #keyIds: readonly string[] | null;
  readonly #source: { readonly lead: string; readonly joined: string; readonly id: string };

  constructor(query: RecordQuery) {
    const labels = Object.entries(query.labels ?? {});
    const { keyIds } = query;
    const { guard, finding } = query;
    const { insteadOf, leftOut } = query;
    const isOfSummary = [guard, finding, insteadOf, leftOut].some((value) => value !== undefined);
    const isAlone = labels.length === 0 && !isOfSummary && FILTERS.every(({ name }) => query[name] === undefined);
    this.#keyIds = keyIds && (isAlone || keyIds.length <= LEADING_KEYS_MAX) ? keyIds : null;
    if (keyIds && this.#keyIds === null)
      this.#others.add('r.key_id IN (SELECT value FROM json_each(?))', JSON.stringify(keyIds));
    if (query.codes) this.#others.add('r.code IN (SELECT value FROM json_each(?))', JSON.stringify(query.codes));
    const label = this.#keyIds === null ? labels.shift() : undefined;
    if (this.#keyIds !== null) this.#lead.add('r.key_id = k.value');
    if (label) this.#lead.add('l.name = ? AND l.value = ?', ...label);
    addLabels(this.#others, labels);
    addJsonFilters(this.#others, query, 'summary');
    for (const { name, column, usual } of inOrder(query)) {
      const value = query[name];
      if (value === undefined) continue;
      const leads = this.#lead.texts.length === 0 && value !== usual && name !== 'request';
      // The `+` keeps SQLite from using this column's index.
      if (!leads) this.#others.add(`+r.${column} = ?`, value);
      else this.#lead.add(`r.${column} = ?${usual === null ? '' : ` AND r.${column} <> '${usual}'`}`, value);
    }
    const index = 'record_index AS r';
    // `inPostgres` turns `r.id = l.id` into a lookup of each label's record. If a column of the record filters as well, PostgreSQL chooses
    // the join itself.
    const on = this.isPlain || labels.length > 0 ? 'r.id = l.id' : 'l.id = r.id';
    this.#source = label
      ? { lead: 'record_labels AS l', joined: `record_labels AS l CROSS JOIN ${index} ON ${on}`, id: 'l.id' }
      : { lead: index, joined: index, id: 'r.id' };
  }

  /** Whether every row of the leading filter matches, because there is no other filter. */
  get isPlain(): boolean {
    return this.#others.texts.length === 0;
  }

  /** Returns the least ID among the next `looks` newest rows of the leading filter; null if that filter has no more rows. */
  async step(db: SqlReader, span: Span, looks: number): Promise<number | null> {
    const { lead, id } = this.#source;
    // Each key gets an equal share of the rows. Each key has its own least examined ID, and only above the greatest of these IDs were all
    // keys examined.
    const share = Math.max(1, Math.floor(looks / Math.max(1, this.#keyIds?.length ?? 1)));
    const [search, params] = this.#lead.newest(`${id} AS "to"`, lead, id, span, `LIMIT 1 OFFSET ${share - 1}`);
    if (this.#keyIds === null) return (await first<{ to: number }>(db, search, ...params))?.to ?? null;
    const ofKeys = searchFor(`SELECT max((${search.sql})) AS "to" FROM json_each(?) AS k`);
    const row = await first<{ to: number | null }>(db, ofKeys, ...params, JSON.stringify(this.#keyIds));
    return row?.to ?? null;
  }

  /** Selects the newest matching rows of a span. */
  selection(span: Span, limit: number): Selection {
    const { joined, id } = this.#source;
    const where = new Conditions();
    for (const { texts, params } of [this.#lead, this.#others]) where.add(texts.join(' AND ') || 'TRUE', ...params);
    if (id !== 'r.id' && !this.isPlain) where.add('+r.id >= ? AND +r.id < ?', span.from, span.to);
    const end = limitFor(limit);
    const newest = (column: string) => where.newest(column, joined, id, span, end);
    const [{ sql }, params] = newest(id);
    const all = columns('r.summary');
    const inSqlite = (ids: string) =>
      `SELECT ${all} FROM record_index AS r WHERE r.id IN (${ids}) ORDER BY r.id DESC ${end}`;
    const [{ inPostgres: direct }] = newest(all);
    if (this.#keyIds === null) return [{ sql: inSqlite(sql), inPostgres: direct }, params];
    // Reads the newest rows of each key separately, so that a key without recent requests does not force a read of other keys' records.
    const ofKeys = inSqlite(`SELECT n.id FROM json_each(?) AS k CROSS JOIN record_index AS n ON n.id IN (${sql})`);
    const ofKeysDirect = `SELECT n.* FROM json_array_elements_text(?::json) AS k CROSS JOIN LATERAL (${direct}) AS n ORDER BY n.id DESC ${end}`;
    return [{ sql: ofKeys, inPostgres: ofKeysDirect }, [JSON.stringify(this.#keyIds), ...params]];
  }
}

/** Returns the filters with `status` first if `status` selects failures, because failures are rare, so this filter should lead. */
function inOrder({ status }: RecordQuery): readonly (typeof FILTERS)[number][] {
  if (status === undefined || status === 'completed') return FILTERS;
  const [session, code, ...others] = FILTERS;
  return [
    session,
    code,
    ...others.toSorted((one, other) => Number(other.name === 'status') - Number(one.name === 'status')),
  ];
}
