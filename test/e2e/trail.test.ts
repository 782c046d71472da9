import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { HandTimers } from '../support/hand-timers.ts';
import { testPolicy } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Who did what, when and from where, as an operator and an auditor find it in the audit trail. */
const policy = (more = '') =>
  testPolicy({ first: 'http://127.0.0.1:9' }, { best: { endpoints: ['first'], price: { input: 1, output: 4 } } }, more);
const PROXIES = 'gateway: { trusted_proxies: ["127.0.0.0/8"] }\n';
const folder = writePolicy(policy(PROXIES));
const timers = new HandTimers();
let box: Signalbox;

beforeAll(async () => {
  box = await startSignalbox({ args: ['--policies', folder], env: { TEST_UPSTREAM_KEY: 'none' }, timers });
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Entry {
  readonly id: number;
  readonly time: string;
  readonly actor: { readonly kind: string; readonly name: string | null };
  readonly from: string | null;
  readonly action: string;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly key_id: string | null;
  readonly details: Record<string, unknown>;
  readonly is_erased: boolean;
}
const trail = async (query = '') => {
  const { data } = (await (await box.get(`/admin/trail${query}`)).json()) as { data: Entry[] };
  return data;
};
const FORWARDED = { headers: { 'x-forwarded-for': '203.0.113.7' } };
const headFile = () => join(box.data, 'trail.head');
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Verifies a copy of the data folder that was changed without the triggers. */
async function verifyCopy(change: string, ...flags: string[]) {
  const copy = temporaryFolder();
  try {
    expect((await box.run('ledger', 'backup', join(copy, 'signalbox.db'))).code).toBe(0);
    cpSync(headFile(), join(copy, 'trail.head'));
    const db = new Database(join(copy, 'signalbox.db'));
    for (const trigger of ['trail_is_not_changed', 'trail_is_not_shortened', 'trail_words_are_not_changed'])
      db.run(`DROP TRIGGER ${trigger}`);
    db.run(change);
    db.close();
    return await runHere(['trail', 'verify', '--data', copy, ...flags]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

test('an entry has the author, the action and the address: a caller after a trusted proxy, or the user of a terminal', async () => {
  const made = await box.post('/admin/keys', { name: 'app' }, FORWARDED);
  const { id } = (await made.json()) as { id: string };
  // The command waits until the server polls.
  const looking = setInterval(() => timers.fire(), 20);
  expect((await box.run('keys', 'grant', id, '5', '--note', 'invoice')).code).toBe(0);
  clearInterval(looking);
  const [grant, create] = await trail(`?key=${id}`);
  const subject = { kind: 'key', id };
  expect(create).toMatchObject({ actor: { kind: 'key' }, from: '203.0.113.7', action: 'create', subject, key_id: id });
  expect(grant).toMatchObject({
    actor: { kind: 'cli' },
    action: 'grant',
    subject,
    details: { credits: 5, note: 'invoice' },
  });
  const listed = await box.run('trail', 'list', '--subject', id);
  expect(listed.out).toContain('203.0.113.7');
  expect(JSON.parse((await box.run('trail', 'list', '--subject', id, '--json')).out).data).toEqual([grant, create]);
});

test('the list is filtered by actor, action and time, by the API and by a command', async () => {
  const made = await box.post('/admin/keys', { name: 'filtered' });
  const { id } = (await made.json()) as { id: string };
  const [{ actor, time } = { actor: null, time: '' }] = await trail(`?key=${id}`);
  const by = String(actor?.name);
  const end = new Date(Date.parse(time) + 1).toISOString();
  const period = `from=${time}&to=${end}`;
  expect((await trail(`?actor=${by}&action=create&${period}`)).map(({ subject }) => subject.id)).toContain(id);
  const isLoad = ({ action, actor: { kind } }: Entry) => action === 'load' && kind === 'server';
  const loads = await trail('?actor=server&action=load');
  expect(loads.length > 0 && loads.every(isLoad)).toBe(true);
  expect(await trail(`?subject=${id}&from=${end}`)).toEqual([]);
  expect(await trail(`?subject=${id}&to=${time}`)).toEqual([]);
  const listed = async (...flags: string[]) =>
    JSON.parse((await box.run('trail', 'list', '--json', ...flags)).out).data;
  expect(await listed('--by', 'server', '--action', 'load')).toEqual(loads);
  expect(await listed('--subject', id, '--by', by, '--from', time, '--to', end)).toEqual(await trail(`?key=${id}`));
  expect(await listed('--subject', id, '--by', 'somebody')).toEqual([]);
  await expectError(await box.get('/admin/trail?action=gran'), 'invalid_value', 'action');
  await expectError(await box.get('/admin/trail?from=yesterday'), 'invalid_value', 'from');
  const refused = await box.run('trail', 'list', '--action', 'gran');
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('--action must be one of') });
});

test('each policy that becomes active is in the audit trail with its requester; a refused policy is not', async () => {
  const [first] = (await trail()).filter(({ action }) => action === 'load');
  expect(first).toMatchObject({ actor: { kind: 'server' }, details: { cause: 'start', before: { revision: null } } });
  writeFileSync(join(folder, 'policy.yaml'), policy(`${PROXIES}records: { retention_days: 31 }\n`));
  expect((await box.post('/admin/policy/reload', undefined, FORWARDED)).status).toBe(200);
  const second = await waitFor(async () => {
    timers.fire();
    const [last] = await trail();
    return last?.action === 'load' && last.id !== first?.id ? last : null;
  });
  expect(second).toMatchObject({ from: '203.0.113.7', details: { before: { revision: first?.subject.id } } });
  expect(second.details).toMatchObject({ after: { revision: second.subject.id } });
  writeFileSync(join(folder, 'policy.yaml'), 'version: 1\nmodels: nonsense\n');
  expect((await box.post('/admin/policy/reload', undefined)).status).toBe(422);
  writeFileSync(join(folder, 'policy.yaml'), policy(`${PROXIES}records: { retention_days: 31 }\n`));
  expect((await box.post('/admin/policy/reload', undefined)).status).toBe(200);
  expect((await trail()).filter(({ action }) => action === 'load')).toHaveLength(2);
});

test('the head of the audit trail is stored in the folder each minute, and at the end of an export', async () => {
  expect(timers.intervals).toContain(60_000);
  const [{ id } = { id: 0 }] = await trail();
  timers.fire();
  await waitFor(() => linesOf(readFileSync(headFile(), 'utf8'))[0]?.id === id);
  const [noted] = linesOf(readFileSync(headFile(), 'utf8'));
  const exported = linesOf((await box.run('trail', 'export')).out);
  expect(exported).toHaveLength(id + 1);
  expect(exported.at(-1)).toMatchObject({ head: true, id, hash: noted?.hash });
  const verified = await box.run('trail', 'verify');
  expect(verified).toMatchObject({ code: 0, err: '' });
  expect(verified.out).toContain(`${id} entries (1 to ${id}): nothing wrong`);
  expect(verified.out).toContain(`Head: ${id} ${noted?.hash}\n1 entry confirmed by 1 noted hash.`);
});

test.each([
  ['an edit', `UPDATE trail SET facts = '{"credits":500,"note":null}' WHERE action = 'grant'`, 'it was changed'],
  [
    'an edit of words',
    "UPDATE trail_words SET words = 'bob' WHERE slot = 'by'",
    'personal data of this entry was changed (by)',
  ],
  ['words that are gone', "DELETE FROM trail_words WHERE slot = 'from'", 'was removed without an erasure'],
  ['a removal', "DELETE FROM trail WHERE action = 'grant'", 'before this entry are missing'],
  ['a removal at the start', 'DELETE FROM trail WHERE id = 1', 'no anchor says that retention deleted them'],
  ['a cut', 'DELETE FROM trail WHERE id >= (SELECT max(id) - 1 FROM trail)', 'the end of the trail was cut'],
])('the check of the audit trail finds %s', async (_, change, problem) => {
  const { code, out } = await verifyCopy(change);
  expect(out).toContain(problem);
  expect(code).toBe(2);
});

test('an earlier export of the trail proves that later entries were cut off, even if the folder has no stored head', async () => {
  const file = join(box.data, 'export.jsonl');
  writeFileSync(file, (await box.run('trail', 'export')).out);
  const cut = 'DELETE FROM trail WHERE id = (SELECT max(id) FROM trail)';
  expect((await verifyCopy(cut, '--against', file)).out).toContain('the end of the trail was cut');
  expect((await box.run('trail', 'verify', '--against', file)).code).toBe(0);
  const nothing = await box.run('trail', 'verify', '--against', join(folder, 'policy.yaml'));
  expect(nothing).toMatchObject({ code: 1 });
  expect(nothing.err).toContain('has no line with the id and hash of an entry');
});

describe('verifying the audit trail over HTTP', () => {
  const json = async (path: string) => (await (await box.get(path)).json()) as Record<string, unknown>;

  test('the audit trail is verified against the stored head of the server, and heads that the caller has', async () => {
    const report = await json('/admin/trail/verify');
    expect(report).toMatchObject({ is_whole: true, faults: [], confirmed: 1 });
    const { id, hash } = report.head as { id: number; hash: string };
    expect(await json(`/admin/trail/verify?against=${id}:${hash}`)).toMatchObject({ is_whole: true, confirmed: 1 });
    const cut = await json(`/admin/trail/verify?against=${id}:${hash}&against=${id + 5}:${hash}`);
    expect(cut).toMatchObject({
      is_whole: false,
      faults: [{ id, problem: expect.stringContaining('the end of the trail was cut') }],
    });
    await expectError(await box.get('/admin/trail/verify?against=12'), 'invalid_value', 'against');
  });

  test('the export over HTTP has the lines of the command, for a period, followed by the head', async () => {
    const exported = await box.get('/admin/trail/export');
    expect(exported.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = linesOf(await exported.text());
    const byCommand = linesOf((await box.run('trail', 'export')).out);
    expect(lines.slice(0, -1)).toEqual(byCommand.slice(0, -1));
    expect(lines.at(-1)).toMatchObject({ head: true, hash: byCommand.at(-1)?.hash });
    const none = linesOf(await (await box.get('/admin/trail/export?from=2001-01-01&to=2001-01-02')).text());
    expect(none).toMatchObject([{ head: true }]);
    await expectError(await box.get('/admin/trail/export?from=soon'), 'invalid_value', 'from');
  });

  test('pages of the audit trail follow each other with `before`, and the command prints the same', async () => {
    const all = await trail();
    const [first, second] = [
      await json('/admin/trail?limit=2'),
      await json(`/admin/trail?limit=2&before=${all[1]?.id}`),
    ];
    expect([first.data, first.has_more]).toEqual([all.slice(0, 2), true]);
    expect(second.data).toEqual(all.slice(2, 4));
    expect((await box.run('trail', 'list', '--limit', '2')).out).toContain(`--before ${all[1]?.id}\n`);
    const paged = await box.run('trail', 'list', '--limit', '2', '--before', String(all[1]?.id), '--json');
    expect(JSON.parse(paged.out).data).toEqual(all.slice(2, 4));
    expect(await json(`/admin/trail?before=${all.at(-1)?.id}`)).toMatchObject({ data: [], has_more: false });
    const kinds = (await trail('?kind=policy')).map(({ subject }) => subject.kind);
    expect(kinds).toEqual(kinds.map(() => 'policy'));
    await expectError(await box.get('/admin/trail?before=x'), 'invalid_value', 'before');
  });

  test('words are erased from the audit trail, and the name of the person who erased them is kept', async () => {
    const made = (await (await box.post('/admin/keys', { name: 'forget-me' })).json()) as { id: string };
    const erased = await box.post('/admin/trail/erase', { subject: made.id });
    expect(await erased.json()).toMatchObject({ object: 'trail.erasure', subject: made.id });
    expect((await trail(`?subject=${made.id}`))[0]).toMatchObject({ details: { name: null }, is_erased: true });
    expect((await trail())[0]).toMatchObject({ action: 'erase', actor: { kind: 'key' } });
    expect(await json('/admin/trail/verify')).toMatchObject({ is_whole: true });
    await expectError(await box.post('/admin/trail/erase', { subject: made.id }), 'not_found');
    await expectError(await box.post('/admin/trail/erase', {}), 'missing_field', 'actor_name');
  });
});

test('a reset of scores is in the audit trail', async () => {
  expect((await box.run('learn', 'reset', '--yes')).code).toBe(0);
  expect((await trail())[0]).toMatchObject({
    ...{ actor: { kind: 'cli' }, action: 'reset' },
    subject: { kind: 'learning', id: '' },
  });
});

test('erasing a key removes its texts from the trail of its changes, and the audit trail stays valid', async () => {
  const created = (await trail()).find(({ details }) => details.name === 'app');
  const id = created?.key_id ?? '';
  expect((await box.run('trail', 'erase', '--subject', id)).err).toContain('cannot be restored');
  expect(await box.run('trail', 'erase', '--subject', id, '--yes')).toMatchObject({ code: 0, err: '' });
  const entries = await trail(`?key=${id}`);
  expect(entries.map(({ details, is_erased }) => [details.name ?? details.note ?? null, is_erased])).toEqual([
    [null, true],
    [null, true],
  ]);
  expect((await trail())[0]).toMatchObject({ action: 'erase', actor: { kind: 'cli' }, subject: { kind: 'trail' } });
  const exported = (await box.run('trail', 'export')).out;
  expect(exported).not.toContain('invoice');
  expect(await box.run('trail', 'verify')).toMatchObject({ code: 0 });
  expect((await box.run('trail', 'erase', '--subject', id, '--yes')).err).toContain(
    'The audit trail has no personal data of this actor or subject.',
  );
});

test('the retention of the policy removes old entries of the trail, and leaves an anchor that the verification accepts', async () => {
  const data = temporaryFolder();
  const DAYS_31 = 31 * 86_400_000;
  const options = {
    data,
    policy: policy('records: { trail_retention_days: 30 }\n'),
    env: { TEST_UPSTREAM_KEY: 'none', SIGNALBOX_API_KEY: makeTestKey() },
  };
  const before = await startSignalbox(options);
  await before.post('/admin/keys', { name: 'old' });
  await before.stop();
  const after = await startSignalbox({ ...options, now: () => Date.now() + DAYS_31 });
  const { data: entries } = (await (await after.get('/admin/trail')).json()) as { data: Entry[] };
  expect(entries.map(({ action }) => action)).toEqual(['anchor']);
  expect(await after.run('trail', 'verify')).toMatchObject({ code: 0 });
  await after.stop();
  rmSync(data, { recursive: true, force: true });
});
