import { beforeAll, describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests requests with a person's own key, whose secret the browser never has. */
const box = usePeople();

const bodyOf = async (response: Response) => JSON.parse(await response.text());

type Made = { readonly id: string; readonly key: string };
const makeKey = async (name: PersonName, terms: object = {}): Promise<Made> =>
  bodyOf(
    await box
      .as(name)
      .post('/admin/keys', { name: `of ${name}`, scopes: ['chat', 'route'], user: `user_${name}`, ...terms }),
  );

const QUESTION = { model: 'toy', messages: [{ role: 'user', content: 'Hello' }] };
const asKey = (key: string, body: object = QUESTION, dialect = 'chat') => ({ key, dialect, body });
const play = (name: PersonName, key: string, body: object = QUESTION, dialect = 'chat') =>
  box.as(name).post('/admin/playground', asKey(key, body, dialect));

let own: Made;
beforeAll(async () => {
  own = await makeKey('member');
});

describe('POST /admin/playground', () => {
  test('answers as the key would be answered, and the decision, its record and the log say who sent it', async () => {
    const response = await play('member', own.id);
    expect(response.status).toBe(200);
    const decision = response.headers.get('x-signalbox-decision-id')!;
    const answer = await bodyOf(response);
    expect(answer.object).toBe('chat.completion');
    expect(answer.platform.decision_id).toBe(decision);
    const shown = await bodyOf(await box.as('member').get(`/admin/decisions/${decision}`));
    expect(shown).toMatchObject({ id: decision, user_id: 'user_member', sent_by: 'user_member' });
    const { data } = await bodyOf(await box.as('member').get(`/admin/decisions?key=${own.id}`));
    expect(data[0]).toMatchObject({ id: decision, key_id: own.id, key_name: 'of member' });
    // A request with the key's secret has no other sender.
    const direct = await box.post('/v1/chat/completions', QUESTION, {
      headers: { authorization: `Bearer ${own.key}` },
    });
    const { platform } = await bodyOf(direct);
    expect(await bodyOf(await box.as('member').get(`/admin/decisions/${platform.decision_id}`))).toMatchObject({
      sent_by: null,
    });
  });

  test.each([
    ['messages', { model: 'toy', max_tokens: 20, messages: QUESTION.messages }, 'message'],
    ['responses', { model: 'toy', input: 'Hello' }, 'response'],
  ])('speaks the dialect %s', async (dialect, body, kind) => {
    const answer = await bodyOf(await play('member', own.id, body, dialect));
    expect(answer.object ?? answer.type).toBe(kind);
  });

  test('counts as a use of the key, like the key’s own requests', async () => {
    const key = await makeKey('member');
    const usedAt = async () => (await bodyOf(await box.as('member').get(`/admin/keys/${key.id}`))).last_used_at;
    expect(await usedAt()).toBeNull();
    expect((await play('member', key.id)).status).toBe(200);
    expect(Date.parse(await usedAt())).toBeGreaterThan(Date.now() - 60_000);
  });

  test('streams, and charges the key', async () => {
    const spent = async () =>
      (await bodyOf(await box.as('member').get(`/admin/usage?by=key&key=${own.id}`))).total_credits;
    const before = await spent();
    const response = await play('member', own.id, { ...QUESTION, stream: true });
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    const text = await response.text();
    expect(text).toContain('chat.completion.chunk');
    expect(text).toEndWith('data: [DONE]\n\n');
    expect(await spent()).toBeGreaterThan(before);
  });

  test('returns errors in the form of the dialect that name the field', async () => {
    await expectError(await play('member', own.id, { model: 'toy' }), 'missing_field', 'messages');
    const { type, error } = await bodyOf(await play('member', own.id, { model: 'toy', messages: [] }, 'messages'));
    expect([type, typeof error]).toEqual(['error', 'object']);
  });

  test('applies the scopes, models and limits of the key', async () => {
    const narrow = await makeKey('member', { scopes: ['route'] });
    await expectError(await play('member', narrow.id), 'insufficient_permissions');
    const once = await makeKey('member', { limits: { requests_per_minute: 1 } });
    expect((await play('member', once.id)).status).toBe(200);
    await expectError(await play('member', once.id), 'rate_limit_exceeded');
    const poor = await makeKey('member', { budgets: [{ limit_credits: 0.000001, window: 'day' }] });
    const refused = await play('member', poor.id);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect((await bodyOf(refused)).error.code).toMatch(/insufficient_quota|request_exceeds_budget/);
  });

  test('does not let a lead or an owner send with another person’s key, or auditors, finance and applications send at all', async () => {
    for (const name of ['lead', 'admin', 'owner', 'stranger'] as const)
      await expectError(await play(name, own.id), 'not_found');
    for (const name of ['auditor', 'finance'] as const)
      await expectError(await play(name, own.id), 'insufficient_permissions');
    const headers = { authorization: `Bearer ${own.key}` };
    await expectError(await box.post('/admin/playground', asKey(own.id), { headers }), 'insufficient_permissions');
    await expectError(await play('member', 'unknown'), 'not_found');
  });

  test('lets an admin key send as itself', async () => {
    const { data } = await bodyOf(await box.get('/admin/keys?limit=100'));
    const self = data.find(({ scopes }: { scopes: string[] }) => scopes.includes('admin')).id;
    const answer = await bodyOf(await box.post('/admin/playground', asKey(self)));
    expect(answer.object).toBe('chat.completion');
    await expectError(await box.post('/admin/playground', asKey(own.id)), 'not_found');
  });

  test('sends nothing with a suspended or revoked key', async () => {
    const key = await makeKey('member');
    await box.as('admin').post(`/admin/keys/${key.id}/suspend`, {});
    await expectError(await play('member', key.id), 'key_suspended');
    await box.as('admin').post(`/admin/keys/${key.id}/resume`, {});
    expect((await play('member', key.id)).status).toBe(200);
    await box.as('member').post(`/admin/keys/${key.id}/revoke`, {});
    await expectError(await play('member', key.id), 'invalid_value', 'key');
  });

  test('ignores an Idempotency-Key of the outer request, so that nothing is replayed', async () => {
    const headers = { ...box.as('member').headers, 'content-type': 'application/json', 'idempotency-key': 'once' };
    const send = async () =>
      fetch(`${box.url}/admin/playground`, { method: 'POST', headers, body: JSON.stringify(asKey(own.id)) });
    const [one, other] = [await send(), await send()];
    expect([one.headers.get('x-signalbox-replayed'), other.headers.get('x-signalbox-replayed')]).toEqual([null, null]);
    expect(one.headers.get('x-signalbox-decision-id')).not.toBe(other.headers.get('x-signalbox-decision-id'));
  });

  test('needs the Origin of the console’s pages', async () => {
    const headers = {
      cookie: box.as('member').headers.cookie!,
      origin: 'https://evil.example',
      'content-type': 'application/json',
    };
    const response = await fetch(`${box.url}/admin/playground`, {
      method: 'POST',
      headers,
      body: JSON.stringify(asKey(own.id)),
    });
    await expectError(response, 'wrong_origin');
  });
});
