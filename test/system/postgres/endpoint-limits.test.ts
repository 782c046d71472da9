import { afterAll, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type PostgresServers, startServers } from '../../support/postgres-servers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { forget, kill } from './ageing.ts';

/** Servers that share one PostgreSQL database respect the limits of an endpoint together. */
const PER_MINUTE = 120;
const PLACES = 4;
const OF_KEYS = { 'provider-key-small': 60, 'provider-key-large': 120 };
const POOL = `[{ api_key_env: POOL_SMALL, limits: { requests_per_minute: 60 } }, { api_key_env: POOL_LARGE, limits: { requests_per_minute: 120 } }]`;
const paced = useUpstream();
const placed = useUpstream();
const other = useUpstream();
const pooled = useUpstream({ key: undefined });
let fleet: PostgresServers;
let survivor: Signalbox;
let mortal: Signalbox;

beforeAll(async () => {
  const policy = testPolicy(
    { paced: paced.url, placed: placed.url, pooled: pooled.url, other: other.url },
    {
      pace: { endpoints: ['paced', 'other'] },
      places: { endpoints: ['placed', 'other'] },
      pool: { endpoints: ['pooled', 'other'] },
    },
  )
    .replace(/provider: paced, upstream: [\w-]+/, `$&, limits: { requests_per_minute: ${PER_MINUTE} }`)
    .replace(/( pooled: .*)api_key_env: TEST_UPSTREAM_KEY/, `$1api_keys_env: ${POOL}`)
    .replace(/provider: placed, upstream: [\w-]+/, `$&, limits: { concurrent_requests: ${PLACES} }`);
  fleet = await startServers(1, {
    policy,
    env: { ...UPSTREAM_ENV, POOL_SMALL: 'provider-key-small', POOL_LARGE: 'provider-key-large' },
  });
  survivor = fleet.servers[0]!;
  mortal = await fleet.start({ isProcess: true });
});
afterAll(() => fleet[Symbol.asyncDispose]());

const chat = (box: Signalbox, model: string, signal?: AbortSignal) =>
  box.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 },
    { ...(signal && { signal }) },
  );

test('two servers never exceed an endpoint’s requests a minute, and leave at most one slice a server unused', async () => {
  const begun = performance.now();
  let [sent, at] = [0, 0];
  // Some requests in turn let both servers take units in advance.
  for (; sent < 40; sent++) expect((await chat(at++ % 2 === 0 ? survivor : mortal, 'pace')).status).toBe(200);
  const all = Array.from({ length: 200 }, () => chat(at++ % 2 === 0 ? survivor : mortal, 'pace'));
  for (const { status } of await Promise.all(all)) expect(status).toBe(200);
  const returned = ((performance.now() - begun) / 60_000) * PER_MINUTE;
  expect(paced.requests.length).toBeLessThanOrEqual(PER_MINUTE + Math.floor(returned));
  expect(paced.requests.length).toBeGreaterThanOrEqual(PER_MINUTE - 2 * Math.ceil(PER_MINUTE / 60));
});

test('two servers never exceed the limit of any key of a pool', async () => {
  const begun = performance.now();
  let at = 0;
  for (; at < 40; at++) expect((await chat(at % 2 === 0 ? survivor : mortal, 'pool')).status).toBe(200);
  const all = Array.from({ length: 260 }, () => chat(at++ % 2 === 0 ? survivor : mortal, 'pool'));
  for (const { status } of await Promise.all(all)) expect(status).toBe(200);
  const minutes = (performance.now() - begun) / 60_000;
  for (const [key, most] of Object.entries(OF_KEYS)) {
    const sent = pooled.requests.filter(({ headers }) => headers.get('authorization') === `Bearer ${key}`).length;
    expect(sent).toBeLessThanOrEqual(most + Math.floor(minutes * most));
    expect(sent).toBeGreaterThanOrEqual(most - 2 * Math.ceil(most / 60));
  }
});

/** Sends more requests than the endpoint has places, and returns how many of them the endpoint got. The requests end afterwards. */
async function placesTaken(box: Signalbox): Promise<number> {
  const [before, rest] = [placed.requests.length, other.requests.length];
  const leaver = new AbortController();
  const sent = PLACES + 2;
  const answers = Array.from({ length: sent }, () => chat(box, 'places', leaver.signal).catch(() => null));
  await waitFor(() => placed.requests.length - before + other.requests.length - rest === sent);
  const taken = placed.requests.length - before;
  leaver.abort();
  await Promise.all(answers);
  return taken;
}

test('the places of a killed server are in use until its lease ends, and then return', async () => {
  placed.behave({ hang: 'headers' });
  const dying = Array.from({ length: PLACES - 1 }, () => chat(mortal, 'places').catch(() => null));
  await waitFor(() => placed.requests.length === PLACES - 1);
  expect(await placesTaken(survivor)).toBe(1);
  await kill(mortal);
  await Promise.all(dying);
  expect(await waitFor(async () => (await placesTaken(survivor)) || null)).toBe(1);
  await forget(fleet, mortal);
  expect(await waitFor(async () => ((await placesTaken(survivor)) === PLACES ? PLACES : null))).toBe(PLACES);
  await fleet.stop(mortal);
});
