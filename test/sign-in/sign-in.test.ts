import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { buildConsoleHere } from '../support/console.ts';
import { expectError } from '../support/error-contract.ts';
import { CLIENT_SECRET, startIssuer, type TestIssuer } from '../support/issuer.ts';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';
import { LOGIN, loginOf, meBy, SIGN_IN, startGateway } from './stage.ts';

/** Tests sign-in at a real OpenID provider with the requests that a browser sends. */
let issuer: TestIssuer;
let box: Signalbox;
/** How far the gateway’s clock is ahead, ms. The gateway's clock never goes back. */
let ahead = 0;

const HOUR_MS = 3_600_000;
const ADA = { name: 'Ada <Lovelace>', email: 'ada@example.com', groups: ['platform'] };
const BOB = { name: 'Bob', email: 'bob@example.com', groups: ['staff'] };

beforeAll(async () => {
  buildConsoleHere();
  issuer = await startIssuer();
  box = await startGateway(issuer.url, '', { now: () => Date.now() + ahead });
  issuer.register(box.url);
});
beforeEach(() => {
  issuer.people.clear();
  issuer.people.set('ada', ADA).set('bob', BOB);
  issuer.isAway = false;
});
afterAll(async () => {
  await box.stop();
  await issuer.stop();
});

type Members = Readonly<Record<string, unknown>>;

async function signedIn(sub: string, path = ''): Promise<Visitor> {
  const visitor = new Visitor();
  const { response } = await visitor.signIn(`${box.url}/console/sign-in${path}`, sub);
  expect(response?.status).toBe(200);
  return visitor;
}

const json = async (response: Response) => (await response.json()) as Members;
const adminSend = (path: string, init: RequestInit = {}) => box.get(path, init);

describe('a person who signs in', () => {
  test('becomes a member identified by issuer and `sub`, has the role of the claims, and is named in the audit trail', async () => {
    const visitor = await signedIn('ada');
    const me = await json(await visitor.go(`${box.url}/admin/me`));
    expect(me).toMatchObject({
      role: 'admin',
      key_id: null,
      user: { issuer: issuer.url, sub: 'ada', name: 'Ada <Lovelace>', email: 'ada@example.com', team: null },
      login: { browser: expect.stringContaining('Bun'), from: '127.0.0.1' },
    });
    expect((await visitor.go(`${box.url}/admin/keys`)).status).toBe(200);
    const made = await visitor.go(`${box.url}/admin/keys`, {
      method: 'POST',
      body: '{"name":"of ada"}',
      headers: { 'content-type': 'application/json' },
      origin: box.url,
    });
    const { id } = await json(made);
    const { data } = (await (await box.get(`/admin/trail?key=${id}`)).json()) as { data: Members[] };
    const { id: user } = (me as { user: Members }).user;
    expect(data[0]).toMatchObject({ action: 'create', actor: { kind: 'user', name: user }, from: '127.0.0.1' });
  });

  test('gets a page that contains whether the browser is signed in and the name of the issuer, but nothing about the person', async () => {
    const visitor = await signedIn('ada');
    const text = await (await visitor.go(`${box.url}/console`)).text();
    expect(text).toContain(`data-issuer="${new URL(issuer.url).host}" data-signed-in="true"`);
    expect(text).not.toContain('Lovelace');
    const stranger = await (await fetch(`${box.url}/console`)).text();
    expect(stranger).toContain('data-signed-in="false"');
  });

  test('has a cookie that only this host can set, and of which the database contains only the hash', async () => {
    const visitor = new Visitor();
    const { url } = await visitor.signIn(`${box.url}/console/sign-in`, 'bob', (at) => at.includes('/callback?'));
    const answer = await visitor.go(url);
    const cookies = answer.headers.getSetCookie();
    const value = loginOf(visitor, box);
    expect(cookies.find((cookie) => cookie.startsWith(`${LOGIN}=`))).toBe(
      `${LOGIN}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=604800`,
    );
    expect(value).toMatch(/^[\w-]{43}$/);
    expect(visitor.cookie(box.url, SIGN_IN)).toBeUndefined();
    const bytes = Buffer.from(await Bun.file(`${box.data}/signalbox.db`).arrayBuffer());
    const log = Buffer.from(await Bun.file(`${box.data}/signalbox.db-wal`).arrayBuffer());
    expect(bytes.includes(value) || log.includes(value)).toBe(false);
  });

  test('without a role is refused with a page that says whom to ask, and does not become a user', async () => {
    issuer.people.set('eve', { name: 'Eve', groups: ['guests'] });
    const visitor = new Visitor();
    const { response } = await visitor.signIn(`${box.url}/console/sign-in`, 'eve');
    expect(response?.status).toBe(403);
    expect(await response?.text()).toContain('You have no role on this gateway.');
    expect(visitor.cookie(box.url, LOGIN)).toBeUndefined();
  });

  test('whose claim `groups` is an object gets no role from the names of its members', async () => {
    issuer.people.set('eve', { name: 'Eve', groups: { platform: false, staff: true } });
    const visitor = new Visitor();
    const { response } = await visitor.signIn(`${box.url}/console/sign-in`, 'eve');
    expect([response?.status, visitor.cookie(box.url, LOGIN)]).toEqual([403, undefined]);
  });

  test('does not become an owner by being first, and as a member sees no keys of others', async () => {
    const visitor = await signedIn('bob');
    expect(await json(await visitor.go(`${box.url}/admin/me`))).toMatchObject({ role: 'member' });
    const { data } = (await (await visitor.go(`${box.url}/admin/keys`)).json()) as { data: unknown[] };
    expect(data).toEqual([]);
    expect((await visitor.go(`${box.url}/admin/trail`)).status).toBe(403);
  });

  test('is redirected to the page that the person wanted to see', async () => {
    const visitor = new Visitor();
    const path = '/console?view=keys';
    const { url } = await visitor.signIn(`${box.url}/console/sign-in?return_to=${encodeURIComponent(path)}`, 'ada');
    expect(url).toBe(box.url + path);
  });
});

