import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { idAt } from '../src/core/id.ts';
import type { Caller } from '../src/core/people/caller.ts';
import { HOLDER_KINDS, type HolderKind } from '../src/core/people/caller.ts';
import type { HolderBudgets } from '../src/core/people/holder.ts';
import { isShortage } from '../src/ledger/available-funds.ts';
import { holderBudgets } from '../src/ledger/holder-budgets.ts';
import { type Ledger, openLedger } from '../src/ledger/ledger.ts';
import { openSqliteBooks } from '../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { fixed, median, table } from './stats.ts';

/**
 * `npm run bench:levels`: measures how the cost of a request's money depends on the number of levels with a budget. The benchmark has
 * 20,000 users with a key each, in 500 teams, and 64 parallel requests of different users. A request reserves money and settles, on the
 * disk. The rows take turns, so that changes in the machine's speed affect all of them. `--rounds N`.
 */
const TEAMS = 500;
const USERS = 20_000;
const AT_ONCE = 64;
const REQUESTS = 20_000;
const ROUNDS = process.argv.includes('--rounds') ? Number(process.argv[process.argv.indexOf('--rounds') + 1]) : 5;

/** The levels that have budgets, by the name of a row. */
const ROWS: Readonly<Record<string, readonly HolderKind[]>> = {
  none: [],
  key: ['key'],
  'organization, team, user and key': HOLDER_KINDS,
};

const CALLERS = Array.from({ length: USERS }, (_, at): Caller => {
  const terms = { scopes: new Set<never>(), labels: {}, models: null, limits: null, budgets: [] };
  return { keyId: `key${at}`, team: `team_${at % TEAMS}`, user: `user_${at}`, ...terms };
});

function holdersOf(kind: HolderKind): readonly HolderBudgets[] {
  const of = (ids: readonly string[]) =>
    ids.map((id): HolderBudgets => {
      const budget = { limit: 1e12, window: 'month', timeZone: 'UTC', onExhausted: 'reject' } as const;
      return { kind, id, budgets: [budget] };
    });
  if (kind === 'organization') return of(['']);
  if (kind === 'team') return of(Array.from({ length: TEAMS }, (_, at) => `team_${at}`));
  return of(CALLERS.map(({ keyId, user = '' }) => (kind === 'user' ? user : keyId)));
}

const TARIFF = { model: 'm', provider: 'p', upstream: 'u', price: '{}' };
const USAGE = { inputTokens: 10, outputTokens: 20, reasoningTokens: 0 };
let ids = idAt(Date.now());

/** Reserves and settles the money of one request. */
async function spend(ledger: Ledger, caller: Caller): Promise<void> {
  const hold = await ledger.reserve({
    ...{ id: ids++, caller, selector: 'auto', agentWallet: null, holder: null, amounts: [1_000] },
    ...{ least: null, limit: null, waitMs: 0, expiresAt: Number.POSITIVE_INFINITY },
  });
  if (isShortage(hold)) throw new Error('a budget was too small');
  await hold.settle({ tariff: TARIFF, usage: USAGE, estimated: false, cost: 500 }, () => []);
}

interface Figures {
  /** CPU time in µs per request. */
  readonly microseconds: number;
  readonly perSecond: number;
}

async function round(kinds: readonly HolderKind[], isWarm: boolean): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-levels-'));
  const store = await openSqlite(join(folder, 'ledger.db'), [ledgerMigrations]);
  const now = Date.now;
  const budgets = holderBudgets(kinds.flatMap(holdersOf));
  const terms = {
    budgets,
    ledger: { contentionWaitMs: 0, wholeHoldShare: 1, onCrash: 'charge' },
    usdPerCredit: '0.001',
  } as const;
  const ledger = await openLedger({ books: await openSqliteBooks({ store, now }), terms, now, onAlarm: () => {} });
  let next = 0;
  // The first request of a caller must find its funds. In this benchmark, all callers have sent requests before, as in a server that has
  // run for a while.
  const work = async (count: number) => {
    const until = next + count;
    const one = async () => {
      while (next < until) await spend(ledger, CALLERS[next++ % USERS]!);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  if (isWarm) await work(USERS);
  const [began, used] = [performance.now(), process.cpuUsage()];
  await work(REQUESTS);
  const { user, system } = process.cpuUsage(used);
  const seconds = (performance.now() - began) / 1_000;
  await ledger.close();
  await store.close();
  rmSync(folder, { recursive: true });
  return { microseconds: (user + system) / REQUESTS, perSecond: REQUESTS / seconds };
}

const HEAD = [
  'levels with budgets',
  'CPU of a request’s money, µs',
  '× one level',
  'of a first request, µs',
  'a second',
];

async function measure(): Promise<string> {
  const found = Object.keys(ROWS).map((name) => ({ name, warm: [] as Figures[], first: [] as Figures[] }));
  for (let at = 0; at < ROUNDS; at++) {
    for (const { name, warm, first } of found) {
      warm.push(await round(ROWS[name]!, true));
      first.push(await round(ROWS[name]!, false));
    }
  }
  const cpu = (figures: readonly Figures[]) => median(figures.map(({ microseconds }) => microseconds));
  const one = cpu(found.find(({ name }) => name === 'key')!.warm);
  const rows = found.map(({ name, warm, first }) => [
    name,
    fixed(cpu(warm), 1),
    fixed(cpu(warm) / one, 2),
    fixed(cpu(first), 1),
    Math.round(median(warm.map(({ perSecond }) => perSecond))).toLocaleString('en'),
  ]);
  return table([HEAD, ...rows]);
}

if (import.meta.main) console.log(await measure());
