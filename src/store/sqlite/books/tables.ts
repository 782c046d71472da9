import type { Microcredits } from '../../../core/credits.ts';
import type { BalanceRow, FundRow, SpendRow } from '../../journal-reader.ts';
import { type SqlValue, type SqlWrite, type Statement, write } from '../statement.ts';

const INSERT_HOLDING: Statement = {
  sql: 'INSERT INTO journal (seq, kind, reservation, account, amount, time, funds) VALUES (?, ?, ?, ?, ?, ?, ?)',
};
const INSERT_CHARGE: Statement = {
  sql: `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, input_tokens, cached_input_tokens,
      cache_write_tokens, output_tokens, reasoning_tokens, estimated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  spooledAs: 'charge',
};
const INSERT_BARE: Statement = {
  sql: 'INSERT INTO journal (seq, kind, reservation, account, amount, time) VALUES (?, ?, ?, ?, ?, ?)',
  spooledAs: 'closing',
};
const INSERT_NOTED: Statement = {
  sql: `INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, note)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
};
const INSERT_PAID: Statement = {
  sql: 'INSERT INTO journal (seq, kind, reservation, account, amount, time, note) VALUES (?, ?, ?, ?, ?, ?, ?)',
  spooledAs: 'paid',
};
const INSERT_ACCOUNT: Statement = {
  sql: 'INSERT INTO accounts (id, key_id, labels, selector, payer) VALUES (?, ?, ?, ?, ?)',
};
const INSERT_TARIFF: Statement = {
  sql: 'INSERT INTO tariffs (id, model, provider, upstream, price) VALUES (?, ?, ?, ?, ?)',
  spooledAs: 'tariff',
};
const INSERT_FUND: Statement = {
  sql: `INSERT INTO funds (id, kind, name, subject, definition, starts, ends, most, opening, after_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
};

/** Input, cached input, cache write, output and reasoning tokens. */
export type TokenCounts = readonly [number, number, number, number, number];

/**
 * `reserve`, `raise`, `attach`: what is set aside, and out of which funds; null for none. The note of a reservation is what its
 * request named as `agent_wallet`.
 */
export function insertHolding(
  seq: number,
  kind: 'reserve' | 'raise' | 'attach',
  reservation: number,
  account: number,
  amount: Microcredits,
  time: number,
  funds: string | null,
  note: string | null = null,
): SqlWrite {
  const params = [seq, kind, reservation, account, amount, time, funds];
  // Most have none, and bind one value less.
  if (note === null) return write(INSERT_HOLDING, ...params);
  params.push(note);
  return write(INSERT_NOTED, ...params);
}

/** `post`, `settle`, `overrun`: what an attempt cost. */
export function insertCharge(
  seq: number,
  kind: 'post' | 'settle' | 'overrun',
  reservation: number,
  account: number,
  amount: Microcredits,
  time: number,
  tariff: number,
  [input, cached, written, output, reasoning]: TokenCounts,
  estimated: boolean,
): SqlWrite {
  const params: SqlValue[] = [
    seq,
    kind,
    reservation,
    account,
    amount,
    time,
    tariff,
    input,
    cached,
    written,
    output,
    reasoning,
    estimated ? 1 : 0,
  ];
  return write(INSERT_CHARGE, ...params);
}

/** A `settle` that charges nothing, and `expire`. */
export function insertClosing(
  seq: number,
  kind: 'settle' | 'expire',
  reservation: number,
  account: number,
  amount: Microcredits,
  time: number,
): SqlWrite {
  return write(INSERT_BARE, seq, kind, reservation, account, amount, time);
}

/** `correct` and `grant`: what an operator asked for. `funds` are those that a correction gives back to. */
export function insertAdjusting(
  seq: number,
  { kind, reservation, amount, note }: Adjustment,
  account: number,
  time: number,
  funds: string | null,
): SqlWrite {
  return write(INSERT_NOTED, seq, kind, reservation, account, amount, time, funds, note);
}

/** `deposit` and `fee`: what came into a wallet's balance from outside, and what of it is kept. */
export function insertPaid(
  seq: number,
  kind: 'deposit' | 'fee',
  account: number,
  amount: Microcredits,
  time: number,
  note: string,
): SqlWrite {
  return write(INSERT_PAID, seq, kind, null, account, amount, time, note);
}

/**
 * The statements whose rows the spool keeps. Those of the journal begin with the number, the kind, the reservation, the
 * account and the amount.
 */
export const SPOOLED_IN_JOURNAL: readonly Statement[] = [INSERT_CHARGE, INSERT_BARE, INSERT_PAID];
export const SPOOLED_TARIFF: Statement = INSERT_TARIFF;

/** A spender; entries name it by number. */
export interface AccountRow {
  readonly id: number;
  readonly keyId: string;
  /** Of the key, as JSON. */
  readonly labels: string;
  readonly selector: string;
  /** The wallet that pays in its place; null where its own balance does. */
  readonly payer: string | null;
}

export function insertAccount({ id, keyId, labels, selector, payer }: AccountRow): SqlWrite {
  return write(INSERT_ACCOUNT, id, keyId, labels, selector, payer);
}

export function insertTariff(id: number, model: string, provider: string, upstream: string, price: string): SqlWrite {
  return write(INSERT_TARIFF, id, model, provider, upstream, price);
}

export function insertFund(row: FundRow): SqlWrite {
  const { id, kind, name, subject, definition, starts, ends, most, opening, afterSeq } = row;
  return write(INSERT_FUND, id, kind, name, subject, definition, starts, ends, most, opening, afterSeq);
}

/** The figures that a start needs: the last numbers given, and the end of the sums. */
export const SELECT_STATE: Statement = {
  sql: `SELECT through, open, usd_per_credit AS usdPerCredit,
      max(through, (SELECT coalesce(max(seq), 0) FROM journal)) AS seq,
      NOT EXISTS (SELECT 1 FROM journal) AS isEmpty,
      (SELECT coalesce(max(id), 0) FROM accounts) AS account,
      (SELECT coalesce(max(id), 0) FROM tariffs) AS tariff,
      (SELECT coalesce(max(id), 0) FROM funds) AS fund
    FROM checkpoint`,
};
export interface StateRow {
  readonly through: number;
  /** JSON of OpenReservation[]. */
  readonly open: string;
  readonly usdPerCredit: string | null;
  /** The greatest number that a row has, or that was given to one which could not be written. */
  readonly seq: number;
  /** 1 while there is no entry. */
  readonly isEmpty: number;
  readonly account: number;
  readonly tariff: number;
  readonly fund: number;
}

/** The greatest ID of a reservation, which grow with time, but for those that waited for money; and that of an adjustment. */
export const SELECT_LAST: Statement = {
  sql: `SELECT
      (SELECT coalesce(max(reservation), 0) FROM (SELECT reservation FROM journal ORDER BY seq DESC LIMIT 50000)) AS hold,
      (SELECT coalesce(max(id), 0) FROM adjustments) AS adjustment`,
};
export interface LastIds {
  readonly hold: number;
  readonly adjustment: number;
}

/** Rows after a number, in order, so many at once. */
export const SELECT_JOURNAL: Statement = {
  sql: `SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, a.key_id AS keyId
    FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.seq > ? ORDER BY j.seq LIMIT ?`,
};

/** The sums spent from a quarter of an hour on, by account. */
export const SELECT_SPEND_BY_ACCOUNT: Statement = {
  sql: `SELECT a.key_id AS keyId, a.labels, a.selector, sum(s.microcredits) AS microcredits
    FROM spend AS s JOIN accounts AS a ON a.id = s.account WHERE s.quarter >= ? GROUP BY s.account`,
};
export interface AccountSpend {
  readonly keyId: string;
  /** JSON. */
  readonly labels: string;
  readonly selector: string;
  readonly microcredits: Microcredits;
}

export const SELECT_CHARGED: Statement = { sql: 'SELECT coalesce(sum(microcredits), 0) AS charged FROM spend' };

export const SELECT_BALANCES: Statement = { sql: 'SELECT key_id AS keyId, granted, spent FROM balances' };

/** Adjustments that are not in the journal yet. */
export const SELECT_ADJUSTMENTS: Statement = {
  sql: `SELECT id, kind, key_id AS keyId, reservation, account, amount, note, time FROM adjustments
    WHERE adopted = 0 ORDER BY id`,
};
/** A grant or a correction that an operator asked for. */
export interface Adjustment {
  readonly kind: 'grant' | 'correct';
  readonly keyId: string;
  /** Of a correction. */
  readonly reservation: number | null;
  readonly account: number | null;
  /** The sum added to the balance; of a correction, the refund (negative). */
  readonly amount: Microcredits;
  readonly note: string;
  readonly time: number;
}
export interface AdjustmentRow extends Adjustment {
  readonly id: number;
}

/** The holder of the account of a number. */
export const SELECT_ACCOUNT: Statement = {
  sql: 'SELECT id, key_id AS keyId, labels, selector, payer FROM accounts WHERE id = ?',
};

const INSERT_ADJUSTMENT: Statement = {
  sql: 'INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time) VALUES (?, ?, ?, ?, ?, ?, ?)',
};
const INSERT_NUMBERED_ADJUSTMENT: Statement = {
  sql: `INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
};
/** An adjustment by its number, taken over or not. */
export const SELECT_ADJUSTMENT: Statement = { sql: 'SELECT amount FROM adjustments WHERE id = ?' };
const ADOPT_ADJUSTMENT: Statement = { sql: 'UPDATE adjustments SET adopted = 1 WHERE id = ?' };

