import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { ask, attemptsOf, REPORTED } from './checks.ts';
import { faultMatrix, PATIENCE } from './matrix.ts';
import { VERDICTS } from './outcome.ts';
import { AGAIN, type Case, POOR, type Stage } from './stage.ts';
import { chat } from './surfaces.ts';

/** More failures than a breaker tolerates. */
const TIMES = 7;

/** Repeats a request; returns for each whether its own upstream was tried. */
async function askAgain({ box }: Stage, one: Case): Promise<boolean[]> {
  const tried: boolean[] = [];
  for (let at = 0; at < TIMES; at++) {
    const got = await ask(box, one);
    const isOut = got.status === 503;
    if (isOut) expect(got.body).toContain('"code":"no_healthy_model"');
    if (isOut) expect(Number(got.headers.get('retry-after'))).toBeGreaterThan(0);
    tried.push(!isOut && (await attemptsOf(box, got)).some(({ provider }) => provider === one.id));
  }
  return tried;
}

const health = (stage: () => Stage) => () => {
  for (const { kind, alone, beside } of AGAIN) {
    const { verdict } = VERDICTS[kind];
    const spares = verdict !== 'none';
    test.concurrent(
      `makes ${verdict} of ${kind}: beside another the endpoint is ${spares ? 'soon spared' : 'asked each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(stage(), beside);
        expect([first, rest.includes(false)]).toEqual([true, spares]);
      },
      PATIENCE,
    );

    const isOut = verdict === 'a cool-down' || verdict === 'misconfigured' || verdict === 'out of credit';
    test.concurrent(
      `makes ${verdict} of ${kind}: the only endpoint is ${isOut ? 'not asked any more' : 'asked each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(stage(), alone);
        expect([first, ...new Set(rest)]).toEqual([true, !isOut]);
      },
      PATIENCE,
    );
  }
};

const shortOfFunds = (stage: () => Stage) => () => {
  for (const one of POOR) {
    test.concurrent(`nobody else is asked, and what was used is charged: ${one.form}`, async () => {
      // Enough for a first attempt, and nothing for a second.
      const got = await ask(stage().box, one, { budget_limit: 0.122 });
      await expectError(got, 'upstream_failed', null, false);
      expect(got.headers.get('x-signalbox-credits')).toBe(String(REPORTED / 1e6));
      expect([one.calls, (await attemptsOf(stage().box, got)).length]).toEqual([1, 1]);
    });
  }
};

faultMatrix('faults', chat, 12, [...AGAIN.flatMap(({ alone, beside }) => [alone, beside]), ...POOR], (stage) => {
  describe('health', health(stage));
  describe('where funds do not allow the raise', shortOfFunds(stage));
});
