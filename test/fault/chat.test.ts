import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import { expectError } from '../support/error-contract.ts';
import { ask, attemptsOf, REPORTED } from './checks.ts';
import { faultMatrix, PATIENCE } from './matrix.ts';
import { type FailureKind, VERDICTS, type Verdict } from './outcome.ts';
import { AGAIN, type Case, POOR, type Stage } from './stage.ts';
import { chat } from './surfaces.ts';

/** More failures than a circuit breaker tolerates. */
const TIMES = 7;
/**
 * An endpoint is first avoided for a second, then longer each time. On a busy machine a repetition can take a second, so that more of them
 * are needed.
 */
const TIMES_IF_BUSY = 20;

/** The answer to a request if every endpoint is blocked, by the verdict of health, and whether it has a retry-after. */
const REFUSALS: Readonly<Record<Verdict, { readonly code: ErrorCode; readonly waits: boolean }>> = {
  none: { code: 'no_healthy_model', waits: true },
  'a fault': { code: 'no_healthy_model', waits: true },
  misconfigured: { code: 'upstream_failed', waits: false },
  'a cool-down': { code: 'upstream_rate_limited', waits: true },
  'out of credit': { code: 'upstream_out_of_credit', waits: false },
};

/**
 * Repeats a request.
 * @param spares whether its own upstream is expected to be avoided soon
 * @returns for each repetition, whether its own upstream was tried
 */
async function askAgain({ box }: Stage, one: Case, kind: FailureKind, spares: boolean): Promise<boolean[]> {
  const tried: boolean[] = [];
  while (tried.length < (spares && !tried.includes(false) ? TIMES_IF_BUSY : TIMES)) {
    const got = await ask(box, one);
    const isOut = got.body.includes('"unavailable":');
    if (isOut) {
      const { code, waits } = REFUSALS[VERDICTS[kind].verdict];
      expect(got.body).toContain(`"code":"${code}"`);
      expect(Number(got.headers.get('retry-after')) > 0).toBe(waits);
    }
    tried.push(!isOut && (await attemptsOf(box, got)).some(({ provider }) => provider === one.id));
  }
  return tried;
}

const health = (stage: () => Stage) => () => {
  for (const { kind, alone, beside } of AGAIN) {
    const { verdict } = VERDICTS[kind];
    const spares = verdict !== 'none';
    test.concurrent(
      `${kind} counts as ${verdict}: with another endpoint, the endpoint is ${spares ? 'soon avoided' : 'tried each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(stage(), beside, kind, spares);
        expect([first, rest.includes(false)]).toEqual([true, spares]);
      },
      PATIENCE,
    );

    const isOut = verdict === 'a cool-down' || verdict === 'misconfigured' || verdict === 'out of credit';
    test.concurrent(
      `${kind} counts as ${verdict}: an only endpoint is ${isOut ? 'no longer tried' : 'tried each time'}`,
      async () => {
        const [first, ...rest] = await askAgain(stage(), alone, kind, isOut);
        expect([first, ...new Set(rest)]).toEqual([true, !isOut]);
      },
      PATIENCE,
    );
  }
};

const shortOfFunds = (stage: () => Stage) => () => {
  for (const one of POOR) {
    test.concurrent(`without money for another attempt, no other endpoint is tried and the usage is charged: ${one.form}`, async () => {
      // The limit is enough for one attempt, but not for a second.
      const got = await ask(stage().box, one, { budget_limit: 0.122 });
      await expectError(got, 'upstream_failed', null, false);
      expect(got.headers.get('x-signalbox-credits')).toBe(String(REPORTED / 1e6));
      expect([one.calls, (await attemptsOf(stage().box, got)).length]).toEqual([1, 1]);
    });
  }
};

faultMatrix('faults', chat, 12, [...AGAIN.flatMap(({ alone, beside }) => [alone, beside]), ...POOR], (stage) => {
  describe('health', health(stage));
  describe('if funds do not allow a raise', shortOfFunds(stage));
});
