import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Effort, effort } from '../deep/effort.ts';
import { closedBooks } from '../gateway/money/books.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { ask, judge } from './checks.ts';
import { type Case, casesOf, type Stage, setStage } from './stage.ts';
import { type CallerSurface, requestIn } from './surfaces.ts';

/** A time limit that is long enough for the slowest fault on a busy machine, ms. */
export const PATIENCE = 90_000;

const titleOf = ({ fault, dialect, form, setting }: Case): string =>
  `${fault.name}: ${dialect.name}, ${form}, ${setting}`;

/**
 * Tests every fault of an upstream × JSON and SSE × alone, with another endpoint and with a fallback, through the real server, for callers
 * of one dialect. Dialects of upstreams other than OpenAI's are tested with another endpoint. The table is in `faults.ts`. `npm test` runs
 * one of `share` cases, different ones each time; `npm run test:deep -- SECTION` runs all cases.
 */
export function faultMatrix(
  section: string,
  surface: CallerSurface,
  share: number,
  others: readonly Case[] = [],
  between: (stage: () => Stage) => void = () => {},
): void {
  const all = casesOf(surface);
  const tried = effort(section, Math.ceil(all.length / share), all.length);
  const step = Math.floor(all.length / tried.runs);
  const taken = all.filter((_, at) => (at + tried.seed) % step === 0);
  let started: Stage | undefined;
  const stage = (): Stage => started!;
  beforeAll(async () => {
    started = await setStage([...taken, ...others]);
  }, PATIENCE);
  afterAll(() => started?.stop());

  describe('faults of a reused connection', () => {
    // Tested separately, because the pool of idle connections is limited and other cases would fill it.
    for (const one of taken.filter(({ fault }) => fault.warm)) test(titleOf(one), () => reuse(stage(), one));
  });
  between(stage);
  describe('a fault', () => {
    const cases = taken.filter(({ fault }) => !fault.warm);
    // The slow cases run first, in parallel with the others.
    const slow = ({ fault }: Case) => Number(fault.deadlines !== undefined);
    for (const one of cases.toSorted((a, b) => slow(b) - slow(a))) {
      test.concurrent(titleOf(one), async () => judge(stage().box, one, await ask(stage().box, one)), PATIENCE);
    }
  });
  describe('after all faults', () => expectGoodEnd(surface, stage, taken.length, tried));
}

/** Sends requests until a connection is reused, and checks that answer. */
async function reuse({ box }: Stage, one: Case): Promise<void> {
  expect((await ask(box, one)).status).toBe(200);
  // A connection becomes reusable shortly after its answer is read.
  for (let tries = 0; tries < 10 && !one.reused; tries++) {
    await Bun.sleep(20);
    one.calls = 0;
    const got = await ask(box, one);
    if (one.reused) await judge(box, one, got);
  }
  expect(one.reused).toBe(true);
}

function expectGoodEnd(surface: CallerSurface, stage: () => Stage, count: number, { proved }: Effort): void {
  test(
    'after all faults, every hold is closed and the audit finds nothing wrong',
    async () => {
      const { box } = stage();
      const { faults, reservations } = await closedBooks(box.data);
      expect(faults).toEqual([]);
      expect([...reservations.values()].filter(({ closings }) => closings !== 1)).toEqual([]);
      expect(reservations.size).toBeGreaterThanOrEqual(count);
      const { code, out } = await box.run('ledger', 'audit');
      expect([code, out]).toEqual([0, expect.stringContaining('nothing wrong')]);
    },
    PATIENCE,
  );

  test('after all faults, the log has no API key and no defect, and no unexpected server got a request', () => {
    const { box, trapped } = stage();
    const pieces = [UPSTREAM_KEY, box.key].flatMap((key) => [key, key.slice(0, key.length / 2), key.slice(-16)]);
    expect(box.lines.filter((line) => pieces.some((piece) => line.includes(piece)))).toEqual([]);
    const errors = box.lines.filter((line) => line.includes('"level":"error"'));
    expect(
      errors.filter((line) => !/refused the key|has no credit left|impossible usage|more than was reserved/.test(line)),
    ).toEqual([]);
    expect(trapped).toBe(0);
  });

  test('after all faults, the server is ready', async () => {
    const { box } = stage();
    expect((await fetch(`${box.url}/readyz`)).status).toBe(200);
    const { path, body } = requestIn(surface, 'healthy', false, surface.body(20, null));
    const response = await box.post(path, body);
    expect(response.status).toBe(200);
    proved(
      `${count} faults of an upstream, for callers of ${surface.name}: each ends as documented, and the books are right`,
    );
  });
}
