import { afterAll, beforeAll, expect, test } from 'bun:test';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { World } from '../store/hostile/world.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { useUpstream } from '../support/use.ts';

/** Budgets of a policy and of a key, with two applications on one store. */
const upstream = useUpstream({ key: UPSTREAM_KEY });
const BUDGETS = `budgets:
  - { name: team, match: 'key.labels.team == "red"', limit_credits: 1, window: day }
`;
let fleet: Fleet;

beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, BUDGETS);
  fleet = await startFleet(new World(), 2, { policy, env: UPSTREAM_ENV });
});
afterAll(() => fleet.stop());

/**
 * Sends requests to both applications in turn, until each has refused one.
 * @returns the Credits that the answers reported
 */
async function spendAll(key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const body = { model: 'best', messages: [{ role: 'user', content: 'How far is the moon?' }], max_tokens: 100 };
  let told = 0;
  let refusals = 0;
  for (let asked = 0; refusals < 4 && asked < 500; asked++) {
    const answer = await fleet.post('/v1/chat/completions', body, { headers });
    await answer.text();
    if (answer.status === 402) refusals++;
    else {
      expect(answer.status).toBe(200);
      told += Number(answer.headers.get('x-signalbox-credits'));
      refusals = 0;
    }
  }
  return told;
}

test('two applications that share a store together never spend more than a budget of the policy', async () => {
  const told = await spendAll(await fleet.makeKey({ labels: { team: 'red' } }));
  // After 0.6 Credits, the worst case of the next request no longer fits.
  expect(told).toBeGreaterThan(0.6);
  expect(told).toBeLessThanOrEqual(1);
});

test('two applications that share a store together never spend more than the budget of a key', async () => {
  const told = await spendAll(await fleet.makeKey({ budgets: [{ limit_credits: 0.5, window: 'day' }] }));
  expect(told).toBeGreaterThan(0.1);
  // If each application counted the budget alone, each would admit 0.198 Credits.
  expect(told).toBeLessThan(0.3);
});

test('the audit finds nothing wrong in the books of both applications', async () => {
  const { findings, totals } = await auditLedger(fleet.world.store.journal, { idle: true });
  expect(findings).toEqual([]);
  expect(totals.entries).toBeGreaterThan(50);
});
