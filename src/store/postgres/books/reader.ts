import type { Window } from '../../../core/accounting/window.ts';
import type { EntryOwner, LedgerState, StoredBudget } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { Timers } from '../../../core/time/timers.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { AcceptedTerms, EndpointCharges, OfferedTerms, UncountedCharges, UsageFilter } from '../../books.ts';
import { FREE_AFTER_MS } from '../../lease.ts';
import { FORGOTTEN_MS, type Orphan } from '../../ledger-table.ts';
import { StoreError } from '../../store.ts';
import { Horizon } from '../horizon.ts';
import { chargedBy, countedOf, spentIn, uncountedBy, usageOf } from './charges.ts';
import { foldCharges } from './fold.ts';
import type { FundAnswer, FundWindowRow, KnownFunds } from './known-funds.ts';
import { type BooksQuery, budgetText, digestOf } from './names.ts';

const ACCOUNT = `a.key_id AS "keyId", a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user", a.payer`;

const holdOf = (holds: string) => `SELECT h.state, h.charged, h.given_back AS "givenBack", ${ACCOUNT}
    FROM ${holds} AS h JOIN accounts AS a ON a.id = h.account WHERE h.id = $1 AND h.state IN ('open', 'closed')`;
const SELECT_HOLD = holdOf('holds');
/** A hold whose row was deleted, rebuilt from its entries. */
const SELECT_RECALLED = holdOf('ledger_recalled_1($1)');
/**
 * Open holds and earmarks whose instance is gone (`isFree` in `src/store/lease.ts`), and holds that are still open long after they expired.
 */
const SELECT_ORPHANS = `SELECT h.id, h.state, h.amount AS reserved, h.charged,
      (SELECT f.name FROM funds AS f WHERE f.id = ANY (h.funds) AND f.kind = 'balance' LIMIT 1) AS holder
    FROM holds AS h CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS now
    WHERE h.state IN ('earmark', 'open') AND (
      (h.state = 'open' AND h.expires + $2::bigint < now.ms) OR NOT EXISTS (
        SELECT 1 FROM instances AS i WHERE i.slot = h.owner % 128 AND i.epoch = h.owner / 128
          AND i.is_released = 0 AND now.ms < i.until + $1::bigint
      )
    ) ORDER BY h.id LIMIT $3`;
/** The query skips windows that ended more than an hour ago and hold no money. */
const SELECT_FIGURES = `SELECT id, most, spent, held, is_opened AS "isOpened" FROM funds
    WHERE id = ANY ($1::integer[]) AND (ends IS NULL OR held <> 0 OR ends > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3600000)`;
