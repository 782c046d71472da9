import type { Timers } from '../../../core/time/timers.ts';
import type { BalanceRow, JournalCheckpoint, JournalReader, OpenReservation } from '../../journal-reader.ts';
import { reservationEntries, sqlJournal } from '../../sql/journal.ts';
import { first, type SqlReader, sql } from '../../sql/statement.ts';
import { Horizon } from '../horizon.ts';

const SELECT_LAST = sql('SELECT coalesce(max(seq), 0) AS seq FROM journal WHERE seq <= ?');
const SELECT_BALANCES = sql('SELECT name AS keyId, most AS granted, spent FROM funds WHERE budget = 0 AND is_opened');
const SELECT_END = sql(`SELECT coalesce(max(j.seq), 0) AS through,
      (SELECT f.charged + coalesce((SELECT sum(u.microcredits) FROM unfolded AS u), 0) FROM folded AS f) AS charged
    FROM journal AS j`);
/** The open holds, with the funds that their latest `reserve` or `attach` entry names. */
const SELECT_OPEN =
  sql(`SELECT h.id AS reservation, h.account, a.key_id AS keyId, h.amount, h.charged, h.owner, h.expires,
      nullif(array_to_string(named.funds, ' '), '') AS funds
    FROM holds AS h JOIN accounts AS a ON a.id = h.account LEFT JOIN (
      SELECT DISTINCT ON (reservation) reservation, funds FROM journal
        WHERE kind IN ('reserve', 'attach') AND reservation IN (SELECT id FROM holds WHERE state = 'open')
        ORDER BY reservation, seq DESC
    ) AS named ON named.reservation = h.id
    WHERE h.state = 'open'`);
/** Compares the figures of funds, by which the database decides, with the sums over holds and entries. Any difference is damage. */
const SELECT_WRONG_HELD = sql(`SELECT f.id, f.name, f.held AS figure, coalesce(now.held, 0) AS due
    FROM funds AS f LEFT JOIN (
      SELECT d.fund, sum(h.amount - h.charged - CASE WHEN g.kind = 'balance' THEN least(h.expected, h.amount) ELSE 0 END) AS held
        FROM holds AS h CROSS JOIN unnest(h.funds) AS d (fund) JOIN funds AS g ON g.id = d.fund
        WHERE h.state IN ('open', 'earmark') GROUP BY d.fund
    ) AS now ON now.fund = f.id
    WHERE f.held <> coalesce(now.held, 0)`);
const SELECT_WRONG_SPENT = sql(`SELECT f.id, f.name, f.spent AS figure, r.opening + coalesce(sum(j.amount), 0) AS due
    FROM funds AS f JOIN fund_rows AS r ON r.id = f.row_id LEFT JOIN (
      SELECT unnest(drawn) AS fund, seq, amount FROM journal WHERE drawn IS NOT NULL AND amount <> 0
    ) AS j ON j.fund = f.id AND j.seq > r.after_seq
    GROUP BY f.id, r.id HAVING f.spent <> r.opening + coalesce(sum(j.amount), 0)`);

/**
 * Reads the journal of a PostgreSQL database. SQLite has a checkpoint that lags the journal; in PostgreSQL, holds, balances and sums are
 * always current, so the checkpoint is the end of the journal.
 * @param timers null for a snapshot of the database, in which no transaction is in progress
 */
export function postgresJournal(db: SqlReader, timers: Timers | null): JournalReader {
  const entries =
    timers && new Horizon((text, values) => db.query(sql(text), values), timers, { entries: 'journal_seq' });
  const own = {
    async horizon() {
      const most = entries ? (await entries.fresh()).entries : Number.MAX_SAFE_INTEGER;
      return (await first<{ seq: number }>(db, SELECT_LAST, most))?.seq ?? 0;
    },
    async checkpoint() {
      const end = await first<Omit<JournalCheckpoint, 'open'>>(db, SELECT_END);
      return end && { ...end, open: await db.query<OpenReservation>(SELECT_OPEN) };
    },
    damages: () => damagesOf(db),
    balances: () => db.query<BalanceRow>(SELECT_BALANCES),
    reservation: (id: number) => reservationEntries(db, id),
  };
  return sqlJournal(db, own, 0);
}

async function damagesOf(db: SqlReader): Promise<readonly string[]> {
  type WrongFigure = { readonly id: number; readonly name: string; readonly figure: number; readonly due: number };
  const held = await db.query<WrongFigure>(SELECT_WRONG_HELD);
  const spent = await db.query<WrongFigure>(SELECT_WRONG_SPENT);
  return [
    ...held.map(
      ({ id, name, figure, due }) =>
        `fund ${id} (${name}) has ${figure} microcredits held, but its holds add up to ${due}`,
    ),
    ...spent.map(
      ({ id, name, figure, due }) =>
        `fund ${id} (${name}) has ${figure} microcredits spent, but its entries add up to ${due}`,
    ),
  ];
}
