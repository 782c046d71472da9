import { expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The places of a small server. The last tenth is for callers who hold fewer places than that. */
const PLACES = 10;
const FAILURES = 3;

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] } },
    `gateway:
  concurrency_max: ${PLACES}
  queue_max: 0
  failed_auth_per_minute: ${FAILURES}
  trusted_proxies: ["127.0.0.0/8"]
  retries_max: 0
`,
  ),
}));

interface Made {
  readonly id: string;
  readonly key: string;
}
const delegating = async () => (await (await box.post('/admin/keys', { scopes: ['chat', 'delegate'] })).json()) as Made;
const child = async ({ key }: Made) => (await (await box.post('/v1/keys', {}, withKey(key))).json()) as Made;
const chat = ({ key }: Made, init: RequestInit = {}) => {
  const headers = { ...withKey(key).headers, ...init.headers };
  return box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] },
    { ...init, headers },
  );
};

test('the child keys of a key together use the key’s places at the server, and leave the last place to other keys', async () => {
  const parent = await delegating();
  const children = await Promise.all([child(parent), child(parent), child(parent)]);
  const stranger = await delegating();
  const leaving = new AbortController();
  const before = upstream.requests.length;
  upstream.next(...Array<Behaviour>(PLACES - 1).fill({ hang: 'headers' }));
  const held = Array.from({ length: PLACES - 1 }, (_, at) =>
    chat(children[at % 2]!, { signal: leaving.signal }).catch(() => null),
  );
  await waitFor(() => upstream.requests.length === before + PLACES - 1);
  // A child key that holds no place is refused together with the other keys of its line.
  expect([(await chat(children[2]!)).status, (await chat(stranger)).status]).toEqual([503, 200]);
  leaving.abort();
  await Promise.all(held);
});

test('the server counts requests with expired child keys of the same key together, whatever their IP address', async () => {
  const parent = await delegating();
  const children = await Promise.all(Array.from({ length: FAILURES + 1 }, () => child(parent)));
  const stranger = await delegating();
  for (const { id } of [parent, stranger]) await box.post(`/admin/keys/${id}/revoke`, {});
  const from = (key: Made, address: string) => chat(key, { headers: { 'x-forwarded-for': address } });
  const statuses = [];
  for (const [at, key] of children.entries()) statuses.push((await from(key, `198.51.100.${at}`)).status);
  expect(statuses).toEqual([...Array(FAILURES).fill(401), 429]);
  expect((await from(stranger, '198.51.100.99')).status).toBe(401);
});
