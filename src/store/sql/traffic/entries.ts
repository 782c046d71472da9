import type { DecisionOutcome } from '../../../core/decision-record.ts';
import { labelSeries } from '../../traffic.ts';
import type { TrafficPlace, TrafficSums } from '../../traffic-sums.ts';
import { decodeOutcome } from '../records/body.ts';
import { inPostgres, searchFor } from '../records/selection.ts';
import { type SqlReader, type SqlWrite, sql, write } from '../statement.ts';

/** An entry that charges or gives back. */
export interface EntryRow {
  readonly seq: number;
  /** Of its request. */
  readonly id: number;
  readonly microcredits: number;
  /** Their numbers. */
  readonly account: number;
  readonly tariff: number | null;
}
export const ENTRIES_BETWEEN =
  sql(`SELECT j.seq, j.reservation AS id, j.amount AS microcredits, j.account, j.tariff FROM journal AS j
    WHERE j.seq BETWEEN ?1 AND ?2 AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0
      AND j.reservation >= ?3`);

// Read for the numbers of a batch, of which there are few: joined to each entry, their texts would be most of its cost.
const ACCOUNTS =
  searchFor(`SELECT a.id, a.key_id AS key, coalesce(a.team_id, '') AS team, coalesce(a.user_id, '') AS "user", a.labels
    FROM json_each(?) AS k CROSS JOIN accounts AS a ON a.id = CAST(k.value AS BIGINT)`);
const TARIFFS = searchFor(
  'SELECT t.id, t.model, t.provider FROM json_each(?) AS k CROSS JOIN tariffs AS t ON t.id = CAST(k.value AS BIGINT)',
);
const OF_ID = 'FROM json_each(?) AS k CROSS JOIN record_index AS i ON i.id = CAST(k.value AS BIGINT)';
const RECORDS = sql(
  `SELECT i.id, i.model, i.task, i.status, coalesce((SELECT body FROM records WHERE seq = i.seq),
      (SELECT body FROM decisions WHERE id = i.id AND i.seq IS NULL)) AS body ${OF_ID}`,
  {
    inPostgres: inPostgres(
      `SELECT i.id, i.model, i.task, i.status, r.body ${OF_ID} CROSS JOIN records AS r ON r.id = i.id`,
    ),
  },
);

interface AccountRow extends Pick<TrafficPlace, 'id' | 'key' | 'team' | 'user'> {
  readonly labels: string;
}
const NO_ACCOUNT: AccountRow = { id: 0, key: '', team: '', user: '', labels: '{}' };
type TariffRow = Pick<TrafficPlace, 'id' | 'model' | 'provider'>;
/** A record, as far as a charge counts by it. */
type ChargedRecord = Pick<TrafficPlace, 'id' | 'model' | 'task' | 'status' | 'provider'>;
type IndexedRow = Omit<ChargedRecord, 'provider'> & { readonly body: string | null };

interface WaitingRow extends Pick<EntryRow, 'seq' | 'id' | 'microcredits'>, Omit<AccountRow, 'id'> {
  readonly model: string | null;
  readonly provider: string | null;
}
const WAITING =
  searchFor(`SELECT seq, id, key_id AS key, team_id AS team, user_id AS "user", labels, model, provider, microcredits FROM traffic_waiting
    WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`);
const WAIT = sql(
  `INSERT INTO traffic_waiting (seq, id, key_id, team_id, user_id, labels, model, provider, microcredits)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);
const ARRIVED = sql('DELETE FROM traffic_waiting WHERE seq = ?');

/** Rows with some IDs, by these. */
async function byId<Row extends { readonly id: number }>(db: SqlReader, statement: typeof ACCOUNTS, ids: Set<number>) {
  const rows = ids.size === 0 ? [] : await db.query<Row>(statement, [JSON.stringify([...ids])]);
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Adds what entries charge and give back.
 * @param read the records of the same batch
 * @param prunedBelow charges below this ID wait for no record
 * @returns the writes that keep those whose record is not there yet
 */
export async function addEntries(
  db: SqlReader,
  sums: TrafficSums,
  entries: readonly EntryRow[],
  read: ReadonlyMap<number, ChargedRecord>,
  prunedBelow: number,
): Promise<SqlWrite[]> {
  const accounts = await byId<AccountRow>(db, ACCOUNTS, new Set(entries.map(({ account }) => account)));
  const tariffs = await byId<TariffRow>(db, TARIFFS, new Set(entries.flatMap(({ tariff }) => tariff ?? [])));
  const unread = new Set(entries.flatMap(({ id }) => (read.has(id) ? [] : id)));
  const others = await byId<IndexedRow>(db, RECORDS, unread);
  const labels = new Map([...accounts].map(([account, { labels }]) => [account, labelsIn(labels)]));
  const writes: SqlWrite[] = [];
  for (const { seq, id, microcredits, account, tariff } of entries) {
    const of = accounts.get(account) ?? NO_ACCOUNT;
    const paid = tariff === null ? null : (tariffs.get(tariff) ?? null);
    const record = read.get(id) ?? chargedRecord(others.get(id));
    sums.addMoney(placeOf(id, of, labels.get(account) ?? [], paid, record), microcredits);
    if (record !== null || id < prunedBelow) continue;
    const { key, team, user } = of;
    writes.push(
      write(WAIT, seq, id, key, team, user, of.labels, paid?.model ?? null, paid?.provider ?? null, microcredits),
    );
  }
  return writes;
}

function chargedRecord(row: IndexedRow | undefined): ChargedRecord | null {
  return row ? { ...row, provider: providerOf(outcomeIn(row.body)) } : null;
}

/** Of the last attempt. */
export const providerOf = (outcome: DecisionOutcome | null): string => outcome?.attempts.at(-1)?.provider ?? '';

/** @param body null for a record that is not there any more */
export function outcomeIn(body: string | null): DecisionOutcome | null {
  try {
    return body === null ? null : decodeOutcome(body);
  } catch {
    // An edited row counts as a request without figures.
    return null;
  }
}

/** Moves charges that waited to where their records say. @returns the writes that end their wait */
export async function addWaiting(
  db: SqlReader,
  sums: TrafficSums,
  arrived: ReadonlyMap<number, ChargedRecord>,
): Promise<SqlWrite[]> {
  const waiting = await db.query<WaitingRow>(WAITING, [JSON.stringify([...arrived.keys()])]);
  return waiting.map((row) => {
    const { seq, id, microcredits, model, provider } = row;
    const labels = labelsIn(row.labels);
    sums.addMoney(placeOf(id, row, labels, { model, provider }, null), -microcredits);
    sums.addMoney(placeOf(id, row, labels, { model, provider }, arrived.get(id)!), microcredits);
    return write(ARRIVED, seq);
  });
}

/** A charge counts where its tariff says that it arose, and its record says the rest. */
const placeOf = (
  id: number,
  { key, team, user }: Pick<TrafficPlace, 'key' | 'team' | 'user'>,
  labels: readonly string[],
  tariff: Readonly<Record<'model' | 'provider', string | null>> | null,
  record: ChargedRecord | null,
): TrafficPlace => ({
  ...{ id, key, team, user, labels, task: record?.task ?? '', status: record?.status ?? '' },
  model: tariff?.model ?? record?.model ?? '',
  provider: tariff?.provider ?? record?.provider ?? '',
});

/** The series of labels, as JSON has them; none where the row was edited. */
export function labelsIn(text: string | null): readonly string[] {
  if (text === null || text === '{}') return [];
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => labelSeries(name, String(value)));
  } catch {
    return [];
  }
}
