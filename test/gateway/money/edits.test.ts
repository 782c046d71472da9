import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { type Purse, pursePolicy, startPurse } from './purse.ts';

/** Tests the effects of budget edits while the server runs: the table in docs/spend/budgets.md, applied with POST /admin/policy/reload. */
let purse: Purse;

beforeAll(async () => {
  purse = await startPurse(0);
});
afterAll(() => purse.stop());

/** A budget of 1 Credit for the keys of a group, which is enough for two requests of 0.442 Credits. */
const budget = (group: string, more = '', limit = 1, name = `for-${group}`) =>
  `name: ${name}, match: 'key.labels.group == "${group}"', limit_credits: ${limit}, window: month${more}`;

describe('an edit of a budget', () => {
  test('an edited limit applies to the next request, and earlier spending still counts', async () => {
    await purse.budgets(budget('limit'));
    const key = await purse.key({ group: 'limit' });
    await purse.spend(key, 2);
    expect((await purse.chat(key)).status).toBe(402);
    await purse.budgets(budget('limit', '', 1.4));
    await purse.spend(key, 1);
    const { details } = await expectError(await purse.chat(key), 'insufficient_quota');
    expect(details).toMatchObject({ limit_credits: 1.4, spent_credits: 1.326 });
    await purse.budgets(budget('limit', '', 0.5));
    const lowered = await expectError(await purse.chat(key, { max_tokens: 1 }), 'insufficient_quota');
    expect(lowered.details).toMatchObject({ limit_credits: 0.5, spent_credits: 1.326 });
  });

  test('an edited `on_exhausted` applies to the next request', async () => {
    await purse.budgets(budget('exhausted'));
    const key = await purse.key({ group: 'exhausted' });
    await purse.spend(key, 2);
    expect((await purse.chat(key)).status).toBe(402);
    await purse.budgets(budget('exhausted', ', on_exhausted: downgrade'));
    const response = await purse.chat(key);
    expect(response.headers.get('x-signalbox-model')).toBe('plain');
  });

  test('after an edit of `each` or `match`, a budget counts the requests of the current window again under the new terms', async () => {
    await purse.budgets(budget('anew'));
    const [first, second] = [await purse.key({ group: 'anew', team: 'a' }), await purse.key({ group: 'anew' })];
    await purse.spend(first, 2);
    expect((await purse.chat(second)).status).toBe(402);
    await purse.budgets(budget('anew', ', each: key'));
    const { details } = await expectError(await purse.chat(first), 'insufficient_quota');
    expect(details).toMatchObject({ subject: first.id, spent_credits: 0.884 });
    await purse.spend(second, 1);
    await purse.budgets(`name: for-anew, match: 'key.labels.team == "a"', limit_credits: 1, window: month`);
    await purse.spend(second, 3);
    const narrowed = await expectError(await purse.chat(first), 'insufficient_quota');
    expect(narrowed.details).toMatchObject({ subject: '', spent_credits: 0.884 });
  });

  test('a renamed or new budget counts earlier spending in its window', async () => {
    await purse.budgets(budget('name'));
    const key = await purse.key({ group: 'name' });
    await purse.spend(key, 2);
    await purse.budgets(budget('name', '', 1, 'renamed'));
    const { details } = await expectError(await purse.chat(key), 'insufficient_quota');
    expect(details).toMatchObject({ budget: 'renamed', spent_credits: 0.884 });
    await purse.budgets(budget('name', '', 5, 'renamed'), budget('name', '', 0.9, 'added'));
    const added = await expectError(await purse.chat(key), 'insufficient_quota');
    expect(added.details).toMatchObject({ budget: 'added', spent_credits: 0.884 });
    await purse.budgets();
    expect((await purse.chat(key)).status).toBe(200);
  });

  test('an edit reaches running requests: they draw on the new budget, and a waiting request is admitted', async () => {
    await purse.budgets();
    const key = await purse.key({ group: 'running' });
    purse.gate.close();
    const running = [purse.chat(key), purse.chat(key)];
    await waitFor(() => purse.gate.inside === 2);
    await purse.budgets(budget('running'));
    const { details } = await expectError(await purse.chat(key), 'budget_contended');
    expect(details).toMatchObject({ spent_credits: 0, reserved_credits: 0.884 });
    purse.gate.open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
    const spent = await expectError(await purse.chat(key), 'insufficient_quota');
    expect(spent.details).toMatchObject({ spent_credits: 0.884, reserved_credits: 0 });
  });

  test('a raised limit admits the requests that wait for it', async () => {
    const patient = await startPurse(20_000, budget('waiting'));
    try {
      const key = await patient.key({ group: 'waiting' });
      patient.gate.close();
      const asked = [1, 2, 3].map(() => patient.chat(key));
      await waitFor(() => patient.gate.inside === 2);
      await patient.budgets(budget('waiting', '', 1.326));
      await waitFor(() => patient.gate.inside === 3);
      patient.gate.open();
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      await patient.stop();
    }
  });

  test('an edit of `usd_per_credit` is refused with its location once there are entries, and the old policy stays active', async () => {
    const key = await purse.key({ group: 'unit' });
    await purse.spend(key, 1);
    const { revision } = await purse.live.status();
    const base = pursePolicy(purse.gate.url, 0);
    purse.live.write('base.yaml', base.replace('usd_per_credit: 0.001', 'usd_per_credit: 0.002'));
    const { details } = await expectError(await purse.live.reload(), 'policy_invalid');
    expect(details).toMatchObject({
      policy_revision: revision,
      diagnostics: [{ file: purse.live.file('base.yaml'), line: 2, column: 28, code: 'credits-changed' }],
    });
    expect(await purse.live.status()).toMatchObject({ revision, last_reload: { result: 'refused' } });
    expect((await purse.chat(key)).status).toBe(200);
    purse.live.write('base.yaml', base);
    expect((await purse.live.reload()).status).toBe(200);
  });
});
