import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { effort } from '../deep/effort.ts';
import { closedBooks } from '../money/books.ts';
import { expectError } from '../support/error-contract.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { ask, attemptsOf, judge, REPORTED } from './checks.ts';
import { VERDICTS } from './outcome.ts';
import { AGAIN, CASES, type Case, POOR, type Stage, setStage } from './stage.ts';

/**
 * Every fault that an upstream can have × JSON and SSE × alone, with another endpoint and with a fallback, through the
 * real server; in the dialects beside OpenAI's with another endpoint. The table is in `faults.ts`. `npm test` takes every
 * sixth case, others each time; `npm run test:deep -- faults` takes all.
 */
const { runs, seed, proved } = effort('faults', Math.ceil(CASES.length / 6), CASES.length);
const step = Math.floor(CASES.length / runs);
const TAKEN = CASES.filter((_, at) => (at + seed) % step === 0);
let stage: Stage;
const PATIENCE = 90_000;

beforeAll(async () => {
  stage = await setStage(TAKEN);
}, PATIENCE);
afterAll(() => stage?.stop());

const titleOf = ({ fault, dialect, form, setting }: Case): string =>
  `${fault.name}: ${dialect.name}, ${form}, ${setting}`;

const run = async (one: Case): Promise<void> => judge(stage.box, one, await ask(stage.box, one));

describe('a fault of a connection that was kept', () => {
  // Separately: the pool of idle connections is limited, and other cases would fill it.
  for (const one of TAKEN.filter(({ fault }) => fault.warm)) {
    test(titleOf(one), async () => {
      expect((await ask(stage.box, one)).status).toBe(200);
      // A connection becomes reusable shortly after its answer is read.
      for (let tries = 0; tries < 10 && !one.reused; tries++) {
        await Bun.sleep(20);
        one.calls = 0;
        const got = await ask(stage.box, one);
        if (one.reused) await judge(stage.box, one, got);
      }
      expect(one.reused).toBe(true);
    });
  }
});

/** More failures than a breaker tolerates. */
const TIMES = 7;

/** Repeats a request; returns for each whether its own upstream was tried. */
async function askAgain(one: Case): Promise<boolean[]> {
  const tried: boolean[] = [];
  for (let at = 0; at < TIMES; at++) {
    const got = await ask(stage.box, one);
    const isOut = got.status === 503;
    if (isOut) expect(got.body).toContain('"code":"no_healthy_model"');
    if (isOut) expect(Number(got.headers.get('retry-after'))).toBeGreaterThan(0);
    tried.push(!isOut && (await attemptsOf(stage.box, got)).some(({ provider }) => provider === one.id));
  }
  return tried;
}

describe('health', () => {
  for (const { kind, alone, beside } of AGAIN) {
    const { verdict } = VERDICTS[kind];
    const spares = verdict !== 'none';
    test.concurrent(
      `makes ${verdict} of ${kind}: beside another the endpoint is ${spares ? 'soon spared' : 'asked each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(beside);
        expect([first, rest.includes(false)]).toEqual([true, spares]);
      },
      PATIENCE,
    );

    const isOut = verdict === 'a cool-down' || verdict === 'misconfigured';
    test.concurrent(
      `makes ${verdict} of ${kind}: the only endpoint is ${isOut ? 'not asked any more' : 'asked each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(alone);
        expect([first, ...new Set(rest)]).toEqual([true, !isOut]);
      },
      PATIENCE,
    );
  }
});

describe('a fault', () => {
  const cases = TAKEN.filter(({ fault }) => !fault.warm);
  // The slow ones first, concurrent with the others.
  const slow = ({ fault }: Case) => Number(fault.deadlines !== undefined);
  for (const one of cases.toSorted((a, b) => slow(b) - slow(a))) {
    test.concurrent(titleOf(one), () => run(one), PATIENCE);
  }
});

describe('where funds do not allow the raise', () => {
  for (const one of POOR) {
    test.concurrent(`nobody else is asked, and what was used is charged: ${one.form}`, async () => {
      // Enough for a first attempt, and nothing for a second.
      const got = await ask(stage.box, one, { budget_limit: 0.122 });
      await expectError(got, 'upstream_failed', null, false);
      expect(got.headers.get('x-signalbox-credits')).toBe(String(REPORTED / 1e6));
      expect([one.calls, (await attemptsOf(stage.box, got)).length]).toEqual([1, 1]);
    });
  }
});

describe('after all of them', () => {
  test(
    'every reservation is closed, and the books are right',
    async () => {
      const { box } = stage;
      const { faults, reservations } = await closedBooks(box.data);
      expect(faults).toEqual([]);
      expect([...reservations.values()].filter(({ closings }) => closings !== 1)).toEqual([]);
      expect(reservations.size).toBeGreaterThanOrEqual(TAKEN.length);
      const { code, out } = await box.run('ledger', 'audit');
      expect([code, out]).toEqual([0, expect.stringContaining('nothing wrong')]);
    },
    PATIENCE,
  );

  test('the log has no key and no defect, and no unexpected server got a request', () => {
    const { box, trapped } = stage;
    const pieces = [UPSTREAM_KEY, box.key].flatMap((key) => [key, key.slice(0, key.length / 2), key.slice(-16)]);
    expect(box.lines.filter((line) => pieces.some((piece) => line.includes(piece)))).toEqual([]);
    const errors = box.lines.filter((line) => line.includes('"level":"error"'));
    expect(errors.filter((line) => !/refused the key|impossible usage|more than was reserved/.test(line))).toEqual([]);
    expect(trapped).toBe(0);
  });

  test('the server is as ready as before', async () => {
    expect((await fetch(`${stage.box.url}/readyz`)).status).toBe(200);
    const response = await stage.box.post('/v1/chat/completions', {
      model: 'healthy',
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    expect(response.status).toBe(200);
    proved(
      `${TAKEN.length} faults of an upstream, in every dialect and form: each judged as the table says, and the books right`,
    );
  });
});
