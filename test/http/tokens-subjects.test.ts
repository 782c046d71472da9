import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { withKey } from '../support/signalbox.ts';
import { startIssuer } from '../support/token-issuer.ts';
import { useSignalbox, useStarted } from '../support/use.ts';
import { tokenPolicy } from './tokens-support.ts';

const issuer = useStarted(() => startIssuer());
const box = useSignalbox(() => ({ policy: tokenPolicy(issuer, 'admin: claims.environment == "operations"\n') }));

const HELLO = { model: 'toy', messages: [{ role: 'user', content: 'Hello?' }] };
const ask = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  box.post('/v1/chat/completions', HELLO, { headers: { ...withKey(token).headers, ...headers } });

interface Shown {
  readonly id: string;
  readonly sub: string;
  readonly issuer: string;
  readonly name: string;
  readonly is_blocked: boolean;
}
const listed = async () => ((await (await box.get('/admin/subjects')).json()) as { data: Shown[] }).data;

/** A subject that has sent one request with a token. */
async function newSubject(sub: string) {
  const token = await issuer.sign({ sub });
  expect((await ask(token)).status).toBe(200);
  await waitFor(async () => (await listed()).some((one) => one.sub === sub));
  return { token, id: (await listed()).find((one) => one.sub === sub)!.id };
}

/** The promised time within which a blocked subject is refused, ms. */
const WITHIN = 1_000;

describe('a subject', () => {
  test('is one caller whatever its tokens contain: its usage and decisions have one ID, from its issuer and `sub`', async () => {
    const { id } = await newSubject('system:serviceaccount:prod:agent');
    const again = await issuer.sign({ sub: 'system:serviceaccount:prod:agent', jti: 'another' });
    expect((await ask(again)).status).toBe(200);
    const usage: unknown = await (await box.get('/v1/usage', withKey(again))).json();
    expect(usage).toMatchObject({ days: [{ model: 'toy', charges: 2 }] });
    const shown = (await (await box.get(`/admin/subjects/${id}`)).json()) as Shown;
    expect(shown).toMatchObject({ id, issuer: issuer.url, name: 'robots', is_blocked: false, object: 'subject' });
    expect(shown.sub).toBe('system:serviceaccount:prod:agent');
    const { data } = (await (await box.get(`/admin/decisions?key=${id}`)).json()) as { data: object[] };
    expect(data).toHaveLength(2);
  });

  test('has a row of its own in reports, with its ID', async () => {
    const [one, other] = [await newSubject('reported'), await newSubject('reported, too')];
    const report = withKey(await box.makeKey('--scope', 'report'));
    const usage = await box.get('/admin/usage?by=key', report);
    const groups = ((await usage.json()) as { groups: { group: { key_name: string }; charges: number }[] }).groups;
    const own = groups.filter(({ group }) => [one.id, other.id].includes(group.key_name));
    expect(own.map(({ charges }) => charges)).toEqual([1, 1]);
    const found = await box.get(`/admin/decisions?key=${one.id}`, report);
    expect(((await found.json()) as { data: object[] }).data).toHaveLength(1);
  });

  test('that a command blocks is refused within a second, with tokens that were checked before and with new tokens', async () => {
    const { token, id } = await newSubject('blocked by command');
    const began = performance.now();
    const { code, out } = await box.run('subjects', 'block', id, '--note', 'leaked');
    expect([code, out]).toEqual([0, expect.stringContaining(`Blocked ${id}.`)]);
    const refused = await ask(token);
    expect(performance.now() - began).toBeLessThan(4 * WITHIN);
    expect([refused.status, (await answerOf(refused)).error?.message]).toEqual([
      403,
      'The operator has blocked this subject.',
    ]);
    expect((await ask(await issuer.sign({ sub: 'blocked by command', jti: 'new' }))).status).toBe(403);
    expect((await box.run('subjects', 'list')).out).toMatch(new RegExp(`${id} +robots +blocked by command .* true`));
    expect((await box.run('subjects', 'unblock', id)).code).toBe(0);
    expect((await ask(token)).status).toBe(200);
    const trail = await box.run('trail', 'list', '--subject', id, '--json');
    const actions = (JSON.parse(trail.out).data as { action: string; details: object }[]).map(({ action, details }) => [
      action,
      details,
    ]);
    expect(actions).toEqual([
      ['unblock', {}],
      ['block', { note: 'leaked' }],
    ]);
  });

  test('that the API blocks is refused at once, and an ordinary subject is not an administrator', async () => {
    const { token, id } = await newSubject('blocked by API');
    const other = await newSubject('another');
    const block = (by: string) => box.post(`/admin/subjects/${id}/block`, { note: 'leaked' }, withKey(by));
    expect((await block(other.token)).status).toBe(403);
    const admin = await issuer.sign({ sub: 'operator', environment: 'operations' });
    expect((await block(admin)).status).toBe(200);
    const { actor } = JSON.parse((await box.run('trail', 'list', '--subject', id, '--json')).out).data[0];
    expect(actor).toEqual({ kind: 'token', name: (await listed()).find(({ sub }) => sub === 'operator')?.id });
    expect((await ask(token)).status).toBe(403);
    expect((await ask(other.token)).status).toBe(200);
    expect((await box.post(`/admin/subjects/${id}/unblock`, {}, withKey(admin))).status).toBe(200);
    expect((await ask(token)).status).toBe(200);
  });

  test('that does not exist is not found, and an error does not repeat a token that was sent as an ID', async () => {
    const unknown = `subject_${'0'.repeat(32)}`;
    expect((await box.get(`/admin/subjects/${unknown}`)).status).toBe(404);
    expect((await box.post(`/admin/subjects/${unknown}/block`, {})).status).toBe(404);
    const { code, err } = await box.run('subjects', 'show', await issuer.sign());
    expect(code).toBe(1);
    expect(err).not.toContain('eyJ');
  });

  test('is listed in pages, newest first', async () => {
    await newSubject('older');
    await newSubject('newer');
    const [first, ...rest] = await listed();
    expect(first?.sub).toBe('newer');
    const { data } = (await (await box.get(`/admin/subjects?limit=1&before=${first?.id}`)).json()) as { data: Shown[] };
    expect(data).toEqual(rest.slice(0, 1));
    for (const [limit, more] of [
      [1, true],
      [rest.length, true],
      [rest.length + 1, false],
    ] as const) {
      expect(await (await box.get(`/admin/subjects?limit=${limit}`)).json()).toMatchObject({ has_more: more });
    }
    expect((await box.get('/admin/subjects?before=x')).status).toBe(400);
  });
});

