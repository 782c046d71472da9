import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';
import { LOGIN, loginOf, MODEL, meBy } from './stage.ts';

/** Tests keys that sign in at the console with the requests of its page, and attacks without a valid key. */
let box: Signalbox;
/** How far the gateway’s clock is ahead, ms. The gateway's clock never goes back. */
let ahead = 0;

const HOUR_MS = 3_600_000;

beforeAll(async () => {
  box = await startSignalbox({ policy: MODEL, now: () => Date.now() + ahead });
});
afterAll(() => box.stop());

type Members = Readonly<Record<string, unknown>>;
const json = async (response: Response) => (await response.json()) as Members;
const idOf = (key: string): string => key.split('_')[2] ?? '';

/** Posts a key like the page does, with other values where the test gives them. */
const post = (
  key: unknown,
  { at = box, visitor = new Visitor(), origin = at.url, headers = {} }: Partial<Posting> = {},
): Promise<Response> =>
  visitor.go(`${at.url}/console/sign-in/key`, {
    method: 'POST',
    body: JSON.stringify({ key }),
    headers: { 'content-type': 'application/json', ...headers },
    ...(origin && { origin }),
  });
interface Posting {
  readonly at: Signalbox;
  readonly visitor: Visitor;
  readonly origin: string | null;
  readonly headers: Record<string, string>;
}

async function signedIn(key: string, at = box): Promise<Visitor> {
  const visitor = new Visitor();
  const answer = await post(key, { at, visitor });
  expect([answer.status, await answer.text()]).toEqual([204, '']);
  return visitor;
}

const adminKey = () => box.makeKey('--name', 'ops', '--scope', 'admin');
const me = (visitor: Visitor) => meBy(box, loginOf(visitor, box));
/** Waits for the promised second, and up to four times as long. */
const becomes = (visitor: Visitor, status: number) => waitFor(async () => (await me(visitor)).status === status, 4_000);

