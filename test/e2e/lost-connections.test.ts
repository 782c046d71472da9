import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readCsv } from '../ledger/csv-support.ts';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** A provider whose connection breaks after the request was sent may bill the request. Answers, records and exports say so. */

/** Accepts requests and closes the connection without an answer. */
const dropping = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end() } });
const upstream = useUpstream();
/** An address where nothing listens. */
const closed = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } });
closed.stop(true);

let box: Signalbox;
beforeAll(async () => {
  const price = { input: 4, output: 16 };
  const policy = testPolicy(
    {
      dropping: `http://127.0.0.1:${dropping.port}/v1`,
      closed: `http://127.0.0.1:${closed.port}/v1`,
      good: upstream.url,
    },
    {
      lost: { endpoints: ['dropping'], price },
      unreached: { endpoints: ['closed'], price },
      fine: { endpoints: ['good'], price },
    },
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  dropping.stop(true);
  await box.stop();
});

async function ask(model: string) {
  const body = { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hi.' }] };
  const response = await box.post('/v1/chat/completions', body);
  const { error } = Object(await response.json());
  const decision = response.headers.get('x-signalbox-decision-id');
  const credits = Number(response.headers.get('x-signalbox-credits'));
  return { message: error?.message, credits, decision, retry: response.headers.get('x-should-retry') };
}

test('a connection that broke after the request was sent is charged and called so, and exports say that it failed', async () => {
  const lost = await ask('lost');
  const unreached = await ask('unreached');
  const fine = await ask('fine');
  expect(lost.message).toContain('the connection to its provider broke after the request was sent');
  expect(unreached.message).toContain('could not connect to its provider');
  expect([lost.retry, unreached.retry]).toEqual(['false', 'true']);
  expect([lost.credits > 0, unreached.credits, fine.credits > 0]).toEqual([true, 0, true]);

  const outcomesIn = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    Object.fromEntries(rows.map(({ decision, outcome }) => [decision, outcome]));
  const outcomes = { [`${lost.decision}`]: 'failed', [`${fine.decision}`]: 'completed' };
  // A record is stored shortly after its charge.
  const rows = await waitFor(async () => {
    const lines = JSON.parse((await box.run('ledger', 'export', '--format', 'json')).out);
    return lines.every(({ outcome }: { outcome: unknown }) => outcome !== null) && lines;
  });
  expect(outcomesIn(rows)).toEqual(outcomes);
  const exported = readCsv(await (await box.get('/admin/usage/export')).text());
  expect(outcomesIn(exported)).toEqual(outcomes);
});
