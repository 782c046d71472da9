import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import OpenAI from 'openai';
import { waitFor } from '../../support/answers.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { send, WAYS } from './support.ts';

/** What the caller pays for an answer that a guard ends, and whether its client repeats the request. */

const upstream = useUpstream();

/** The usage that the provider reports, and what it costs at 4 and 16 USD per 1M tokens, in Credits. */
const REPORTED = { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35 };
const COST = 0.2;
/** Longer than the model needs for its 5 tokens. */
const SLOW_MS = 400;

/** Starts a server with a guard on answers that waits before it returns its verdict. */
async function startWithGuard(ms: number, verdict: string, more = '', on = 'output'): Promise<Signalbox> {
  const folder = temporaryFolder();
  const plugin = `import { defineGuard, Type } from 'signalbox/plugin';
export const slow = defineGuard({
  name: 'slow', status: 'alpha', settings: Type.Object({}), pure: false, window: 'message', sides: ['input', 'output'],
  prepare: () => ({ kinds: ['it'], check: async () => { await new Promise((go) => setTimeout(go, ${ms})); ${verdict} } }),
});`;
  writeFileSync(join(folder, 'slow.ts'), plugin);
  const models = { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } };
  const guards = `plugins: [../${basename(folder)}/slow.ts]\nguards:\n  - { name: slow, guard: slow, on: [${on}], on_match: block${more} }\n`;
  const policy = withCompletions(testPolicy({ fake: upstream.url }, models, guards));
  return startSignalbox({ policy, env: UPSTREAM_ENV });
}

const chargeOf = async (box: Signalbox, response: Response): Promise<unknown> => {
  await response.text();
  const id = response.headers.get('x-signalbox-decision-id');
  const record = Object(await (await box.get(`/v1/decisions/${id}`)).json());
  return [record.outcome.error, record.outcome.credits_consumed];
};

const FINDS = 'return [{ kind: "it", at: { text: 0, from: 0, to: 1 } }];';

describe.each([
  ['blocks the answer at once', 0, FINDS, '', 'content_blocked'],
  ['blocks the answer late', SLOW_MS, FINDS, '', 'content_blocked'],
  ['lets the answer pass late', SLOW_MS, 'return [];', '', null],
  ['misses its deadline', 60_000, '', ', deadline_ms: 400', 'guard_failed'],
] as const)('a guard that %s', (_, ms, verdict, more, error) => {
  test('costs what the provider reports, in every dialect', async () => {
    const box = await startWithGuard(ms, verdict, more);
    const charges = await Promise.all(
      WAYS.map(async ([, way]) => {
        // The report comes some time after the end of the text.
        upstream.next({ text: ['Quartz ', 'and more.'], usage: REPORTED, betweenChunksMs: 40 });
        return chargeOf(box, await send(way, box, 'Say it.'));
      }),
    );
    expect(charges).toEqual(WAYS.map(() => [error, COST]));
    expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
    await box.stop();
  });
});

test('a guard that ends a stream early costs what the provider has sent, and nothing for its own wait', async () => {
  const guards =
    'guards:\n  - { name: words, guard: words, settings: { deny: [quartz] }, on: [output], on_match: block }\n';
  const models = { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } };
  const box = await startSignalbox({ policy: testPolicy({ fake: upstream.url }, models, guards), env: UPSTREAM_ENV });
  for (const [name, way] of WAYS.filter(([, { surface, isStream }]) => isStream && surface.name === 'chat')) {
    upstream.next({ text: ['Quartz and more. ', 'The end of it.'], usage: REPORTED });
    expect([name, await chargeOf(box, await send(way, box, 'Say it.'))]).toEqual([name, ['content_blocked', COST]]);
  }
  await box.stop();
});

test('a caller who leaves while a guard waits pays what the provider reports', async () => {
  let seen = 0;
  let hasBegun = false;
  const service = startOwnServer(() => {
    hasBegun = true;
    return new Promise<Response>(() => {});
  });
  const box = await startWithGuard(0, `await fetch('${service.url}'); return [];`, ', deadline_ms: 20000');
  for (const stream of [false, true]) {
    hasBegun = false;
    upstream.next({ text: ['Quartz ', 'and more.'], usage: REPORTED, betweenChunksMs: 40 });
    const leaving = new AbortController();
    const body = { model: 'best', stream, messages: [{ role: 'user', content: 'Hi.' }] };
    const asked = box.post('/v1/chat/completions', body, { signal: leaving.signal });
    await waitFor(() => hasBegun);
    leaving.abort();
    await asked.then((response) => response.text()).catch(() => {});
    seen++;
    const records = await waitFor(async () => {
      const { data } = Object(await (await box.get('/admin/decisions?status=abandoned')).json());
      return data.length === seen && data;
    });
    expect([stream, records[0].credits_consumed]).toEqual([stream, COST]);
  }
  await box.stop();
  await service.stop();
});

test.each([
  ['output', 'false', 1],
  ['input', 'true', 0],
])('a guard on the %s that failed: `x-should-retry` is %s', async (on, shouldRetry, calls) => {
  const box = await startWithGuard(0, 'throw new Error("broken");', '', on);
  const before = upstream.requests.length;
  upstream.behave({ usage: REPORTED });
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: box.key, maxRetries: 2 });
  const asked = client.chat.completions.create({ model: 'best', messages: [{ role: 'user', content: 'Hi.' }] });
  const error = Object(await asked.catch((cause: unknown) => cause));
  expect([error.status, error.code, error.headers.get('x-should-retry')]).toEqual([503, 'guard_failed', shouldRetry]);
  expect(upstream.requests.length - before).toBe(calls);
  upstream.behave({});
  await box.stop();
});
