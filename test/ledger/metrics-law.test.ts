import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { FundStanding } from '../../src/core/accounting/fund.ts';
import { MICROCREDITS } from '../../src/core/money/credits.ts';
import { type FundShortage, isShortage } from '../../src/ledger/available-funds.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ledgerFamilies } from '../../src/ledger/metrics.ts';
import type { LedgerSample } from '../../src/ledger/sample.ts';
import { effort } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';
import { figuresOf } from '../support/families.ts';
import { budget, caller, line, open, order, terms } from './support.ts';

const { runs, seed, proved } = effort('metrics-money', 10, 2_000);
const LONG = 60_000;

const BUDGETS = [
  budget(1_000, { name: 'all' }),
  budget(300, { name: 'key', each: ({ key }) => key.id, window: 'day' }),
  budget(400, { name: 'ab', match: ({ key }) => key.id !== 'c', window: 'total' }),
];

const which = fc.nat(30);
const script = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        key: fc.constantFrom('a', 'b', 'c'),
        amount: fc.integer({ min: 1, max: 200 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('settle' as const), which, part: fc.constantFrom(0, 0.2, 0.7, 1) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), which }) },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);
type Script = typeof script extends fc.Arbitrary<infer Value> ? Value : never;

/** The waits, as the waiting requests see them. */
interface Seen {
  began: number;
  served: number;
  gaveUp: number;
}

type Bug = (sample: LedgerSample) => LedgerSample;
const BUGS: Readonly<Record<string, Bug>> = {
  'headroom ignored holds': (one) => ({
    ...one,
    budgets: one.budgets.map((of) => ({ ...of, held: 0 })),
  }),
  'requests that gave up counted as served': ({ waits, ...rest }) => ({
    ...rest,
    waits: { ...waits, served: waits.served + waits.gave_up, gave_up: 0 },
  }),
  'waiting requests were not counted': (one) => ({ ...one, waiting: 0 }),
  'spent money still counted as reserved': (one) => ({
    ...one,
    held: one.held + one.budgets.reduce((all, { spent }) => all + spent, 0),
  }),
};

const microcredits = (figure: number | undefined): number => Math.round((figure ?? Number.NaN) * MICROCREDITS);

/** Compares the metrics with the figures of the funds and with what the waiting requests saw. */
async function check(ledger: Ledger, seen: Seen, bug: Bug): Promise<void> {
  const { funds, held, open: isOpen } = await ledger.status();
  const figures = figuresOf(ledgerFamilies({ sample: () => bug(ledger.sample()) }));
  for (const { name, limit } of BUDGETS) {
    const of = (figure: string) => figures[`signalbox_budget_${figure}{budget="${name}"}`];
    const own = funds.filter(({ title, spent, held }) => title.name === name && (spent !== 0 || held !== 0));
    const left = (fund: FundStanding): number => fund.free / fund.limit;
    const tightest = own.toSorted((one, other) => left(one) - left(other))[0];
    expect(of('headroom_ratio')).toBe(tightest ? left(tightest) : 1);
    expect(of('subjects')).toBe(own.length);
    expect(of('subjects_exhausted')).toBe(own.filter(({ unspent }) => unspent <= limit / 100).length);
    const [all, spent, reserved, headroom] = ['limit', 'spent', 'reserved', 'headroom'].map((of) =>
      microcredits(figures[`signalbox_budget_${of}_credits{budget="${name}"}`]),
    );
    expect(headroom).toBe(all! - spent! - reserved!);
    expect(own.length === 0 || own.some((fund) => fund.spent === spent && fund.held === reserved)).toBe(true);
  }
  expect(figures.signalbox_reservations_open).toBe(isOpen);
  expect(microcredits(figures.signalbox_credits_reserved)).toBe(held);
  const waits = (outcome: string) => figures[`signalbox_contention_waits_total{outcome="${outcome}"}`]!;
  expect([waits('served'), waits('gave_up'), waits('crowded')]).toEqual([seen.served, seen.gaveUp, 0]);
  expect(figures.signalbox_contention_waiting).toBe(seen.began - seen.served - seen.gaveUp);
  expect(figures.signalbox_contention_wait_seconds_count).toBe(seen.served + seen.gaveUp);
}

async function play(steps: Script, bug: Bug): Promise<void> {
  using folder = tempFolder();
  const { ledger, store } = await open(folder.file, { terms: terms(...BUDGETS) });
  const seen: Seen = { began: 0, served: 0, gaveUp: 0 };
  const holds: Hold[] = [];
  const leaving: AbortController[] = [];
  /** Resolves once every request that was woken has its hold. */
  const still = async () => {
    for (let i = 0; i < 2; i++) {
      await store.flush();
      await setImmediate();
    }
  };
  const wait = (asked: Promise<Hold | FundShortage>) => {
    seen.began++;
    void asked.then((answer) => {
      if (isShortage(answer)) seen.gaveUp++;
      else {
        seen.served++;
        holds.push(answer);
      }
    });
  };
  const settle = (which: number, part: number) => {
    const [hold] = holds.splice(which % Math.max(1, holds.length), 1);
    hold?.settle(line(Math.floor(hold.reserved * part)), () => []);
  };
  try {
    for (const step of steps) {
      if (step.do === 'settle') settle(step.which, step.part);
      else if (step.do === 'leave') leaving[step.which % Math.max(1, leaving.length)]?.abort();
      else {
        const asked = { caller: caller(step.key), amounts: [step.amount] } as const;
        const answer = await ledger.reserve(order(step.amount, asked));
        if (!isShortage(answer)) holds.push(answer);
        else if (answer.why === 'contended') {
          const gone = new AbortController();
          leaving.push(gone);
          wait(ledger.reserve(order(step.amount, { ...asked, waitMs: LONG, signal: gone.signal })));
        }
      }
      await still();
      await check(ledger, seen, bug);
    }
    for (const gone of leaving) gone.abort();
    await still();
    while (holds.length > 0) settle(0, 0.5);
    await still();
    await check(ledger, seen, bug);
    expect(ledger.sample()).toMatchObject({ open: 0, held: 0, waiting: 0 });
  } finally {
    for (const gone of leaving) gone.abort();
    // All requests that gave up have their answer, and nothing is being written.
    await still();
    await store.close();
  }
}

const law = (bug: Bug) => fc.asyncProperty(script, (steps) => play(steps, bug));

describe('the law of ledger metrics', () => {
  test('the headroom of a budget is the limit minus spent minus reserved of the tightest subject, each wait ends once, and all reservations end', async () => {
    await fc.assert(
      law((sample) => sample),
      { numRuns: runs, seed },
    );
    proved('metrics of budgets, holds and waits');
  }, 3_600_000);

  test.each(Object.entries(BUGS))('the law of ledger metrics fails if %s', async (_, bug) => {
    const { failed } = await fc.check(law(bug), { numRuns: 200, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
