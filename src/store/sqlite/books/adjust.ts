import type { Microcredits } from '../../../core/credits.ts';
import { timeOfId } from '../../../core/id.ts';
import type { StoredReservation } from '../../ledger-table.ts';
import { type SqlReader, type SqlWrite, type Statement, write } from '../statement.ts';
import { insertAdjustment } from './tables.ts';

interface Step {
  readonly seq: number;
  readonly kind: string;
  readonly account: number;
  readonly amount: Microcredits;
  readonly funds: string | null;
  readonly keyId: string;
  readonly payer: string | null;
}

/** A clock that was put back by less than this does not hide a reservation, ms. */
const SLACK_MS = 120_000;
/** Rows looked through at once. */
const STRETCH = 10_000;

const SELECT_ENDS: Statement = { sql: 'SELECT min(seq) AS first, max(seq) AS last FROM journal' };
const SELECT_AT: Statement = { sql: 'SELECT seq, time FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1' };
const SELECT_STEPS: Statement = {
  sql: `SELECT j.seq, j.kind, j.account, j.amount, j.funds, a.key_id AS keyId, a.payer
    FROM journal AS j JOIN accounts AS a ON a.id = j.account
    WHERE j.seq >= ? AND j.seq < ? AND j.reservation = ? ORDER BY j.seq`,
};
/** Every correction begins as an adjustment, and these are few. */
const SELECT_ASKED: Statement = {
  sql: `SELECT coalesce(max(id), 0) AS last, coalesce(sum(amount), 0) AS amount FROM adjustments WHERE reservation = ?`,
};

/**
 * Looks a reservation up. The journal has no index on it, but is ordered by time, as IDs are: the search begins a
 * little before the ID's moment and ends where the reservation does. Null when there is none. To be asked of a
 * reader that sees one moment.
 */
export async function findReservation(reader: SqlReader, id: number): Promise<StoredReservation | null> {
  const [ends] = await reader.query<{ first: number | null; last: number | null }>(SELECT_ENDS);
  const { first = null, last = null } = ends ?? {};
  if (first === null || last === null) return null;
  const from = await firstAt(reader, timeOfId(id) - SLACK_MS, first, last);
  // A clock that was put back further leaves only to look at everything.
  const steps =
    (await stepsOf(reader, id, from, last)) ?? (from > first ? await stepsOf(reader, id, first, last) : null);
  if (!steps) return null;
  const [{ account, keyId, payer, funds }] = steps;
  const [asked] = await reader.query<{ last: number; amount: number }>(SELECT_ASKED, [id]);
  return {
    reservation: id,
    account,
    keyId,
    payer,
    isOpen: !steps.some(isEnd),
    // A balance is drawn on from the start or not at all.
    onBalance: await hasBalance(reader, funds),
    charged: steps.filter(isCharge).reduce((sum, { amount }) => sum + amount, 0),
    overrun: steps.filter(({ kind }) => kind === 'overrun').reduce((sum, { amount }) => sum + amount, 0),
    givenBack: 0 - (asked?.amount ?? 0),
    lastAdjustment: asked?.last ?? 0,
  };
}

/** Returns the rest of a charge, at most the charge of the reservation `instead`, where that is given. */
export async function refundable(
  reader: SqlReader,
  { charged, givenBack }: StoredReservation,
  instead?: number,
): Promise<Microcredits> {
  const most = instead === undefined ? charged : ((await findReservation(reader, instead))?.charged ?? 0);
  return Math.min(charged - givenBack, most);
}

const isEnd = ({ kind }: Step): boolean => kind === 'settle' || kind === 'expire';
const isCharge = (step: Step): boolean => step.kind === 'post' || isEnd(step);

const SELECT_BALANCES: Statement = {
  sql: `SELECT 1 FROM funds WHERE kind = 'balance' AND id IN (SELECT value FROM json_each(?))`,
};

/** Whether a balance is among funds as the journal names them. */
async function hasBalance(reader: SqlReader, funds: string | null): Promise<boolean> {
  if (funds === null) return false;
  const found = await reader.query(SELECT_BALANCES, [JSON.stringify(funds.split(' ').map(Number))]);
  return found.length > 0;
}

/** The first row that is not older than a moment. */
async function firstAt(reader: SqlReader, time: number, first: number, last: number): Promise<number> {
  let low = first;
  let high = last;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await reader.query<{ seq: number; time: number }>(SELECT_AT, [middle]);
    if (!row || row.time >= time) high = middle;
    else low = row.seq + 1;
  }
  return low;
}

/** The rows of a reservation from its first to its end; null when it has none. */
async function stepsOf(reader: SqlReader, id: number, from: number, last: number): Promise<[Step, ...Step[]] | null> {
  const steps: Step[] = [];
  for (let at = from; at <= last && !steps.some(isEnd); at += STRETCH) {
    steps.push(...(await reader.query<Step>(SELECT_STEPS, [at, at + STRETCH, id])));
  }
  const [first, ...rest] = steps;
  return first?.kind === 'reserve' ? [first, ...rest] : null;
}

const INSERT_REFUND: Statement = {
  sql: `INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time, id)
    SELECT 'correct', ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE ?1 = (SELECT coalesce(max(id), 0) FROM adjustments WHERE reservation = ?2)`,
  mustChange: true,
};

/**
 * Asks for a refund. Fails its commit with the reason `unmet` when another one was asked for since the reservation was looked up.
 *
 * @param id the number of the adjustment; null for the next one
 */
export function refundWrite(
  booked: StoredReservation,
  amount: Microcredits,
  note: string,
  time: number,
  id: number | null = null,
): SqlWrite {
  const { reservation, account, keyId, lastAdjustment } = booked;
  return write(INSERT_REFUND, lastAdjustment, reservation, keyId, reservation, account, -amount, note, time, id);
}

/** Asks for a grant to a key or a wallet. */
export function grantWrite(keyId: string, amount: Microcredits, note: string, time: number): SqlWrite {
  return insertAdjustment({ kind: 'grant', keyId, reservation: null, account: null, amount, note, time });
}

const SELECT_GRANTED: Statement = {
  sql: `SELECT coalesce((SELECT granted FROM balances WHERE key_id = ?1), 0)
      + coalesce((SELECT sum(j.amount) FROM journal AS j JOIN accounts AS a ON a.id = j.account
        WHERE j.seq > (SELECT through FROM checkpoint) AND j.kind IN ('grant', 'deposit', 'fee') AND a.key_id = ?1), 0)
      + coalesce((SELECT sum(amount) FROM adjustments WHERE kind = 'grant' AND adopted = 0 AND key_id = ?1), 0) AS granted`,
};

/** All that was ever granted to a key, or paid in by a wallet less fees, what is only asked for included. */
export async function grantedTo(store: SqlReader, holder: string): Promise<Microcredits> {
  const [row] = await store.query<{ granted: number }>(SELECT_GRANTED, [holder]);
  return row?.granted ?? 0;
}
