import { afterAll, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type PostgresServers, startServers } from '../../support/postgres-servers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { forget, kill, startSweeper } from './ageing.ts';

/** Servers that share one PostgreSQL database respect budgets together, also for guards that call a model. */
const LIMIT = 12;
const judge = useUpstream();
const best = useUpstream();
let fleet: PostgresServers;
let survivor: Signalbox;

beforeAll(async () => {
  const policy = testPolicy(
    { judge: judge.url, best: best.url },
    {
      judge: { endpoints: ['judge'], price: { input: 1, output: 4 } },
      best: { endpoints: ['best'], price: { input: 3, output: 12 } },
    },
    `budgets: [{ name: purse, limit_credits: ${LIMIT}, window: total }]
ledger: { on_crash: charge, contention_wait_ms: 5000 }
guards: [{ name: mod, guard: model, model: judge, on: [input, output], on_match: block, deadline_ms: 60000 }]
`,
  );
  judge.behave({ text: 'safe', usage: { prompt_tokens: 100, completion_tokens: 1 } });
  best.behave({ text: 'Fine.', usage: { prompt_tokens: 10, completion_tokens: 20 } });
  fleet = await startServers(0, { policy, env: UPSTREAM_ENV });
  survivor = await startSweeper(fleet);
});
afterAll(() => fleet[Symbol.asyncDispose]());

const chat = (box: Signalbox) =>
  box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 20 });

interface Line {
  readonly kind: string;
  readonly selector: string;
  readonly credits: number | null;
}
async function linesOf(box: Signalbox): Promise<readonly Line[]> {
  return JSON.parse((await box.run('ledger', 'export', '--format', 'json')).out);
}

const sum = (lines: readonly Line[]): number => lines.reduce((all, { credits }) => all + (credits ?? 0), 0);

test('a server that dies while a guard calls its model leaves a hold that another server ends, and no budget is overspent', async () => {
  const mortal = await fleet.start({ isProcess: true });
  judge.next({ hang: 'headers' });
  const asked = chat(mortal).catch(() => null);
  await waitFor(() => judge.requests.length === 1);
  await kill(mortal);
  await asked;
  await forget(fleet, mortal);
  await waitFor(async () => (await linesOf(survivor)).some(({ kind }) => kind === 'expire'));
  const second = await fleet.start();
  const statuses = new Set<number>();
  for (let round = 0; round < 6; round++) {
    const all = Array.from({ length: 8 }, (_, at) => chat(at % 2 === 0 ? survivor : second));
    for (const { status } of await Promise.all(all)) statuses.add(status);
  }
  expect(statuses.has(200)).toBeTrue();
  expect([...statuses].some((status) => status === 402 || status === 429)).toBeTrue();
  const lines = await linesOf(survivor);
  expect(sum(lines)).toBeLessThanOrEqual(LIMIT);
  const guards = lines.filter(({ kind }) => kind === 'guard');
  expect(guards.every(({ selector, credits }) => selector === 'guard:mod' && credits === 0.104)).toBeTrue();
  // All calls but the one of the dead server were paid.
  expect(guards).toHaveLength(judge.requests.length - 1);
  expect(await survivor.run('ledger', 'audit')).toMatchObject({ code: 0 });
}, 120_000);
