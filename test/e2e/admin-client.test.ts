import { beforeAll, expect, test } from 'bun:test';
import { usePeople } from '../security/people.ts';
import { answerOf } from '../support/answers.ts';
import { type ApiCall, type ApiClient, apiClient } from '../support/api-client.ts';
import { withKey } from '../support/signalbox.ts';

/**
 * Uses the admin API with a client that knows only the OpenAPI document. A member manages its own keys, while an operator and an auditor
 * read.
 */
const box = usePeople();
let api: ApiClient;

interface Row {
  readonly id: string;
}
interface List {
  readonly data: readonly Row[];
  readonly has_more: boolean;
}
interface NewKey extends Row {
  readonly key: string;
}

/** The logins of the three people. */
const MEMBER = {
  get headers() {
    return box.as('member').headers;
  },
};
const LEAD = {
  get headers() {
    return box.as('lead').headers;
  },
};
const AUDITOR = {
  get headers() {
    return box.as('auditor').headers;
  },
};

beforeAll(async () => {
  api = await apiClient(box.url);
});

/** Reads all pages of a list. */
async function pages(
  operation: string,
  cursor: 'after' | 'before',
  { headers }: Pick<ApiCall, 'headers'>,
): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const last = ids.at(-1);
    const query = { limit: 2, ...(last !== undefined && { [cursor]: last }) };
    const { body } = await api.call<List>(operation, { headers, query });
    ids.push(...body.data.map(({ id }) => String(id)));
    if (!body.has_more) return ids;
  }
}

test('a member creates, uses, rotates and revokes a key, and sees what the key spent and why', async () => {
  const made = await api.call<NewKey>('POST /admin/keys', { ...MEMBER, body: { name: 'laptop' } });
  const { id, key } = made.body;
  const chat = { model: 'toy', messages: [{ role: 'user', content: 'Hello' }] };
  const { platform } = await answerOf(await box.post('/v1/chat/completions', chat, withKey(key)));
  const usage = await api.call<{ total_credits: number }>('GET /admin/usage', {
    ...MEMBER,
    query: { by: 'key', key: id },
  });
  expect(usage.body.total_credits).toBe(platform.credits_consumed ?? -1);
  const decisions = await api.call<List>('GET /admin/decisions', { ...MEMBER, query: { key: id, limit: 5 } });
  expect(decisions.body.data.map((one) => one.id)).toEqual([platform.decision_id]);
  await api.call('GET /admin/decisions/{id}', { ...MEMBER, id: platform.decision_id });
  expect((await api.call('GET /admin/decisions/{id}/content', { ...MEMBER, id: platform.decision_id })).status).toBe(
    403,
  );
  const rotated = await api.call<NewKey>('POST /admin/keys/{id}/rotate', {
    ...MEMBER,
    id,
    body: { overlap_seconds: 0 },
  });
  expect(rotated.body.key).not.toBe(key);
  expect((await api.call('POST /admin/keys/{id}/revoke', { ...MEMBER, id })).body).toMatchObject({ state: 'revoked' });
  const { body } = await api.call<List>('GET /admin/trail', { ...AUDITOR, query: { subject: id } });
  expect(body.data).toMatchObject(
    ['revoke', 'rotate', 'create'].map((action) => ({ action, actor: { kind: 'user' } })),
  );
});

test('the pages of every list are complete and in order', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const { body } = await api.call<NewKey>('POST /admin/keys', { ...LEAD, body: { name } });
    await box.post(
      '/v1/chat/completions',
      { model: 'toy', messages: [{ role: 'user', content: name }] },
      withKey(body.key),
    );
  }
  for (const [operation, cursor, by] of [
    ['GET /admin/keys', 'after', LEAD],
    ['GET /admin/keys', 'after', MEMBER],
    ['GET /admin/decisions', 'after', LEAD],
    ['GET /admin/trail', 'before', AUDITOR],
    ['GET /admin/payments', 'before', AUDITOR],
    ['GET /admin/subjects', 'before', AUDITOR],
    ['GET /admin/teams', 'after', AUDITOR],
    ['GET /admin/users', 'after', AUDITOR],
    ['GET /admin/logins', 'after', AUDITOR],
    ['GET /admin/alerts', 'after', AUDITOR],
  ] as const) {
    const whole = await api.call<List>(operation, by);
    const ids = whole.body.data.map(({ id }) => String(id));
    expect([operation, ...(await pages(operation, cursor, by))]).toEqual([operation, ...ids]);
  }
});

/** All reading operations that end. The feed of events is left out, because it ends only when its caller disconnects. */
const readingOperations = () =>
  api.operations.filter(
    (name) => name.startsWith('GET /admin/') && !name.includes('{id}') && name !== 'GET /admin/events',
  );

/** Lists without pages, because their length is fixed by the policy. */
const OF_THE_POLICY = ['GET /admin/endpoints', 'GET /admin/guards', 'GET /admin/models'];

test('every list has pages with a cursor, as the OpenAPI document says', async () => {
  const reading = readingOperations();
  const lists: string[] = [];
  for (const name of reading) {
    const { body } = await api.call(name, AUDITOR);
    if (body.object !== 'list' || OF_THE_POLICY.includes(name)) continue;
    lists.push(name);
    const cursors = api.parametersOf(name).filter((one) => one === 'after' || one === 'before');
    expect([name, cursors.length, typeof body.has_more]).toEqual([name, 1, 'boolean']);
    expect([name, api.parametersOf(name)]).toEqual([name, expect.arrayContaining(['limit'])]);
  }
  expect(lists.length).toBeGreaterThan(7);
});

test('every reading operation of operators answers as the OpenAPI document says', async () => {
  const reading = readingOperations();
  expect(reading.length).toBeGreaterThan(10);
  for (const name of reading) expect([name, (await api.call(name, AUDITOR)).status]).toEqual([name, 200]);
});

test('the OpenAPI document has If-Match exactly where a version may be refused', () => {
  const reading = api.operations.filter((name) => api.parametersOf(name).includes('If-Match'));
  expect(reading.toSorted()).toEqual(
    [
      ...['DELETE /admin/teams/{id}', 'DELETE /admin/users/{id}', 'PATCH /admin/keys/{id}', 'PATCH /admin/teams/{id}'],
      ...['PATCH /admin/users/{id}', 'POST /admin/keys/{id}/resume', 'POST /admin/keys/{id}/suspend'],
      ...['POST /admin/policy/pushes', 'POST /admin/policy/reload', 'PUT /admin/policy/files'],
    ].toSorted(),
  );
});

test('the client sends and receives nothing that the OpenAPI document lacks', async () => {
  const list = (query: Readonly<Record<string, string>>) => api.call('GET /admin/keys', { ...AUDITOR, query });
  await expect(list({ colour: 'red' })).rejects.toThrow('no parameter colour');
  await expect(api.call('GET /admin/nothing', AUDITOR)).rejects.toThrow('no operation');
  await expect(api.call('POST /admin/keys', { ...LEAD, body: { name: 7 } })).rejects.toThrow('must be string');
});
