import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { GuardHealth } from '../../../src/gateway/guards/guard-health.ts';
import { Verdicts } from '../../../src/gateway/guards/verdicts.ts';
import { effort } from '../../deep/effort.ts';

const { runs, seed, proved } = effort('guard health', 200, 5_000);

/** What happened to the guard at each side of a request: it failed, it inspected the text, or it did not run. */
type Side = 'failed' | 'worked' | 'idle';
const side = fc.constantFrom<Side>('failed', 'worked', 'idle');
const requests = fc.array(fc.tuple(side, side), { maxLength: 20 });

/** A rule, as far as verdicts read it. */
const RULE = { name: 'pii', onFailure: 'flag' } as Parameters<Verdicts['fail']>[0];

function request(sides: readonly Side[], at: number) {
  const verdicts = new Verdicts();
  for (const [index, one] of sides.entries()) {
    if (one === 'failed') verdicts.fail(RULE, index === 0 ? 'input' : 'output', new Error(`broken ${at}`));
    if (one === 'worked') verdicts.inspected(RULE);
  }
  return { requestId: `req_${at}`, work: { guards: { verdicts } } };
}

/** A guard fails from the third request in a row at which it failed and inspected nothing. */
const law = (makeHealth: () => Pick<GuardHealth, 'count' | 'of'>) =>
  fc.property(requests, (all) => {
    const health = makeHealth();
    let failed: number[] = [];
    for (const [at, sides] of all.entries()) {
      health.count(request(sides, at), at * 1_000);
      if (sides.includes('worked')) failed = [];
      else if (sides.includes('failed')) failed.push(at);
      const last = failed.at(-1);
      const expected =
        failed.length < 3
          ? null
          : { failures: failed.length, since: failed[0]! * 1_000, error: `broken ${last}`, requestId: `req_${last}` };
      if (!Bun.deepEquals(health.of('pii'), expected)) return false;
    }
    return true;
  });

test('a guard fails from the third failed request in a row until it inspects a text', () => {
  fc.assert(
    law(() => new GuardHealth()),
    { numRuns: runs, seed },
  );
  proved('a guard fails from the third failed request in a row until it inspects a text');
});

test('the law of failing guards detects a health that a request without the guard restores', () => {
  const forgetful = () => {
    let health = new GuardHealth();
    return {
      of: (name: string) => health.of(name),
      count(one: ReturnType<typeof request>, now: number) {
        if (one.work.guards.verdicts.all.length === 0) health = new GuardHealth();
        health.count(one, now);
      },
    };
  };
  expect(fc.check(law(forgetful), { numRuns: 2_000, seed }).failed).toBe(true);
});
