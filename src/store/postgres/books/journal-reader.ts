import type { Timers } from '../../../core/timers.ts';
import type {
  AuditRow,
  BalanceRow,
  FundRow,
  JournalCheckpoint,
  JournalReader,
  OpenReservation,
  ReservationEntry,
  SpendRow,
} from '../../journal-reader.ts';
import { FIRST, moneyPages, pages, paymentPages, pricedPages, seqOf } from '../../sql/journal.ts';
import { first, type SqlReader, sql } from '../../sql/statement.ts';
import { wrongCells } from '../../sql/traffic/wrong-cells.ts';
import { Horizon } from '../horizon.ts';

const SELECT_LAST = sql('SELECT coalesce(max(seq), 0) AS seq FROM journal WHERE seq <= ?');
const SELECT_UNIT = sql('SELECT usd_per_credit AS usdPerCredit FROM terms');
/** In the order in which the journal comes to name them. */
const SELECT_FUNDS =
  sql(`SELECT r.id, f.kind, f.name, f.subject, f.definition, f.starts, f.ends, r.most, r.opening, r.after_seq AS afterSeq
    FROM fund_rows AS r JOIN funds AS f ON f.id = r.fund WHERE (r.after_seq, r.id) > (?, ?) ORDER BY r.after_seq, r.id LIMIT ?`);
const SELECT_ROWS =
  sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, nullif(array_to_string(j.funds, ' '), '') AS funds,
      j.tariff, j.input_tokens AS input, j.output_tokens AS output, CASE WHEN j.kind IN ('deposit', 'fee') THEN j.note END AS note,
      a.key_id AS keyId, a.payer, t.id AS knownTariff
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
/** The sums, with the rest of the journal. As many of each suffice for a page. */
const SELECT_SPEND = sql(`SELECT quarter, account, tariff, sum(charges) AS charges, sum(microcredits) AS microcredits,
      sum(input_tokens) AS input, sum(output_tokens) AS output
    FROM (
      (SELECT * FROM spend WHERE (quarter, account, tariff) > (?1, ?2, ?3) ORDER BY quarter, account, tariff LIMIT ?4)
      UNION ALL
      (SELECT quarter, account, tariff, count(*), sum(microcredits), sum(input_tokens), sum(output_tokens) FROM unfolded
        WHERE (quarter, account, tariff) > (?1, ?2, ?3) GROUP BY quarter, account, tariff ORDER BY quarter, account, tariff LIMIT ?4)
    ) AS parts
    GROUP BY quarter, account, tariff ORDER BY quarter, account, tariff LIMIT ?4`);
const SELECT_BALANCES = sql('SELECT name AS keyId, most AS granted, spent FROM funds WHERE budget = 0 AND is_opened');
const SELECT_RESERVATION = sql(`SELECT j.kind, j.amount, j.time, t.model, t.provider, t.upstream, t.price,
      coalesce(j.input_tokens, 0) AS input, coalesce(j.cached_input_tokens, 0) AS cached, coalesce(j.cache_write_tokens, 0) AS written,
      coalesce(j.output_tokens, 0) AS output, coalesce(j.reasoning_tokens, 0) AS reasoning, coalesce(j.estimated, false) AS estimated,
      CASE WHEN j.kind IN ('post', 'settle') THEN j.note END AS addOns
    FROM journal AS j LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.reservation = ? AND j.kind <> 'correct' ORDER BY j.seq`);
const SELECT_END = sql(`SELECT coalesce(max(j.seq), 0) AS through,
      (SELECT f.charged + coalesce((SELECT sum(u.microcredits) FROM unfolded AS u), 0) FROM folded AS f) AS charged
    FROM journal AS j`);
/** The holds that are open, with the funds that their entries have named last. */
const SELECT_OPEN =
  sql(`SELECT h.id AS reservation, h.account, a.key_id AS keyId, h.amount, h.charged, h.owner, h.expires,
      nullif(array_to_string(named.funds, ' '), '') AS funds
    FROM holds AS h JOIN accounts AS a ON a.id = h.account LEFT JOIN (
      SELECT DISTINCT ON (reservation) reservation, funds FROM journal
        WHERE kind IN ('reserve', 'attach') AND reservation IN (SELECT id FROM holds WHERE state = 'open')
        ORDER BY reservation, seq DESC
    ) AS named ON named.reservation = h.id
    WHERE h.state = 'open'`);
/** The figures of funds are what decides: they must be those of the holds and the entries. */
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

type EntryRow = Omit<ReservationEntry, 'estimated'> & { readonly estimated: number };

/**
 * The journal of a database. What SQLite knows of a checkpoint, this knows of the end: holds, balances and sums are as they stand.
 * @param timers null for a database as it is at one moment
 */
export function postgresJournal(db: SqlReader, timers: Timers | null): JournalReader {
  const entries =
    timers && new Horizon((text, values) => db.query(sql(text), values), timers, { entries: 'journal_seq' });
  return {
    lagMs: 5_000,
    async horizon() {
      const most = entries ? (await entries.fresh()).entries : Number.MAX_SAFE_INTEGER;
      return (await first<{ seq: number }>(db, SELECT_LAST, most))?.seq ?? 0;
    },
    async checkpoint() {
      const end = await first<Omit<JournalCheckpoint, 'open'>>(db, SELECT_END);
      return end && { ...end, open: await db.query<OpenReservation>(SELECT_OPEN) };
    },
    damages: () => damagesOf(db),
    funds: () => pages<FundRow>(db, SELECT_FUNDS, [FIRST, 0], ({ afterSeq, id }) => [afterSeq, id]),
    rows: () => pages<AuditRow>(db, SELECT_ROWS, [FIRST], seqOf),
    priced: () => pricedPages(db),
    spend: () =>
      pages<SpendRow>(db, SELECT_SPEND, [0, 0, 0], ({ quarter, account, tariff }) => [quarter, account, tariff]),
    payments: async () => paymentPages(db),
    balances: () => db.query<BalanceRow>(SELECT_BALANCES),
    wrongCells: (now) => wrongCells(db, now),
    async reservation(id) {
      const rows = await db.query<EntryRow>(SELECT_RESERVATION, [id]);
      return rows.map((row) => ({ ...row, estimated: row.estimated === 1 }));
    },
    money: (filter) => moneyPages(db, filter),
    usdPerCredit: async () => (await first<{ usdPerCredit: string | null }>(db, SELECT_UNIT))?.usdPerCredit ?? null,
  };
}

async function damagesOf(db: SqlReader): Promise<readonly string[]> {
  type WrongFigure = { readonly id: number; readonly name: string; readonly figure: number; readonly due: number };
  const held = await db.query<WrongFigure>(SELECT_WRONG_HELD);
  const spent = await db.query<WrongFigure>(SELECT_WRONG_SPENT);
  return [
    ...held.map(({ id, name, figure, due }) => `fund ${id} (${name}) has ${figure} held, and its holds ${due}`),
    ...spent.map(({ id, name, figure, due }) => `fund ${id} (${name}) has ${figure} spent, and its entries ${due}`),
  ];
}
