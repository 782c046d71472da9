import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

/** Changes with an `Idempotency-Key`, through HTTP with API keys. Changes by people are in `test/sign-in/changes-once.test.ts`. */
const box = useSignalbox();

let names = 0;
const newName = () => `name-${++names}`;

const REPLAYED = 'x-signalbox-replayed';

type Send = (name: string, path: string, body: object) => Promise<Response>;
const send: Send = (name, path, body) => box.post(path, body, { headers: { 'idempotency-key': name } });

interface Made {
  readonly id: string;
  readonly key: string;
}

const keysCalled = async (name: string): Promise<number> => {
  const { data } = (await (await box.get('/admin/keys')).json()) as { data: { name: string }[] };
  return data.filter((key) => key.name === name).length;
};
const trailOf = async (subject: string): Promise<string[]> => {
  const { data } = (await (await box.get(`/admin/trail?subject=${subject}`)).json()) as { data: { action: string }[] };
  return data.map(({ action }) => action);
};

test('a repeated request to create a key gets the first answer with its secret and etag, and creates no second key', async () => {
  const name = newName();
  const first = await send(name, '/admin/keys', { name });
  const again = await send(name, '/admin/keys', { name });
  expect([first.status, again.status]).toEqual([200, 200]);
  expect([first.headers.get(REPLAYED), again.headers.get(REPLAYED)]).toEqual([null, 'true']);
  const made = await first.text();
  expect(await again.text()).toBe(made);
  for (const header of ['etag', 'cache-control', 'content-type', 'x-signalbox-version']) {
    expect(again.headers.get(header)).toBe(first.headers.get(header)!);
  }
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id')!);
  expect(await keysCalled(name)).toBe(1);
  const { key, id } = JSON.parse(made) as Made;
  expect((await box.get('/v1/models', withKey(key))).status).toBe(200);
  // A second rotation would end the secret of the first rotation.
  const rotation = newName();
  const rotated = await (await send(rotation, `/admin/keys/${id}/rotate`, { overlap_seconds: 0 })).text();
  expect(await (await send(rotation, `/admin/keys/${id}/rotate`, { overlap_seconds: 0 })).text()).toBe(rotated);
  expect(await trailOf(id)).toEqual(['rotate', 'create']);
});

test('the server refuses a repeated change with another body, path, query or method', async () => {
  const name = newName();
  const { id } = (await (await send(name, '/admin/keys', { name })).json()) as Made;
  await expectError(await send(name, '/admin/keys', { name: 'other' }), 'idempotency_key_reused', 'Idempotency-Key');
  for (const [method, path] of [
    ['POST', `/admin/keys/${id}/rotate`],
    ['PATCH', `/admin/keys/${id}`],
    ['POST', '/admin/keys?x=1'],
  ] as const) {
    const headers = { 'idempotency-key': name };
    const refused = await box.post(path, { name }, { method, headers });
    await expectError(refused, 'idempotency_key_reused', 'Idempotency-Key');
  }
  expect(await trailOf(id)).toEqual(['create']);
});

test('of many equal changes at once, the server carries out only one; all others get an error to retry later', async () => {
  const name = newName();
  const all = await Promise.all(Array.from({ length: 20 }, () => send(name, '/admin/keys', { name })));
  const done = all.filter(({ status, headers }) => status === 200 && !headers.has(REPLAYED));
  expect(done).toHaveLength(1);
  for (const other of all.filter(({ status }) => status !== 200)) await expectError(other, 'in_flight');
  expect(await keysCalled(name)).toBe(1);
});

test('after a refused change, its Idempotency-Key can be used again, also with another body', async () => {
  const name = newName();
  await expectError(await send(name, '/admin/keys', { name: 5 }), 'invalid_type', 'name');
  await expectError(await send(name, '/admin/keys/none/rotate', {}), 'not_found');
  expect((await send(name, '/admin/keys', { name })).status).toBe(200);
  await expectError(await send('ü'.repeat(3), '/admin/keys', {}), 'invalid_value', 'Idempotency-Key');
  await expectError(await send('x'.repeat(256), '/admin/keys', {}), 'invalid_value', 'Idempotency-Key');
});

test('two API keys may use the same Idempotency-Key, but a change and a model request of one API key may not', async () => {
  const name = newName();
  const other = await box.makeKey('--name', 'other', '--scope', 'admin', '--scope', 'chat');
  const headers = { authorization: `Bearer ${other}`, 'idempotency-key': name };
  const mine = await (await send(name, '/admin/keys', { name })).text();
  const theirs = await (await box.post('/admin/keys', { name }, { headers })).text();
  expect(theirs).not.toBe(mine);
  const chat = { model: 'none', messages: [{ role: 'user', content: 'Hello' }] };
  await expectError(await send(name, '/v1/chat/completions', chat), 'idempotency_key_reused', 'Idempotency-Key');
});

test('a suspended API key no longer gets the answer to a change that it made', async () => {
  const name = newName();
  const key = await box.makeKey('--name', 'short', '--scope', 'admin');
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': name };
  const { id } = (await (await box.post('/admin/keys', { name }, { headers })).json()) as Made;
  const [, , own = ''] = key.split('_');
  await box.post(`/admin/keys/${own}/suspend`, {});
  await expectError(await box.post('/admin/keys', { name }, { headers }), 'key_suspended');
  expect(await trailOf(id)).toEqual(['create']);
});

interface Change {
  readonly name: number;
  readonly body: number;
  readonly isBad: boolean;
}
const CHANGES = fc.array(
  fc.record({ name: fc.integer({ max: 2, min: 0 }), body: fc.integer({ max: 1, min: 0 }), isBad: fc.boolean() }),
  { minLength: 1, maxLength: 8 },
);

/** Throws if a change with some Idempotency-Key was carried out twice, or a repeat got another answer than the first request. */
async function checkOnce(changes: readonly Change[], by: Send): Promise<void> {
  const run = newName();
  const first = new Map<number, { readonly body: number; readonly text: string }>();
  for (const { name, body, isBad } of changes) {
    const seen = first.get(name);
    const answer = await by(`${run}-${name}`, '/admin/teams', isBad ? {} : { name: `${run}-${name}-${body}` });
    const text = await answer.text();
    if (seen) {
      const isSame = !isBad && seen.body === body;
      expect([answer.status, isSame && text]).toEqual([isSame ? 200 : 422, isSame && seen.text]);
    } else {
      expect(answer.status).toBe(isBad ? 400 : 200);
      if (!isBad) first.set(name, { body, text });
    }
  }
  const { data } = (await (await box.get('/admin/teams?limit=500')).json()) as { data: { name: string }[] };
  expect(data.filter((team) => team.name.startsWith(`${run}-`))).toHaveLength(first.size);
}

test('for any requests in any order, the change with each Idempotency-Key is carried out once', async () => {
  const law = (by: Send) => fc.asyncProperty(CHANGES, (changes) => checkOnce(changes, by));
  await fc.assert(law(send), tries('a change with an `Idempotency-Key` is carried out once', 20, 300));
  const mutants: Record<string, Send> = {
    'the Idempotency-Key is ignored': (_, path, body) => box.post(path, body),
    'the name includes the body': (name, path, body) => send(`${name} ${JSON.stringify(body)}`, path, body),
    'refusals are kept': async (name, path, body) =>
      Object.keys(body).length === 0 ? send(name, '/admin/teams', { name }) : send(name, path, body),
  };
  for (const [mutant, by] of Object.entries(mutants)) {
    const { failed } = await fc.check(law(by), { numRuns: 100, endOnFailure: true });
    expect([mutant, failed]).toEqual([mutant, true]);
  }
});