describe('a key that signs in', () => {
  test('gets a cookie that only this host can set, and that opens the admin API', async () => {
    const key = await adminKey();
    const visitor = new Visitor();
    const answer = await post(key, { visitor });
    const value = loginOf(visitor, box);
    expect(value).toMatch(/^[\w-]{43}$/);
    expect(answer.headers.getSetCookie()).toEqual([
      `${LOGIN}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=604800`,
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const found = await json(await me(visitor));
    expect(found).toMatchObject({ role: 'owner', name: 'ops', key_id: idOf(key), user: null });
    expect(found.login).toMatchObject({ user_id: null, key_id: idOf(key), key_name: 'ops', from: '127.0.0.1' });
    expect(found.actions).toMatchObject({ 'keys.change': 'all', 'ledger.copy': 'all', 'me.read': 'own' });
    expect(await json(await fetch(`${box.url}/admin/me`, withKey(key)))).toMatchObject({ ...found, login: null });
    expect(await (await visitor.go(`${box.url}/console`)).text()).toContain('data-signed-in="true"');
    await expectError(await visitor.go(`${box.url}/v1/models`), 'invalid_api_key');
  });

  test('with the scope `report` sees the same figures as the key, and uses none of the requests that programs have', async () => {
    const key = await box.makeKey('--name', 'finance', '--scope', 'report');
    const visitor = await signedIn(key);
    const { role, actions } = await json(await me(visitor));
    expect(role).toBe('report');
    expect(actions).toMatchObject({ 'usage.read': 'all', 'me.read': 'own', 'logins.end': 'own' });
    for (const action of ['keys.read', 'keys.change', 'trail.read']) expect(actions).not.toHaveProperty(action);
    for (let n = 0; n < 65; n++) expect((await visitor.go(`${box.url}/admin/usage`)).status).toBe(200);
    expect((await fetch(`${box.url}/admin/usage`, withKey(key))).status).toBe(200);
    await expectError(await visitor.go(`${box.url}/admin/keys`), 'insufficient_permissions');
    const other = await signedIn(await adminKey());
    const { data } = (await json(await visitor.go(`${box.url}/admin/logins`))) as { data: Members[] };
    expect(data.map((one) => one.key_id)).toEqual([idOf(key)]);
    const { login } = (await json(await me(other))) as { login: Members };
    const end = (id: unknown) => visitor.go(`${box.url}/admin/logins/${id}`, { method: 'DELETE', origin: box.url });
    await expectError(await end(login.id), 'not_found');
    expect((await end(data[0]?.id)).status).toBe(200);
    await expectError(await me(visitor), 'not_signed_in');
  });

  test('is listed, ended and named in the audit trail with its login, by requests and commands', async () => {
    const key = await adminKey();
    const visitor = await signedIn(key);
    const { login } = (await json(await me(visitor))) as { login: { id: string } };
    const listed = await box.run('logins', 'list', '--user', idOf(key));
    expect(listed.out).toMatch(new RegExp(`${login.id} +ops `));
    const made = await visitor.go(`${box.url}/admin/keys`, {
      method: 'POST',
      body: '{"name":"by a login"}',
      headers: { 'content-type': 'application/json' },
      origin: box.url,
    });
    const trailOf = async (query: string) =>
      ((await json(await box.get(`/admin/trail?${query}`))) as { data: Members[] }).data;
    const [create] = await trailOf(`key=${(await json(made)).id}`);
    expect(create).toMatchObject({
      action: 'create',
      actor: { kind: 'key', name: idOf(key) },
      details: { login: login.id },
    });
    expect((await box.run('logins', 'end', login.id)).out).toBe(`Ended the login of key ops, ${login.id}.\n`);
    await becomes(visitor, 401);
    const [end, begin] = (await trailOf('kind=login')).filter((entry) => (entry.subject as Members).id === login.id);
    expect(begin).toMatchObject({
      action: 'sign_in',
      actor: { kind: 'key', name: idOf(key) },
      details: { key: idOf(key) },
    });
    expect(end).toMatchObject({ action: 'end', details: { key: idOf(key) } });
    expect(await json(await box.get('/admin/trail/verify'))).toMatchObject({ is_whole: true, faults: [] });
  });

  test('leaves nothing of its secret in the database, the log or an answer', async () => {
    const key = await adminKey();
    const answer = await post(key);
    // The secret may contain underscores.
    const secret = key.split('_').slice(3).join('_');
    const [value = ''] = (answer.headers.getSetCookie()[0] ?? '').split(';');
    for (const file of ['signalbox.db', 'signalbox.db-wal']) {
      const bytes = Buffer.from(await Bun.file(`${box.data}/${file}`).arrayBuffer());
      expect([bytes.includes(secret), bytes.includes(value.split('=')[1] ?? '')]).toEqual([false, false]);
    }
    expect(box.lines.join('\n')).not.toContain(secret);
  });
});

describe('the login of a key ends with the key', () => {
  const change = (key: string, ...args: string[]) => box.run('keys', ...args, idOf(key));

  test('that is revoked', async () => {
    const key = await adminKey();
    const visitor = await signedIn(key);
    expect((await change(key, 'revoke')).code).toBe(0);
    await becomes(visitor, 401);
    await expectError(await me(visitor), 'not_signed_in');
  });

  test('that is suspended, and works again when the key is resumed', async () => {
    const key = await adminKey();
    const visitor = await signedIn(key);
    await change(key, 'suspend');
    await becomes(visitor, 401);
    await change(key, 'resume');
    await becomes(visitor, 200);
  });

  test('that loses its scope; the login of a changed key has the new role', async () => {
    const key = await adminKey();
    const visitor = await signedIn(key);
    const patch = (scopes: readonly string[]) =>
      box.get(`/admin/keys/${idOf(key)}`, {
        method: 'PATCH',
        body: JSON.stringify({ scopes }),
        headers: { 'content-type': 'application/json' },
      });
    expect((await patch(['report'])).status).toBe(200);
    expect(await json(await me(visitor))).toMatchObject({ role: 'report' });
    expect((await patch(['chat'])).status).toBe(200);
    await expectError(await me(visitor), 'not_signed_in');
  });

  test('whose secret was rotated, when that secret no longer works', async () => {
    const key = await adminKey();
    const visitor = await signedIn(key);
    const rotate = (seconds: number) =>
      box.post(`/admin/keys/${idOf(key)}/rotate`, { overlap_seconds: seconds }).then(json);
    const { key: next } = await rotate(60);
    const newer = await signedIn(String(next));
    expect((await me(visitor)).status).toBe(200);
    ahead += 61_000;
    await expectError(await me(visitor), 'not_signed_in');
    expect((await me(newer)).status).toBe(200);
    await rotate(0);
    await expectError(await me(newer), 'not_signed_in');
  });

  test('that expires; the login also ends after 12 hours without use, and after 7 days', async () => {
    const [brief, lasting] = [await box.makeKey('--scope', 'admin', '--expires-in', '1h'), await adminKey()];
    const [one, other] = [await signedIn(brief), await signedIn(lasting)];
    ahead += HOUR_MS + 1_000;
    await expectError(await me(one), 'not_signed_in');
    expect((await me(other)).status).toBe(200);
    const idle = await signedIn(lasting);
    for (let n = 0; n < 15; n++) {
      ahead += 11 * HOUR_MS;
      expect((await me(other)).status).toBe(200);
    }
    await expectError(await me(idle), 'not_signed_in');
    ahead += 3 * HOUR_MS;
    await expectError(await me(other), 'not_signed_in');
  });

  test('and then is in no list, but is listed while the key is suspended', async () => {
    const listed = async (key: string) => {
      const { data } = (await json(await box.get(`/admin/logins?user=${idOf(key)}`))) as { data: unknown[] };
      const byCommand = JSON.parse((await box.run('logins', 'list', '--user', idOf(key), '--json')).out) as {
        data: unknown[];
      };
      return [data.length, byCommand.data.length];
    };
    const ends: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
      revoked: (key) => box.post(`/admin/keys/${idOf(key)}/revoke`, {}),
      rotated: (key) => box.post(`/admin/keys/${idOf(key)}/rotate`, { overlap_seconds: 0 }),
      expired: async () => {
        ahead += HOUR_MS;
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const made = await box.post('/admin/keys', { scopes: ['admin'], expires_in_seconds: 3_600 });
      const { key } = (await made.json()) as { key: string };
      await signedIn(key);
      expect([name, ...(await listed(key))]).toEqual([name, 1, 1]);
      await box.post(`/admin/keys/${idOf(key)}/suspend`, {});
      expect([name, ...(await listed(key))]).toEqual([name, 1, 1]);
      await box.post(`/admin/keys/${idOf(key)}/resume`, {});
      await end(key);
      // A command uses the clock of its machine, which this test does not change.
      expect([name, ...(await listed(key))].slice(0, 2)).toEqual([name, 0]);
      if (name === 'revoked') expect(await listed(key)).toEqual([0, 0]);
    }
    await expectError(await box.get('/admin/logins?after=login_gone'), 'invalid_value', 'after');
  });

  test('when the policy switches the console off', async () => {
    const own = await startSignalbox({ policy: `${MODEL}console: { enabled: true }\n` });
    const visitor = await signedIn(own.key, own);
    expect((await meBy(own, loginOf(visitor, own))).status).toBe(200);
    const off = await startSignalbox({ policy: `${MODEL}console: { enabled: false }\n` });
    await expectError(await post(off.key, { at: off }), 'not_found');
    await expectError(await meBy(off, 'A'.repeat(43)), 'invalid_api_key');
    await Promise.all([own.stop(), off.stop()]);
  });
});

describe('the server refuses', () => {
  test('any text that is not a valid key, with the same error whatever is wrong with it', async () => {
    const [revoked, suspended, rotated] = [await adminKey(), await adminKey(), await adminKey()];
    await box.run('keys', 'revoke', idOf(revoked));
    await box.run('keys', 'suspend', idOf(suspended));
    await box.post(`/admin/keys/${idOf(rotated)}/rotate`, { overlap_seconds: 0 });
    await waitFor(async () => (await fetch(`${box.url}/admin/me`, withKey(suspended))).status === 403, 4_000);
    await waitFor(async () => (await fetch(`${box.url}/admin/me`, withKey(revoked))).status === 401, 4_000);
    const unknown = `sb_live_aaaabbbbcccc_${'A'.repeat(43)}`;
    const forged = `${box.key.slice(0, -1)}${box.key.endsWith('A') ? 'B' : 'A'}`;
    const application = await box.makeKey('--scope', 'chat');
    const texts = [
      '',
      'x',
      `Bearer ${box.key}`,
      `${box.key} `,
      unknown,
      forged,
      application,
      revoked,
      suspended,
      rotated,
    ];
    const answers = await Promise.all(texts.map((text) => post(text)));
    const bodies = await Promise.all(
      answers.map(async (answer) => [answer.status, answer.headers.getSetCookie(), await json(answer)] as const),
    );
    const [first] = bodies;
    const { error } = first![2] as { error: { code: string } };
    expect(error.code).toBe('invalid_api_key');
    for (const [status, cookies, body] of bodies) {
      const { message } = (body as { error: { message: string } }).error;
      expect([status, cookies, message]).toEqual([401, [], (error as unknown as { message: string }).message]);
    }
    for (const odd of [null, 7, ['x'], 'x'.repeat(300)]) expect((await post(odd)).status).toBe(400);
  });

  test('a page of another origin, and another host', async () => {
    const key = await adminKey();
    for (const origin of [null, 'null', 'https://evil.example', `${box.url}.evil.example`, 'https://pages.example']) {
      const answer = await post(key, { origin });
      expect(answer.headers.getSetCookie()).toEqual([]);
      const { message } = await expectError(answer, 'wrong_origin');
      // `null` and a missing header name no address that a policy could contain.
      const isAddress = origin !== null && origin !== 'null';
      expect([origin, message.includes('`public_url`')]).toEqual([origin, isAddress]);
      expect(message).toContain(box.url);
    }
    for (const host of ['evil.example', '127.0.0.1.evil.example'])
      await expectError(await post(key, { headers: { host } }), 'wrong_host');
    const form = { method: 'POST', body: new URLSearchParams({ key }), origin: box.url };
    await expectError(await new Visitor().go(`${box.url}/console/sign-in/key`, form), 'unsupported_media_type');
    expect((await fetch(`${box.url}/console/sign-in/key?key=${key}`)).status).toBe(405);
  });

  test('a cookie that an attacker has planted, and ends the previous login', async () => {
    const planted = 'A'.repeat(43);
    const victim = new Visitor();
    const answer = await post(box.key, { visitor: victim, headers: { cookie: `${LOGIN}=${planted}` } });
    expect(answer.status).toBe(204);
    const value = loginOf(victim, box);
    expect(value).not.toBe(planted);
    await expectError(await meBy(box, planted), 'not_signed_in');
    await post(box.key, { visitor: victim });
    expect(loginOf(victim, box)).not.toBe(value);
    await expectError(await meBy(box, value), 'not_signed_in');
  });

  test('an address that guesses keys, but not a valid key from that address', async () => {
    const own = await startSignalbox({
      policy: MODEL.replace('failed_auth_per_minute: 1000000', 'failed_auth_per_minute: 5'),
    });
    const statuses = [];
    for (let n = 0; n < 8; n++) statuses.push((await post(`x${n}`, { at: own })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    // A wrong key in a header counts against the same limit.
    await expectError(await fetch(`${own.url}/admin/me`, withKey('x')), 'rate_limit_exceeded', null, false);
    await signedIn(own.key, own);
    await own.stop();
  });

  test('a change with the cookie but without the console’s Origin, and a request with both the cookie and a key', async () => {
    const visitor = await signedIn(await adminKey());
    const cookie = `${LOGIN}=${loginOf(visitor, box)}`;
    for (const origin of [undefined, 'null', 'https://evil.example']) {
      const headers = { cookie, 'content-type': 'application/json', ...(origin && { origin }) };
      for (const path of ['/admin/policy/reload', '/admin/keys', '/console/sign-out'])
        await expectError(await fetch(box.url + path, { method: 'POST', headers, body: '{}' }), 'wrong_origin');
    }
    await expectError(
      await fetch(`${box.url}/admin/me`, { headers: { cookie, authorization: `Bearer ${box.key}` } }),
      'invalid_value',
      'Cookie',
    );
    await expectError(await fetch(`${box.url}/admin/me`, { headers: { cookie, host: 'evil.example' } }), 'wrong_host');
  });
});

test('signing out ends the login of a key, even for a copy of its cookie', async () => {
  const visitor = await signedIn(await box.makeKey('--scope', 'report'));
  const stolen = loginOf(visitor, box);
  const out = await visitor.go(`${box.url}/console/sign-out`, { method: 'POST', origin: box.url });
  expect([out.status, visitor.cookie(box.url, LOGIN)]).toEqual([303, undefined]);
  await expectError(await meBy(box, stolen), 'not_signed_in');
});