test('the client secret may be in a file, and a change of the file applies without a restart', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'secret');
  writeFileSync(file, 'not the secret of the client');
  const own = await startIssuer();
  own.people.set('ada', ADA);
  const gateway = await startGateway(own.url, '', { env: { OIDC_SECRET_FILE: file } });
  own.register(gateway.url);
  const status = async () => (await new Visitor().signIn(`${gateway.url}/console/sign-in`, 'ada')).response?.status;
  expect(await status()).toBe(400);
  writeFileSync(file, `${CLIENT_SECRET}\n`);
  await waitFor(async () => (await status()) === 200, 5_000);
  await gateway.stop();
  await own.stop();
  rmSync(folder, { recursive: true });
});

test('an admin key makes the first owner, who stays an owner if the claims contain less or nothing', async () => {
  const bob = await signedIn('bob');
  const value = loginOf(bob, box);
  const { user } = (await json(await meBy(box, value))) as { user: { id: string } };
  const promote = { method: 'PATCH', body: '{"role":"owner"}', headers: { 'content-type': 'application/json' } };
  await expectError(
    await bob.go(`${box.url}/admin/users/${user.id}`, { ...promote, origin: box.url }),
    'insufficient_permissions',
  );
  const ada = await signedIn('ada');
  await expectError(
    await ada.go(`${box.url}/admin/users/${user.id}`, { ...promote, origin: box.url }),
    'insufficient_permissions',
  );
  expect((await adminSend(`/admin/users/${user.id}`, promote)).status).toBe(200);
  issuer.people.set('bob', { ...BOB, groups: [] });
  ahead += HOUR_MS;
  expect(await json(await meBy(box, value))).toMatchObject({ role: 'owner' });
  expect(await json(await (await signedIn('bob')).go(`${box.url}/admin/me`))).toMatchObject({ role: 'owner' });
  // Only the operator can remove the role. Once the operator has removed the role, the claims decide again.
  await adminSend(`/admin/users/${user.id}`, { ...promote, body: '{"role":"member"}' });
  ahead += HOUR_MS;
  await expectError(await meBy(box, value), 'not_signed_in');
});

describe('a login', () => {
  test('can be listed and ended by its owner and by others with the right role', async () => {
    const [ada, bob] = [await signedIn('ada'), await signedIn('bob')];
    const value = loginOf(bob, box);
    const idOf = async (visitor: Visitor) =>
      ((await json(await visitor.go(`${box.url}/admin/me`))) as { login: { id: string } }).login.id;
    const [own, other] = [await idOf(bob), await idOf(ada)];
    const { data } = (await (await bob.go(`${box.url}/admin/logins`)).json()) as { data: Members[] };
    expect(data.map(({ user_name: name }) => name)).toEqual(data.map(() => 'Bob'));
    expect(data.map(({ id }) => id)).toContain(own);
    const end = (visitor: Visitor, id: string) =>
      visitor.go(`${box.url}/admin/logins/${id}`, { method: 'DELETE', origin: box.url });
    await expectError(await end(bob, other), 'not_found');
    expect((await end(ada, own)).status).toBe(200);
    await expectError(await meBy(box, value), 'not_signed_in');
    const page = (await (await box.get('/admin/logins?limit=1')).json()) as { data: Members[]; has_more: boolean };
    expect(page.data).toHaveLength(1);
    expect(page.data[0]).not.toHaveProperty('hash');
  });

  test('can be listed and ended with a command, and has ended when the command returns', async () => {
    const bob = await signedIn('bob');
    const value = loginOf(bob, box);
    const { login } = (await json(await meBy(box, value))) as { login: { id: string } };
    const { out } = await box.run('logins', 'list');
    expect(out).toContain(login.id);
    expect(JSON.parse((await box.run('logins', 'list', '--json')).out).data).toContainEqual(
      expect.objectContaining({ id: login.id }),
    );
    const ended = await box.run('logins', 'end', login.id);
    expect(ended).toMatchObject({ code: 0, out: `Ended the login of Bob, ${login.id}.\n` });
    await expectError(await meBy(box, value), 'not_signed_in');
    expect((await box.run('logins', 'end', login.id)).err).toContain('may have ended already');
  });

  test('ends after 12 hours without use, and after 7 days with use', async () => {
    const [idle, used] = [loginOf(await signedIn('ada'), box), loginOf(await signedIn('bob'), box)];
    ahead += 11 * HOUR_MS;
    expect((await meBy(box, used)).status).toBe(200);
    ahead += 1.1 * HOUR_MS;
    await expectError(await meBy(box, idle), 'not_signed_in');
    expect((await meBy(box, used)).status).toBe(200);
    for (let hours = 0; hours < 7 * 24 - 24; hours += 11) {
      ahead += 11 * HOUR_MS;
      expect((await meBy(box, used)).status).toBe(200);
    }
    ahead += 11 * HOUR_MS;
    await expectError(await meBy(box, used), 'not_signed_in');
  });

  test('of a suspended person is refused', async () => {
    const bob = await signedIn('bob');
    const { user } = (await json(await bob.go(`${box.url}/admin/me`))) as { user: { id: string } };
    const suspended = await adminSend(`/admin/users/${user.id}/suspend`, { method: 'POST' });
    expect(suspended.status).toBe(200);
    await expectError(await bob.go(`${box.url}/admin/me`), 'not_signed_in');
    await adminSend(`/admin/users/${user.id}/resume`, { method: 'POST' });
    expect((await bob.go(`${box.url}/admin/me`)).status).toBe(200);
  });
});

