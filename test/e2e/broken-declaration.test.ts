import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf } from '../gateway/money/books.ts';
import { eventsOf, waitFor } from '../support/answers.ts';
import { type ServiceAnswer, startMeteredService } from '../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/**
 * A provider that declares that it stops after an abort, but bills hidden output. A token of input costs 0.001 Credits, a token of output
 * 0.004.
 */
const HIDING = { tokens: 60, atOnce: 3, reports: 'last', hidden: 30 } as const;
const HONEST = { tokens: 60, atOnce: 3, reports: 'each' } as const;
let answer: ServiceAnswer = HIDING;
const service = startMeteredService('stops', () => answer);
const data = temporaryFolder();
const policyOf = (marginTokens: number): string =>
  testPolicy(
    { up: service.url },
    { m: { endpoints: ['up'] } },
    'budgets: [{ name: purse, limit_credits: 20, window: total }]\n',
  )
    .replace(
      'passthrough: [verbosity]',
      `after_abort: { bills: stops, reports: each, margin_tokens: ${marginTokens}, margin_ms: 20 }`,
    )
    .replace(/expected_output_tokens: \d+/g, 'expected_output_tokens: 100');
const folder = writePolicy(policyOf(20));
const edit = (marginTokens: number) => writeFileSync(join(folder, 'policy.yaml'), policyOf(marginTokens));
const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
const start = () => startSignalbox({ args: ['--policies', folder], env, data });

let box: Signalbox;
afterAll(async () => {
  await box?.stop();
  await service.stop();
  rmSync(data, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
});

interface BrokenShown {
  readonly since: string;
  readonly excess_credits: number;
  readonly margin_tokens: number;
}

async function broken(): Promise<BrokenShown | null> {
  const list = (await (await box.get('/admin/endpoints')).json()) as {
    data: { broken_declaration: BrokenShown | null }[];
  };
  expect(list.data).toHaveLength(1);
  return list.data[0]!.broken_declaration;
}

async function metrics(): Promise<readonly (number | null)[]> {
  const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
  const of = (name: string) => total(page, `signalbox_endpoint_declaration_${name}`, { provider: 'up', model: 'm' });
  return [of('broken'), of('excess_credits')];
}

/** Sends a request, and returns whether its hold was the whole worst case. */
async function isHeldWhole(): Promise<boolean> {
  const messages = [{ role: 'user', content: 'Wherefore?' }];
  await eventsOf(await box.post('/v1/chat/completions', { model: 'm', messages, max_tokens: 800, stream: true }));
  const reserves = entriesOf(data).filter(({ kind }) => kind === 'reserve');
  return reserves.at(-1)!.amount === (42 + 4 * 800) * 1000;
}

test('an endpoint that broke its declaration is shown with its excess, also after restarts, until the policy changes the declaration', async () => {
  box = await start();
  expect([await broken(), await metrics()]).toEqual([null, [0, 0]]);
  expect(await isHeldWhole()).toBe(false);
  const found = await waitFor(broken);
  expect(found).toMatchObject({ margin_tokens: 20 });
  expect(Date.parse(found.since)).toBeWithin(Date.now() - 60_000, Date.now() + 1);
  const overrun = entriesOf(data).find(({ kind }) => kind === 'overrun')!;
  expect(found.excess_credits).toBe(overrun.amount / 1e6);
  expect(await metrics()).toEqual([1, found.excess_credits]);
  await waitFor(() => box.lines.some((line) => line.includes('now holds its full worst case at once')));

  await box.stop();
  answer = HONEST;
  box = await start();
  expect(await broken()).toEqual(found);
  expect(await isHeldWhole()).toBe(true);

  // The policy is edited while the server runs.
  edit(21);
  expect((await box.post('/admin/policy/reload', {})).status).toBe(200);
  await waitFor(async () => (await broken()) === null);
  expect(await metrics()).toEqual([0, 0]);
  expect(await isHeldWhole()).toBe(false);

  // The endpoint breaks its declaration again, and the policy is edited while the server is stopped.
  answer = HIDING;
  await isHeldWhole();
  expect(await waitFor(broken)).toMatchObject({ margin_tokens: 21 });
  await box.stop();
  edit(20);
  box = await start();
  expect(await broken()).toBeNull();
  await box.stop();
  edit(21);
  box = await start();
  expect(await broken()).toBeNull();
});
