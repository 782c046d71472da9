import type { TrafficPlace, WrittenTraffic } from '../../record-traffic.ts';
import type { TrafficSums } from '../../traffic-sums.ts';
import { searchFor } from '../records/selection.ts';
import { type SqlReader, type SqlWrite, sql, write } from '../statement.ts';
import { BY_ID, labelsIn, selectTraffic } from './stored.ts';

/** A journal entry that charges or refunds. */
export interface EntryRow {
  readonly seq: number;
  /** The ID of the request. */
  readonly id: number;
  readonly microcredits: number;
  /** The numbers of the entry's account and tariff. */
  readonly account: number;
  readonly tariff: number | null;
}
export const ENTRIES_BETWEEN =
  sql(`SELECT j.seq, j.reservation AS id, j.amount AS microcredits, j.account, j.tariff FROM journal AS j
    WHERE j.seq BETWEEN ?1 AND ?2 AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0
      AND j.reservation >= ?3`);

// The accounts of a batch are read separately, because a batch has few accounts. Joining the texts of accounts to each entry would be most
// of the cost of reading entries.
const ACCOUNTS =
  searchFor(`SELECT a.id, a.key_id AS key, coalesce(a.team_id, '') AS team, coalesce(a.user_id, '') AS "user", a.labels
    FROM json_each(?) AS k CROSS JOIN accounts AS a ON a.id = CAST(k.value AS BIGINT)`);
const TARIFFS = searchFor(
  'SELECT t.id, t.model, t.provider FROM json_each(?) AS k CROSS JOIN tariffs AS t ON t.id = CAST(k.value AS BIGINT)',
);
interface AccountRow extends Pick<TrafficPlace, 'id' | 'key' | 'team' | 'user'> {
  readonly labels: string;
}
const NO_ACCOUNT: AccountRow = { id: 0, key: '', team: '', user: '', labels: '{}' };
type TariffRow = Pick<TrafficPlace, 'id' | 'model' | 'provider'>;
/** The fields of a record that decide in which series the charge of the record counts. */
type ChargedRecord = Pick<TrafficPlace, 'id' | 'model' | 'task' | 'status' | 'provider'>;

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

/** Reads the rows with the given IDs. @returns the rows by ID */
async function byId<Row extends { readonly id: number }>(db: SqlReader, statement: typeof ACCOUNTS, ids: Set<number>) {
  const rows = ids.size === 0 ? [] : await db.query<Row>(statement, [JSON.stringify([...ids])]);
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Adds up charges and refunds.
 * @param read the records of the same batch
 * @param prunedBelow charges with smaller IDs do not wait for their records, which were deleted
 * @returns writes that store the charges whose record is not written yet
 */
export async function addEntries(
  db: SqlReader,
  written: WrittenTraffic,
  sums: TrafficSums,
  entries: readonly EntryRow[],
  read: ReadonlyMap<number, ChargedRecord>,
  prunedBelow: number,
): Promise<SqlWrite[]> {
  const accounts = await byId<AccountRow>(db, ACCOUNTS, new Set(entries.map(({ account }) => account)));
  const tariffs = await byId<TariffRow>(db, TARIFFS, new Set(entries.flatMap(({ tariff }) => tariff ?? [])));
  const unread = [...new Set(entries.flatMap(({ id }) => (read.has(id) ? [] : id)))];
  const found = unread.length === 0 ? [] : await selectTraffic(db, written, BY_ID, [JSON.stringify(unread)]);
  const others = new Map(found.map((record) => [record.id, record]));
  const labels = new Map([...accounts].map(([account, { labels }]) => [account, labelsIn(labels)]));
  const writes: SqlWrite[] = [];
  for (const { seq, id, microcredits, account, tariff } of entries) {
    const of = accounts.get(account) ?? NO_ACCOUNT;
    const paid = tariff === null ? null : (tariffs.get(tariff) ?? null);
    const record = read.get(id) ?? others.get(id) ?? null;
    sums.addMoney(placeOf(id, of, labels.get(account) ?? [], paid, record), microcredits);
    if (record !== null || id < prunedBelow) continue;
    const { key, team, user } = of;
    writes.push(
      write(WAIT, seq, id, key, team, user, of.labels, paid?.model ?? null, paid?.provider ?? null, microcredits),
    );
  }
  return writes;
}

/** Moves waiting charges to the series of their records. @returns the writes that remove them from the waiting charges */
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

/** Returns the series of a charge: model and provider come from the charge's tariff, all other series from the charge's record. */
const placeOf = (
  id: number,
  { key, team, user }: Pick<TrafficPlace, 'key' | 'team' | 'user'>,
  labels: readonly string[],
  tariff: Readonly<Record<'model' | 'provider', string | null>> | null,
  record: ChargedRecord | null,
): TrafficPlace => ({
  id,
  key,
  team,
  user,
  labels,
  task: record?.task ?? '',
  status: record?.status ?? '',
  model: tariff?.model ?? record?.model ?? '',
  provider: tariff?.provider ?? record?.provider ?? '',
});
