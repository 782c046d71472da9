import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AnswerSeal } from '../../src/access/idempotency/crypto.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { startIssuer, type TestIssuer } from '../support/issuer.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';
import { loginOf, meBy, startGateway } from './stage.ts';

/** Tests changes with an `Idempotency-Key` by people who have signed in, without an API key to encrypt the stored answer. */
let issuer: TestIssuer;
let box: Signalbox;

beforeAll(async () => {
  issuer = await startIssuer();
  const roles = { platform: 'role: admin', leads: 'role: lead, team: search' };
  box = await startGateway(issuer.url, 'teams: [{ name: search }]\n', { roles });
  issuer.register(box.url);
  issuer.people.set('ada', { name: 'Ada', email: 'ada@example.com', groups: ['platform'] });
  issuer.people.set('lea', { name: 'Lea', email: 'lea@example.com', groups: ['leads'] });
});
afterAll(async () => {
  await box.stop();
  await issuer.stop();
});

async function signedIn(who = 'ada'): Promise<Visitor> {
  const visitor = new Visitor();
  await visitor.signIn(`${box.url}/console/sign-in`, who);
  return visitor;
}

const makeKey = (visitor: Visitor, name: string, origin = box.url) =>
  visitor.go(`${box.url}/admin/keys`, {
    method: 'POST',
    body: JSON.stringify({ name }),
    headers: { 'content-type': 'application/json', 'idempotency-key': name },
    origin,
  });

const keysCalled = async (wanted: string): Promise<number> => {
  const { data } = (await (await box.get('/admin/keys')).json()) as { data: { name: string }[] };
  return data.filter(({ name }) => name === wanted).length;
};

/** The rows of stored answers. A separate SQLite connection reads what the server has written. */
function keptRows(): { salt: Uint8Array; answer: Uint8Array; decision: number }[] {
  const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
  const rows = db.query<{ salt: Uint8Array; answer: Uint8Array; decision: number }, []>(
    `SELECT salt, answer, decision FROM idempotency WHERE state = 'kept' ORDER BY id`,
  );
  const all = rows.all();
  db.close();
  return all;
}

test('a repeat with the same login gets the same key; its answer is encrypted with the cookie, which the store does not have', async () => {
  const ada = await signedIn();
  const first = await (await makeKey(ada, 'one')).text();
  const again = await makeKey(ada, 'one');
  expect(again.headers.get('x-signalbox-replayed')).toBe('true');
  expect(await again.text()).toBe(first);
  expect(await keysCalled('one')).toBe(1);
  const { key } = JSON.parse(first) as { key: string };
  const [{ salt, answer, decision }] = keptRows() as [ReturnType<typeof keptRows>[number]];
  expect(Buffer.from(answer).includes(key.slice(-12))).toBe(false);
  expect(new AnswerSeal(loginOf(ada, box), salt).open(answer, String(decision))).toContain(key);
});

test('another login of the same person does not get the key, and creates none', async () => {
  expect((await makeKey(await signedIn(), 'two')).status).toBe(200);
  await expectError(await makeKey(await signedIn(), 'two'), 'idempotency_answer_unavailable', 'Idempotency-Key');
  expect(await keysCalled('two')).toBe(1);
});

test('a stored answer is only returned to the console’s origin and to valid logins', async () => {
  const ada = await signedIn();
  expect((await makeKey(ada, 'three')).status).toBe(200);
  await expectError(await makeKey(ada, 'three', 'https://elsewhere.example'), 'wrong_origin');
  await ada.go(`${box.url}/console/sign-out`, { method: 'POST', origin: box.url });
  await expectError(await makeKey(ada, 'three'), 'invalid_api_key');
});

describe('a lead who became a member', () => {
  type Shown = { readonly id: string; readonly key: string };
  const shown = async (response: Response) => (await response.json()) as Shown;
  let lea: Visitor;
  let user: string;
  let bob: Shown;
  const send = (path: string, body: object, key: string) =>
    lea.go(`${box.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      origin: box.url,
    });
  const become = async (role: string) => {
    const answer = await box.get(`/admin/users/${user}`, { method: 'PATCH', body: JSON.stringify({ role }) });
    expect(answer.status).toBe(200);
    const roleNow = async () => ((await (await meBy(box, loginOf(lea, box))).json()) as { role: string }).role;
    await waitFor(async () => (await roleNow()) === role, 4_000);
  };

  beforeAll(async () => {
    lea = await signedIn('lea');
    user = ((await (await meBy(box, loginOf(lea, box))).json()) as { user: { id: string } }).user.id;
    bob = await shown(await box.post('/admin/users', { name: 'Bob', email: 'bob@example.com', team: 'search' }));
  });

  test('gets the secret of a key that the lead created for another user only as a lead', async () => {
    const create = () => send('/admin/keys', { name: 'for Bob', user: bob.id }, 'create');
    const first = await shown(await create());
    expect(first.key).toContain('sb_live_');
    await become('member');
    await expectError(await create(), 'insufficient_permissions', 'user');
    await become('lead');
    expect(await shown(await create())).toEqual(first);
  });

  test('gets the new secret of a rotated key of another user only as a lead', async () => {
    const { id } = await shown(await box.post('/admin/keys', { name: 'of Bob', user: bob.id }));
    const rotate = () => send(`/admin/keys/${id}/rotate`, {}, 'rotate');
    const first = await shown(await rotate());
    await become('member');
    await expectError(await rotate(), 'not_found');
    await become('lead');
    expect(await shown(await rotate())).toEqual(first);
  });

  test('still gets the secret of an own key', async () => {
    const create = () => send('/admin/keys', { name: 'own', user }, 'own');
    const first = await shown(await create());
    await become('member');
    expect(await shown(await create())).toEqual(first);
  });
});