describe('claims', () => {
  test('that a person loses while signed in end within an hour: first the role, then the login', async () => {
    issuer.people.set('cay', { name: 'Cay', groups: ['platform', 'staff'] });
    const value = loginOf(await signedIn('cay'), box);
    issuer.people.set('cay', { name: 'Cay', groups: ['staff'] });
    expect(await json(await meBy(box, value))).toMatchObject({ role: 'admin' });
    ahead += HOUR_MS;
    // The request that needs the lost role is itself refused.
    const refused = await fetch(`${box.url}/admin/trail`, { headers: { cookie: `${LOGIN}=${value}` } });
    await expectError(refused, 'insufficient_permissions');
    expect(await json(await meBy(box, value))).toMatchObject({ role: 'member' });
    issuer.people.set('cay', { name: 'Cay', groups: [] });
    expect((await meBy(box, value)).status).toBe(200);
    ahead += HOUR_MS;
    await expectError(await meBy(box, value), 'not_signed_in');
    const { data } = (await (await box.get('/admin/trail?limit=20')).json()) as { data: Members[] };
    expect(data.find(({ action }) => action === 'end')).toMatchObject({
      actor: { kind: 'server' },
      details: { reason: 'has no role' },
    });
  });

  test('are requested once for simultaneous requests, and the refresh token changes', async () => {
    const value = loginOf(await signedIn('ada'), box);
    for (let hours = 1; hours < 4; hours++) {
      ahead += HOUR_MS;
      const before = issuer.asked.length;
      const answers = await Promise.all([1, 2, 3, 4].map(() => meBy(box, value)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(issuer.asked.slice(before).filter((one) => one === 'POST /token')).toHaveLength(1);
    }
  });
});

describe('an issuer that is not available', () => {
  test('refuses new sign-ins, keeps logins, and is asked again when it is available', async () => {
    const value = loginOf(await signedIn('ada'), box);
    ahead += 2 * HOUR_MS;
    issuer.isAway = true;
    expect((await meBy(box, value)).status).toBe(200);
    const page = await new Visitor().go(`${box.url}/console/sign-in`);
    expect(page.status).toBe(503);
    expect(await page.text()).toContain('does not answer');
    issuer.isAway = false;
    issuer.people.set('ada', { ...ADA, groups: [] });
    ahead += 31_000;
    await expectError(await meBy(box, value), 'not_signed_in');
    issuer.people.set('ada', ADA);
    await waitFor(async () => (await new Visitor().go(`${box.url}/console/sign-in`)).status === 303, 4_000);
  });
});

test('signing out ends the login of a suspended person, also after the suspension', async () => {
  const bob = await signedIn('bob');
  const stolen = loginOf(bob, box);
  const { user } = (await json(await meBy(box, stolen))) as { user: { id: string } };
  await adminSend(`/admin/users/${user.id}/suspend`, { method: 'POST' });
  await bob.go(`${box.url}/console/sign-out`, { method: 'POST', origin: box.url });
  await adminSend(`/admin/users/${user.id}/resume`, { method: 'POST' });
  await expectError(await meBy(box, stolen), 'not_signed_in');
});

test('signing out ends the login, even for a copy of its cookie', async () => {
  const visitor = await signedIn('ada');
  const stolen = loginOf(visitor, box);
  const out = await visitor.go(`${box.url}/console/sign-out`, { method: 'POST', origin: box.url });
  expect([out.status, out.headers.get('location')]).toEqual([303, '../console']);
  expect(visitor.cookie(box.url, LOGIN)).toBeUndefined();
  await expectError(await meBy(box, stolen), 'not_signed_in');
  expect(await (await visitor.go(`${box.url}/console`)).text()).toContain('data-signed-in="false"');
});
