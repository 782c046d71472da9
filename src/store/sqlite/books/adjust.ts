import { timeOfId } from '../../../core/id.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { AuditRow, JournalRow } from '../../journal-reader.ts';
import type { StoredReservation } from '../../ledger-table.ts';
import { first, type SqlReader, type SqlWrite, sql, write } from '../../sql/statement.ts';
import type { BookedReservation } from './reservations.ts';

/** A row of a reservation in the journal. */
export interface ReservationStep
  extends Pick<JournalRow, 'seq' | 'kind' | 'account' | 'amount' | 'funds' | 'keyId'>,
    Pick<AuditRow, 'payer'>,
    Pick<BookedReservation, 'owner' | 'expires'> {
  /** The step of a raise or a post; null for a row written before steps were numbered. */
  readonly step: number | null;
}

/** If the clock was set back by less than this, ms, the search still finds a reservation at once. */
const SLACK_MS = 120_000;
/** The number of rows to search at once. */
const STRETCH = 10_000;

/**
 * Each aggregate has its own subquery, because a query with two aggregates would read the whole journal. The query returns no row for an
 * empty journal.
 */
const SELECT_ENDS = sql(`SELECT first, last
    FROM (SELECT (SELECT min(seq) FROM journal) AS first, (SELECT max(seq) FROM journal) AS last)
    WHERE first IS NOT NULL`);
const SELECT_AT = sql('SELECT seq, time FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1');
const SELECT_STEPS =
  sql(`SELECT j.seq, j.kind, j.account, j.amount, j.funds, j.step, j.owner, j.expires, a.key_id AS keyId, a.payer
    FROM journal AS j JOIN accounts AS a ON a.id = j.account
    WHERE j.seq >= ? AND j.seq < ? AND j.reservation = ? ORDER BY j.seq`);
/** Sums the corrections of a reservation. Every correction begins as an adjustment, and there are few adjustments. */
const SELECT_ASKED = sql(
  `SELECT coalesce(max(id), 0) AS last, coalesce(sum(amount), 0) AS amount FROM adjustments WHERE reservation = ?`,
);

/**
 * Finds a reservation. The journal has no index by reservation, but both its rows and the IDs of reservations are ordered by time. The
 * search therefore begins a little before the time of the ID and ends at the end of the reservation. Returns null if there is no such
 * reservation. The reader must read a snapshot of one moment.
 */
export async function findReservation(reader: SqlReader, id: number): Promise<StoredReservation | null> {
  const steps = await findSteps(reader, id);
  if (!steps) return null;
  const [{ account, keyId, payer, funds }] = steps;
  const asked = await first<{ last: number; amount: number }>(reader, SELECT_ASKED, id);
  return {
    reservation: id,
    account,
    keyId,
    payer,
    isOpen: !steps.some(isEnd),
    // A reservation draws on a balance either from its start or never, so the search needs only the first row.
    onBalance: await hasBalance(reader, funds),
    charged: steps.filter(isCharge).reduce((sum, { amount }) => sum + amount, 0),
    overrun: steps.filter(({ kind }) => kind === 'overrun').reduce((sum, { amount }) => sum + amount, 0),
    givenBack: 0 - (asked?.amount ?? 0),
    lastAdjustment: asked?.last ?? 0,
  };
}

/** Returns the rows of a reservation, found with the same search as `findReservation`. */
export async function findSteps(
  reader: SqlReader,
  id: number,
): Promise<readonly [ReservationStep, ...ReservationStep[]] | null> {
  const ends = await first<{ first: number; last: number }>(reader, SELECT_ENDS);
  if (!ends) return null;
  const from = await firstAt(reader, timeOfId(id) - SLACK_MS, ends);
  // If the clock was set back further than `SLACK_MS`, only a full search finds the reservation.
  return (
    (await stepsOf(reader, id, from, ends.last)) ??
    (from > ends.first ? stepsOf(reader, id, ends.first, ends.last) : null)
  );
}

export const isEnd = ({ kind }: ReservationStep): boolean => kind === 'settle' || kind === 'expire';
export const isCharge = (step: ReservationStep): boolean => step.kind === 'post' || isEnd(step);

const SELECT_BALANCES = sql(`SELECT 1 FROM funds WHERE kind = 'balance' AND id IN (SELECT value FROM json_each(?))`);

/** Whether a balance is among funds, given by IDs in the format of the journal. */
export async function hasBalance(reader: SqlReader, funds: string | null): Promise<boolean> {
  if (funds === null) return false;
  const found = await reader.query(SELECT_BALANCES, [JSON.stringify(funds.split(' ').map(Number))]);
  return found.length > 0;
}

/** Finds the first row that is not older than a time. */
async function firstAt(reader: SqlReader, time: number, ends: { first: number; last: number }): Promise<number> {
  let low = ends.first;
  let high = ends.last;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await first<{ seq: number; time: number }>(reader, SELECT_AT, middle);
    if (!row || row.time >= time) high = middle;
    else low = row.seq + 1;
  }
  return low;
}

/** Returns the rows of a reservation from its first to its end; null if the reservation has no rows. */
async function stepsOf(
  reader: SqlReader,
  id: number,
  from: number,
  last: number,
): Promise<[ReservationStep, ...ReservationStep[]] | null> {
  const steps: ReservationStep[] = [];
  for (let at = from; at <= last && !steps.some(isEnd); at += STRETCH) {
    steps.push(...(await reader.query<ReservationStep>(SELECT_STEPS, [at, at + STRETCH, id])));
  }
  const [begun, ...rest] = steps;
  return begun?.kind === 'reserve' ? [begun, ...rest] : null;
}

const INSERT_REFUND = sql(
  `INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time, name)
    SELECT 'correct', ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE ?1 = (SELECT coalesce(max(id), 0) FROM adjustments WHERE reservation = ?2)`,
  { mustChange: true },
);

/**
 * Requests a refund. The commit fails with the reason `unmet` if another refund was requested after the reservation was read.
 *
 * @param name a name that is accepted only once; null for an operator's refund
 */
export function refundWrite(
  booked: StoredReservation,
  amount: Microcredits,
  note: string,
  time: number,
  name: string | null = null,
): SqlWrite {
  const { reservation, account, keyId, lastAdjustment } = booked;
  return write(INSERT_REFUND, lastAdjustment, reservation, keyId, reservation, account, -amount, note, time, name);
}