export function insertAdjustment({ kind, keyId, reservation, account, amount, note, time }: Adjustment): SqlWrite {
  return write(INSERT_ADJUSTMENT, kind, keyId, reservation, account, amount, note, time);
}

/** The same under a number that its maker chose; a constraint refuses the second. */
export function insertNumberedAdjustment(id: number, adjustment: Adjustment): SqlWrite {
  return write(INSERT_NUMBERED_ADJUSTMENT, ...insertAdjustment(adjustment).params, id);
}

export function adoptAdjustment(id: number): SqlWrite {
  return write(ADOPT_ADJUSTMENT, id);
}

const ADD_SPEND: Statement = {
  sql: `INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET charges = charges + excluded.charges, microcredits = microcredits + excluded.microcredits,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`,
};
const PUT_BALANCE: Statement = {
  sql: `INSERT INTO balances (key_id, granted, spent) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`,
};
/** Rows that were being written count if they have arrived: they were given to the disk before this. */
const PUT_COMING_BALANCE: Statement = {
  sql: `INSERT INTO balances (key_id, granted, spent)
    VALUES (?1, ?2 + (SELECT coalesce(sum(amount), 0) FROM journal WHERE seq IN (SELECT value FROM json_each(?4))), ?3)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`,
};
const PUT_CHECKPOINT: Statement = { sql: 'UPDATE checkpoint SET through = ?, open = ?' };
const PUT_TERMS: Statement = { sql: 'UPDATE checkpoint SET usd_per_credit = ?, budgets = ?' };

export function addSpend({ quarter, account, tariff, charges, microcredits, input, output }: SpendRow): SqlWrite {
  return write(ADD_SPEND, quarter, account, tariff, charges, microcredits, input, output);
}

export function putBalance({ keyId, granted, spent }: BalanceRow): SqlWrite {
  return write(PUT_BALANCE, keyId, granted, spent);
}

/** A balance with rows of the journal that are being written, which add to what was granted. */
export function putComingBalance({ keyId, granted, spent }: BalanceRow, rows: readonly number[]): SqlWrite {
  return write(PUT_COMING_BALANCE, keyId, granted, spent, JSON.stringify(rows));
}

export function putCheckpoint(through: number, open: string): SqlWrite {
  return write(PUT_CHECKPOINT, through, open);
}

/** The worth of the Credits of all entries, and the names of the budgets in force, as JSON. */
export function putTerms(usdPerCredit: string, budgets: string): SqlWrite {
  return write(PUT_TERMS, usdPerCredit, budgets);
}
