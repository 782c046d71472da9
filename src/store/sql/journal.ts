import { readBill } from '../../core/accounting/bill.ts';
import { idAt } from '../../core/id.ts';
import type {
  AuditRow,
  FundRow,
  JournalReader,
  MoneyEntry,
  MoneyFilter,
  PaymentRow,
  PricedRow,
  ReservationEntry,
  RowPages,
  SpendRow,
} from '../journal-reader.ts';
import { first, type SqlReader, type Statement, sql } from './statement.ts';
import { wrongCells } from './traffic/wrong-cells.ts';

/**
 * This file has the statements on a journal that SQLite and PostgreSQL share. In both databases, an overrun has the row number after the
 * number of its charge.
 */

const SELECT_UNIT = sql('SELECT usd_per_credit AS usdPerCredit FROM checkpoint', {
  inPostgres: 'SELECT usd_per_credit AS usdPerCredit FROM terms',
});
/** The funds are ordered by the first journal row that may refer to each fund. */
const SELECT_FUNDS = sql(
  `SELECT id, kind, name, subject, definition, starts, ends, most, opening, after_seq AS afterSeq, after_seq AS counted FROM funds
    WHERE (after_seq, id) > (?, ?) ORDER BY after_seq, id LIMIT ?`,
  {
    inPostgres: `SELECT r.id, f.kind, f.name, f.subject, f.definition, f.starts, f.ends, r.most, r.opening, r.after_seq AS afterSeq, r.counted
      FROM fund_rows AS r JOIN funds AS f ON f.id = r.fund WHERE (r.after_seq, r.id) > (?, ?) ORDER BY r.after_seq, r.id LIMIT ?`,
  },
);
const selectRows = (
  funds: string,
) => `SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, ${funds} AS funds, j.tariff, j.bill, CASE WHEN j.kind IN ('deposit', 'fee') THEN j.note END AS note, a.key_id AS keyId, a.payer, t.id AS knownTariff
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq > ? ORDER BY j.seq LIMIT ?`;
const SELECT_ROWS = sql(selectRows('j.funds'), {
  inPostgres: selectRows(`nullif(array_to_string(j.funds, ' '), '')`),
});
/**
 * PostgreSQL adds up the table of sums and the journal rows that are not in the table yet. A page of sums needs at most a page of the table
 * and a page of these journal rows.
 */
const SELECT_SPEND = sql(
  `SELECT quarter, account, tariff, charges, microcredits, input_tokens AS input, output_tokens AS output, stated, matched
    FROM spend WHERE (quarter, account, tariff) > (?, ?, ?) ORDER BY quarter, account, tariff LIMIT ?`,
  {
    inPostgres: `SELECT quarter, account, tariff, sum(charges) AS charges, sum(microcredits) AS microcredits,
      sum(input_tokens) AS input, sum(output_tokens) AS output, sum(stated) AS stated, sum(matched) AS matched
    FROM (
      (SELECT * FROM spend WHERE (quarter, account, tariff) > (?1, ?2, ?3) ORDER BY quarter, account, tariff LIMIT ?4)
      UNION ALL
      (SELECT quarter, account, tariff, count(*), sum(microcredits), sum(input_tokens), sum(output_tokens), sum(stated), sum(matched) FROM unfolded
        WHERE (quarter, account, tariff) > (?1, ?2, ?3) GROUP BY quarter, account, tariff ORDER BY quarter, account, tariff LIMIT ?4)
    ) AS parts
    GROUP BY quarter, account, tariff ORDER BY quarter, account, tariff LIMIT ?4`,
  },
);
const selectEntries = (place: string) =>
  sql(`SELECT j.kind, j.amount, j.time, t.model, t.provider, t.upstream, t.price, j.bill, j.estimated
    FROM journal AS j LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE ${place} j.reservation = ? AND j.kind <> 'correct' ORDER BY j.seq`);