/** The funds of budgets whose window has not ended. */
const SELECT_FOUND = `SELECT id, name, subject, definition, starts, ends, budget, most, spent, held FROM funds
    WHERE id > $1 AND budget = ANY ($2::bigint[]) AND (ends IS NULL OR ends > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;
const SELECT_BALANCES = `SELECT id, name AS holder, most AS granted, spent, held, changed FROM funds
    WHERE changed > 0 AND changed > $1 ORDER BY changed`;
const SELECT_OPEN_ELSEWHERE = `SELECT count(*) AS count, coalesce(sum(amount - charged), 0) AS held
    FROM holds WHERE state = 'open' AND owner <> $1 AND id <> ALL ($2::bigint[])`;

/** The most orphaned holds that are read together and ended in a single group of operations. */
const ORPHANS_MAX = 2_000;

type HoldRow = AccountRow & {
  readonly state: string;
  readonly charged: Microcredits;
  readonly givenBack: Microcredits;
};

interface OrphanRow extends Orphan {
  readonly state: 'earmark' | 'open';
}

export interface BalanceFigures {
  readonly id: number;
  readonly holder: string;
  readonly granted: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
  readonly changed: number;
}

/** Reads the data that the books of all instances have written. */
export class BooksReader {
  readonly #query: BooksQuery;
  readonly #horizon: Horizon<'entries'>;

  constructor(query: BooksQuery, timers: Timers) {
    this.#query = query;
    this.#horizon = new Horizon(query, timers, { entries: 'journal_seq' });
  }

  async #first<Row>(text: string, ...values: (string | number | null)[]): Promise<Row | undefined> {
    return (await this.#query<Row>(text, values))[0];
  }

  async hold(id: number) {
    const row = (await this.#first<HoldRow>(SELECT_HOLD, id)) ?? (await this.#first<HoldRow>(SELECT_RECALLED, id));
    if (!row) return null;
    const { state, charged, givenBack, ...account } = row;
    return { isOpen: state === 'open', charged, givenBack, dimensions: dimensionsOf(account) };
  }

  charged(): Promise<Microcredits> {
    return chargedBy(this.#query);
  }

  usage(filter: UsageFilter): Promise<EndpointCharges[]> {
    return usageOf(this.#query, filter);
  }

  spentIn(keyId: string, window: Window): Promise<Microcredits> {
    return spentIn(this.#query, keyId, window);
  }

  uncounted(budget: number, window: Window, owners?: readonly EntryOwner[]): Promise<UncountedCharges> {
    return uncountedBy(this.#query, this.#horizon, budget, window, owners);
  }

  countedOf(budget: number, subjects: readonly string[]): Promise<ReadonlySet<string>> {
    return countedOf(this.#query, budget, subjects);
  }

  /** Adds charges to the stored sums, as `foldCharges` does. */
  fold(): Promise<void> {
    return foldCharges(this.#query, this.#horizon);
  }

  found({ budgets, above }: KnownFunds['wanted']): Promise<readonly FundWindowRow[]> {
    return this.#query<FundWindowRow>(SELECT_FOUND, [above, `{${budgets.join(',')}}`]);
  }

  async figures(ids: readonly number[]): Promise<readonly FundAnswer[]> {
    if (ids.length === 0) return [];
    const rows = await this.#query<{ id: number; most: number; spent: number; held: number; isOpened: number }>(
      SELECT_FIGURES,
      [`{${ids.join(',')}}`],
    );
    return rows.map(({ id, most, spent, held, isOpened }) => [id, most, spent, held, isOpened === 1]);
  }

  /**
   * @param after a number of the news
   * @returns the balances that were opened after this number of the news
   */
  balances(after: number): Promise<readonly BalanceFigures[]> {
    return this.#query<BalanceFigures>(SELECT_BALANCES, [after]);
  }

  /**
   * Adds up the open holds of other instances.
   * @param own the open holds of this process. The owner of such a hold may be an earlier name of this process.
   */
  async openElsewhere(owner: number, own: readonly number[]): Promise<{ count: number; held: Microcredits }> {
    const found = await this.#first<{ count: number; held: number }>(
      SELECT_OPEN_ELSEWHERE,
      owner,
      `{${own.join(',')}}`,
    );
    return found ?? { count: 0, held: 0 };
  }

  /** Returns the oldest open holds and earmarks that their instance will not end. The next call finds the remaining holds and earmarks. */
  orphans(): Promise<readonly OrphanRow[]> {
    return this.#query<OrphanRow>(SELECT_ORPHANS, [FREE_AFTER_MS, FORGOTTEN_MS, ORPHANS_MAX]);
  }

  async terms(): Promise<LedgerState> {
    const row = await this.#first<{ usd: string | null; budgets: string }>(
      'SELECT usd_per_credit AS usd, budgets FROM terms',
    );
    const budgets: readonly StoredBudget[] = JSON.parse(row?.budgets ?? '[]');
    return { usdPerCredit: row?.usd ?? null, budgets: budgets.map(({ name }) => name) };
  }

  async accept({ usdPerCredit, budgets, rateLimits = [], counted, rank }: OfferedTerms): Promise<AcceptedTerms> {
    const named = counted.map(({ name, definition }) => ({
      name,
      definition,
      digest: digestOf(budgetText({ name, definition })),
    }));
    const row = await this.#first<{ rank: number; generations: string }>(
      'SELECT * FROM ledger_accept_1($1, $2, $3, $4, $5::jsonb)',
      ...[usdPerCredit, JSON.stringify(budgets), JSON.stringify(rateLimits), rank, JSON.stringify(named)],
    );
    if (!row)
      throw new StoreError('the policy gives a Credit a different value in USD than this ledger', { reason: 'unmet' });
    return { rank: row.rank, generations: JSON.parse(row.generations) };
  }
}