describe('a kept answer', () => {
  test('is replayed to the same subject with another token, and to no other caller', async () => {
    const name = { 'idempotency-key': 'one' };
    const first = await ask(await issuer.sign({ sub: 'repeater' }), name);
    const { id } = await answerOf(first);
    const again = await ask(await issuer.sign({ sub: 'repeater', jti: 'of the next hour' }), name);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect((await answerOf(again)).id).toBe(id);
    const other = await ask(await issuer.sign({ sub: 'somebody else' }), name);
    expect(other.headers.get('x-signalbox-replayed')).toBeNull();
    expect((await answerOf(other)).id).not.toBe(id);
  });
});

const grouped = useSignalbox(() => ({
  policy: tokenPolicy(
    issuer,
    'team: claims.team\n',
    'teams:\n  - { name: search, models: [toy] }\n  - { name: legal, budgets: [{ limit_credits: 1, window: day }] }\n',
  ),
}));

describe('the team of a subject', () => {
  const askIn = async (team?: string) => {
    const { headers } = withKey(await issuer.sign({ sub: `of ${team}`, team }));
    return await grouped.post('/v1/chat/completions', HELLO, { headers });
  };

  test('limits what its tokens may use, and counts their usage', async () => {
    expect((await askIn('search')).status).toBe(200);
    expect((await askIn('legal')).status).not.toBe(200);
    const usage = await grouped.get('/admin/usage?by=team');
    expect(await usage.json()).toMatchObject({
      groups: [{ group: { team_id: expect.stringMatching(/^team_/) }, charges: 1 }],
    });
  });

  test('must exist, and the token must name it; otherwise the token is refused', async () => {
    for (const team of ['nobody', '', undefined]) {
      const refused = await askIn(team);
      expect([refused.status, (await answerOf(refused)).error?.code]).toEqual([401, 'invalid_api_key']);
    }
  });
});