const SELECT_ENTRIES = selectEntries('');
const SELECT_ENTRIES_BETWEEN = selectEntries('j.seq >= ? AND j.seq <= ? AND');
const SELECT_PRICED = sql(`SELECT j.seq, j.kind, j.reservation, j.amount, j.bill, t.price
    FROM journal AS j JOIN tariffs AS t ON t.id = j.tariff WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_PAYMENTS = sql('SELECT id, state, payer, paid, fee FROM payments WHERE id > ? ORDER BY id LIMIT ?');
/**
 * The selection leaves out a settlement that charges nothing and has no tariff, and an expiry that charges nothing: neither moves money.
 */
const selectMoney = (outcome: string) => `SELECT j.seq, j.kind, j.reservation, j.amount, j.time,
      coalesce((SELECT o.amount FROM journal AS o WHERE o.seq = j.seq + 1 AND o.kind = 'overrun' AND o.reservation = j.reservation
        AND j.kind IN ('post', 'settle')), 0) AS overrun,
      coalesce(a.key_id, '') AS keyId, coalesce(a.labels, '{}') AS labels, coalesce(a.selector, '') AS selector, coalesce(a.session, '') AS session,
      coalesce(a.agent, '') AS agent, coalesce(a.team_id, '') AS team, coalesce(a.user_id, '') AS "user",
      coalesce(t.model, '') AS model, coalesce(t.provider, '') AS provider, coalesce(t.upstream, '') AS upstream,
      j.bill, j.estimated, t.price, coalesce(j.note, '') AS note, ${outcome} AS outcome
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.kind IN ('post', 'settle', 'expire', 'overrun', 'correct', 'grant', 'deposit', 'fee')
      AND (j.tariff IS NOT NULL OR j.amount <> 0)
      AND CASE WHEN j.reservation IS NULL THEN j.time >= ?1 AND j.time < ?2
        ELSE j.reservation >= ?3 AND j.reservation < ?4 END
      AND (a.key_id = ?5 OR ?5 IS NULL) AND (t.model = ?6 OR ?6 IS NULL)
      AND j.seq >= ?7 AND j.seq < ?8
    ORDER BY j.seq`;
/** A charge has the same number as the record of its request. */
const OUTCOME = '(SELECT r.status FROM record_index AS r WHERE r.id = j.reservation)';
/** The newest records of SQLite are not in the index yet. Only charges that are as new are searched among them. */
const FRESH_OUTCOME = `CASE WHEN j.reservation >= (SELECT min(id) FROM records WHERE seq > (SELECT through FROM record_indexing))
        THEN (SELECT r.status FROM records AS r WHERE r.seq > (SELECT through FROM record_indexing) AND r.id = j.reservation) END`;
const SELECT_MONEY = sql(selectMoney(`coalesce(${OUTCOME}, ${FRESH_OUTCOME})`), { inPostgres: selectMoney(OUTCOME) });
const SELECT_MONEY_ALONE = sql(selectMoney('NULL'));
const SELECT_NEXT = sql('SELECT min(seq) AS seq FROM journal WHERE seq >= ?');
/** The number of journal rows to read at once. */
const PAGE_ROWS = 10_000;
/** The number of journal rows to search at once. A running server also reads these pages, and SQLite blocks it for a few ms. */
const MONEY_PAGE_ROWS = 2_000;
/** A number that is lower than the number of the first row. */
export const FIRST = Number.MIN_SAFE_INTEGER;

interface MoneyRow extends Omit<MoneyEntry, 'labels' | 'estimated' | 'outcome' | 'bill'> {
  readonly seq: number;
  readonly outcome: MoneyEntry['outcome'] | null;
  readonly labels: string;
  readonly estimated: number | null;
  readonly bill: string | null;
}

/** A row whose bill is still a text. */
type Stored<Row> = Omit<Row, 'bill' | 'input' | 'output' | 'stated'> & { readonly bill: string | null };

const withBill = <Row extends { readonly bill: string | null }>(row: Row) => ({ ...row, bill: readBill(row.bill) });

/** Replaces the bill of a row by its tokens, which are null for a row without a bill. */
export function withTokens<Row extends { readonly bill: string | null }>({ bill: text, ...row }: Row) {
  const bill = readBill(text);
  return { ...row, input: bill?.input ?? null, output: bill?.output ?? null, stated: bill?.stated };
}

async function* mapped<From, To>(rows: RowPages<From>, map: (row: From) => To): RowPages<To> {
  for await (const page of rows) yield page.map(map);
}

export const seqOf = ({ seq }: { readonly seq: number }): readonly number[] => [seq];

/**
 * Reads all rows of a statement in pages. The last two parameters of the statement are the position where a page begins, and the length of
 * a page.
 */
export async function* pages<Row>(
  db: SqlReader,
  statement: Statement,
  before: readonly number[],
  placeOf: (row: Row) => readonly number[],
): RowPages<Row> {
  for (let after = before; ; ) {
    const rows = await db.query<Row>(statement, [...after, PAGE_ROWS]);
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    after = placeOf(last);
  }
}

/** Reads the entries that move money and match a filter. Each page is the result of a bounded search, so pages can be empty. */
async function* moneyPages(
  db: SqlReader,
  hasRecords: () => Promise<boolean>,
  { from, to, keyId, model }: MoneyFilter,
): RowPages<MoneyEntry> {
  const statement = (await hasRecords()) ? SELECT_MONEY : SELECT_MONEY_ALONE;
  const end = Math.min(to, Number.MAX_SAFE_INTEGER);
  const lastId = Math.min(idAt(to), Number.MAX_SAFE_INTEGER);
  const filter = [from, end, idAt(from), lastId, keyId, model];
  const nextFrom = async (seq: number) => (await first<{ seq: number | null }>(db, SELECT_NEXT, seq))?.seq ?? null;
  for (let next = await nextFrom(FIRST); next !== null; next = await nextFrom(next + MONEY_PAGE_ROWS)) {
    const rows = await db.query<MoneyRow>(statement, [...filter, next, next + MONEY_PAGE_ROWS]);
    yield rows.map(entryOf);
  }
}

const entryOf = ({ seq: _, labels, estimated, outcome, bill, ...row }: MoneyRow): MoneyEntry => ({
  ...row,
  bill: readBill(bill),
  labels: JSON.parse(labels) as Record<string, string>,
  estimated: estimated === 1,
  ...(outcome && { outcome }),
});

/**
 * Reads the rows of a reservation. @param between the smallest and the greatest possible number of these rows, for a database without an
 * index
 */
export async function reservationEntries(
  db: SqlReader,
  id: number,
  between: readonly [number, number] | null = null,
): Promise<readonly ReservationEntry[]> {
  type Row = Stored<Omit<ReservationEntry, 'estimated'>> & { readonly estimated: number | null };
  const rows = await (between
    ? db.query<Row>(SELECT_ENTRIES_BETWEEN, [...between, id])
    : db.query<Row>(SELECT_ENTRIES, [id]));
  return rows.map((row) => ({ ...withBill(row), estimated: row.estimated === 1 }));
}

type OwnJournal = Pick<JournalReader, 'horizon' | 'checkpoint' | 'damages' | 'balances' | 'reservation'>;

/**
 * The journal of a database.
 * @param own the parts that differ between the databases
 * @param least a number that is at most the number of every row. Damaged rows of SQLite can have negative numbers.
 * @param hasRecords whether the database has the tables of records, which have the outcomes of charged requests
 */
export const sqlJournal = (
  db: SqlReader,
  own: OwnJournal,
  least: number,
  hasRecords: () => Promise<boolean> = async () => true,
): JournalReader => ({
  funds: () => pages<FundRow>(db, SELECT_FUNDS, [FIRST, least], ({ afterSeq, id }) => [afterSeq, id]),
  rows: () => mapped(pages<Stored<AuditRow>>(db, SELECT_ROWS, [FIRST], seqOf), withTokens),
  priced: () => mapped(pages<Stored<PricedRow>>(db, SELECT_PRICED, [FIRST], seqOf), withBill),
  spend: () =>
    pages<SpendRow>(db, SELECT_SPEND, [least, least, least], ({ quarter, account, tariff }) => [
      quarter,
      account,
      tariff,
    ]),
  payments: async () => pages<PaymentRow>(db, SELECT_PAYMENTS, [FIRST], ({ id }) => [id]),
  money: (filter) => moneyPages(db, hasRecords, filter),
  usdPerCredit: async () => (await first<{ usdPerCredit: string | null }>(db, SELECT_UNIT))?.usdPerCredit ?? null,
  wrongCells: (now) => wrongCells(db, now),
  ...own,
});
