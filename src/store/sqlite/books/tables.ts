import type { Microcredits } from '../../../core/credits.ts';
import type { BalanceRow, SpendRow } from '../../journal-reader.ts';
import { type SqlWrite, sql, write } from '../statement.ts';

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

/** The figures that a start needs: the last numbers given, and the end of the sums. */
export const SELECT_STATE = sql(`SELECT through, open, usd_per_credit AS usdPerCredit,
      max(through, (SELECT coalesce(max(seq), 0) FROM journal)) AS seq,
      NOT EXISTS (SELECT 1 FROM journal) AS isEmpty,
      (SELECT coalesce(max(id), 0) FROM accounts) AS account,
      (SELECT coalesce(max(id), 0) FROM tariffs) AS tariff,
      (SELECT coalesce(max(id), 0) FROM funds) AS fund
    FROM checkpoint`);
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
export const SELECT_LAST = sql(`SELECT
      (SELECT coalesce(max(reservation), 0) FROM (SELECT reservation FROM journal ORDER BY seq DESC LIMIT 50000)) AS hold,
      (SELECT coalesce(max(id), 0) FROM adjustments) AS adjustment`);
export interface LastIds {
  readonly hold: number;
  readonly adjustment: number;
}

/** Rows after a number, in order. Parameters: the number, and the length of a page. */
export const SELECT_JOURNAL =
  sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, a.key_id AS keyId
    FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);

/** The sums spent from a quarter of an hour on, by account. */
export const SELECT_SPEND_BY_ACCOUNT =
  sql(`SELECT a.key_id AS keyId, a.labels, a.selector, sum(s.microcredits) AS microcredits
    FROM spend AS s JOIN accounts AS a ON a.id = s.account WHERE s.quarter >= ? GROUP BY s.account`);
export type AccountSpend = Pick<AccountRow, 'keyId' | 'labels' | 'selector'> & Pick<SpendRow, 'microcredits'>;

export const SELECT_CHARGED = sql('SELECT coalesce(sum(microcredits), 0) AS charged FROM spend');

export const SELECT_BALANCES = sql('SELECT key_id AS keyId, granted, spent FROM balances');

/** Adjustments that are not in the journal yet. */
export const SELECT_ADJUSTMENTS =
  sql(`SELECT id, kind, key_id AS keyId, reservation, account, amount, note, time FROM adjustments
    WHERE adopted = 0 ORDER BY id`);
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
export const SELECT_ACCOUNT = sql('SELECT id, key_id AS keyId, labels, selector, payer FROM accounts WHERE id = ?');

const INSERT_ADJUSTMENT = sql(
  'INSERT INTO adjustments (id, kind, key_id, reservation, account, amount, note, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
);
/** An adjustment by its number, taken over or not. */
export const SELECT_ADJUSTMENT = sql('SELECT amount FROM adjustments WHERE id = ?');
const ADOPT_ADJUSTMENT = sql('UPDATE adjustments SET adopted = 1 WHERE id = ?');

/** @param id a number that its maker chose, of which a constraint refuses the second; null for the next one */
export function insertAdjustment(adjustment: Adjustment, id: number | null = null): SqlWrite {
  const { kind, keyId, reservation, account, amount, note, time } = adjustment;
  return write(INSERT_ADJUSTMENT, id, kind, keyId, reservation, account, amount, note, time);
}

export const adoptAdjustment = (id: number): SqlWrite => write(ADOPT_ADJUSTMENT, id);

const ADD_SPEND = sql(`INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET charges = charges + excluded.charges, microcredits = microcredits + excluded.microcredits,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`);
const PUT_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
/** Rows that were being written count if they have arrived: they were given to the disk before this. */
const PUT_COMING_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent)
    VALUES (?1, ?2 + (SELECT coalesce(sum(amount), 0) FROM journal WHERE seq IN (SELECT value FROM json_each(?4))), ?3)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
const PUT_CHECKPOINT = sql('UPDATE checkpoint SET through = ?, open = ?');
const PUT_TERMS = sql('UPDATE checkpoint SET usd_per_credit = ?, budgets = ?');

export const addSpend = ({ quarter, account, tariff, charges, microcredits, input, output }: SpendRow): SqlWrite =>
  write(ADD_SPEND, quarter, account, tariff, charges, microcredits, input, output);

export const putBalance = ({ keyId, granted, spent }: BalanceRow): SqlWrite =>
  write(PUT_BALANCE, keyId, granted, spent);

/** A balance with rows of the journal that are being written, which add to its grants. */
export const putComingBalance = ({ keyId, granted, spent }: BalanceRow, rows: readonly number[]): SqlWrite =>
  write(PUT_COMING_BALANCE, keyId, granted, spent, JSON.stringify(rows));

export const putCheckpoint = (through: number, open: string): SqlWrite => write(PUT_CHECKPOINT, through, open);

/** The worth of the Credits of all entries, and the names of the budgets in force, as JSON. */
export const putTerms = (usdPerCredit: string, budgets: string): SqlWrite => write(PUT_TERMS, usdPerCredit, budgets);
