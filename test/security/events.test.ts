import { beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODEL } from '../sign-in/stage.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type EventReader, useEventReaders } from '../support/event-reader.ts';
import { startSignalbox, writePolicy } from '../support/signalbox.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests the feed of events: who sees which events, how a stream continues after a disconnect, and when it ends. */
const box = usePeople();

const bodyOf = async (response: Response) => JSON.parse(await response.text());
const QUESTION = { model: 'toy', messages: [{ role: 'user', content: 'The words of a canary' }] };

const open = useEventReaders();
const follow = (headers: Record<string, string>, url = box.url) => open(url, headers);
const followAs = (name: PersonName, more: Record<string, string> = {}) => follow({ ...box.as(name).headers, ...more });

let member: { readonly id: string; readonly key: string };
let stranger: typeof member;
beforeAll(async () => {
  const make = async (name: PersonName) =>
    bodyOf(await box.as(name).post('/admin/keys', { name: `of ${name}`, scopes: ['chat'], user: `user_${name}` }));
  [member, stranger] = [await make('member'), await make('stranger')];
});

async function ask({ key }: typeof member): Promise<string> {
  const response = await box.post('/v1/chat/completions', QUESTION, { headers: { authorization: `Bearer ${key}` } });
  await response.text();
  return response.headers.get('x-signalbox-decision-id')!;
}

const decisionsOf = (reader: EventReader) => reader.of('decision').map(({ data }) => data.id);

describe('GET /admin/events', () => {
  test('shows each person the decisions that the person may list, with names and figures and without content', async () => {
    const names = ['member', 'lead', 'auditor', 'stranger'] as const;
    const readers = await Promise.all(names.map((name) => followAs(name)));
    const [own, other] = [await ask(member), await ask(stranger)];
    const [ofMember, ofLead, ofAuditor, ofStranger] = readers;
    await waitFor(() => decisionsOf(ofAuditor!).length === 2 && decisionsOf(ofStranger!).length === 1);
    expect(readers.map(decisionsOf)).toEqual([[own], [own], [own, other], [other]]);
    expect(ofLead!.events[0]!.data).toEqual({
      id: own,
      time: expect.any(String),
      key_id: member.id,
      key_name: 'of member',
      team_id: 'team_red',
      operation: 'chat',
      model: 'toy',
      provider: 'sim',
      task: expect.any(String),
      status: 'completed',
      error: null,
      credits_consumed: expect.any(Number),
      charged_usd: expect.any(String),
      total_ms: expect.any(Number),
    });
    expect(ofMember!.text).toMatch(/^retry: 2000\nid: \S+\n\n/);
    for (const { text } of readers) expect(text).not.toContain('canary');
  });

  test('shows a report key no IDs of keys, and refuses finance and applications', async () => {
    const { key } = await bodyOf(await box.as('owner').post('/admin/keys', { name: 'figures', scopes: ['report'] }));
    const reader = await follow({ authorization: `Bearer ${key}` });
    await ask(member);
    await waitFor(() => reader.events.length === 1);
    expect(reader.events[0]!.data).toMatchObject({ key_id: null, key_name: 'of member' });
    await expectError(await box.as('finance').get('/admin/events'), 'insufficient_permissions');
    const headers = { authorization: `Bearer ${member.key}` };
    await expectError(await box.get('/admin/events', { headers }), 'insufficient_permissions');
  });

  test('continues after the last received event, or says that events are missing', async () => {
    const first = await followAs('auditor');
    const before = await ask(member);
    await waitFor(() => first.events.length === 1);
    first.stop.abort();
    const missed = [await ask(member), await ask(stranger)];
    const second = await followAs('auditor', { 'last-event-id': first.events[0]!.id });
    await waitFor(() => second.events.length === 2);
    const next = await ask(member);
    await waitFor(() => second.events.length === 3);
    expect(decisionsOf(second)).toEqual([...missed, next]);
    expect(decisionsOf(second)).not.toContain(before);
    for (const id of ['nonsense', '0123456789ab-7', first.events[0]!.id.replace(/\d+$/, '999999')]) {
      const lost = await followAs('auditor', { 'last-event-id': id });
      await waitFor(() => lost.events.length === 1);
      expect(lost.events[0]).toMatchObject({ event: 'reset', data: { time: expect.any(String) } });
      // The stream continues from this event.
      const again = await followAs('auditor', { 'last-event-id': lost.events[0]!.id });
      const own = await ask(member);
      await waitFor(() => again.events.length === 1);
      expect(decisionsOf(again)).toEqual([own]);
    }
  });

  test('begins with an ID, so that a reader that is disconnected before its first event misses nothing', async () => {
    const first = await followAs('auditor');
    await waitFor(() => first.text.endsWith('\n\n'));
    first.stop.abort();
    const missed = await ask(member);
    const id = /^id: (.+)$/m.exec(first.text)?.[1] ?? '';
    const back = await followAs('auditor', { 'last-event-id': id });
    await waitFor(() => back.events.length === 1);
    expect(decisionsOf(back)).toEqual([missed]);
  });

  test('reports active policies and refused edits, with the number of mistakes but not their text', async () => {
    const folder = writePolicy(MODEL);
    const edited = await startSignalbox({ args: ['--policies', folder] });
    const reader = await follow({ authorization: `Bearer ${edited.key}` }, edited.url);
    writeFileSync(join(folder, 'more.yaml'), 'nonsense: canary\n');
    await waitFor(() => reader.of('policy').some(({ data }) => data.result === 'refused'));
    const refused = reader.of('policy').find(({ data }) => data.result === 'refused')!;
    expect(refused.data).toMatchObject({ revision: expect.any(String), message: expect.any(String), errors: 1 });
    writeFileSync(join(folder, 'more.yaml'), 'gateway: { messages_max: 77 }\n');
    await waitFor(() => reader.of('policy').some(({ data }) => data.result === 'applied'));
    expect(reader.of('policy').at(-1)!.data.revision).not.toBe(refused.data.revision);
    expect(reader.text).not.toContain('canary');
    // A shutdown ends the streams at once.
    const began = performance.now();
    await edited.stop();
    await waitFor(() => reader.isOver);
    expect(performance.now() - began).toBeLessThan(10_000);
    rmSync(folder, { recursive: true });
  });

  test('allows one user 16 streams over all logins; a stream that ends makes room', async () => {
    const logins = await Promise.all([1, 2, 3, 4].map(() => box.signIn('lead')));
    const readers = await Promise.all(logins.flatMap(({ headers }) => [1, 2, 3, 4].map(() => follow({ ...headers }))));
    for (const login of [...logins, await box.signIn('lead')])
      await expectError(await login.get('/admin/events'), 'rate_limit_exceeded');
    await expectError(await box.as('lead').get('/admin/events'), 'rate_limit_exceeded');
    await followAs('member');
    readers[0]!.stop.abort();
    await waitFor(async () => {
      const response = await fetch(`${box.url}/admin/events`, {
        headers: box.as('lead').headers,
        signal: AbortSignal.timeout(500),
      });
      return response.status === 200;
    });
  });

  test('ends within a second after its login or its key', async () => {
    const browser = await box.signIn('newcomer');
    const reader = await follow({ ...browser.headers });
    const { data } = await bodyOf(await browser.get('/admin/logins'));
    const { key, id } = await bodyOf(await box.as('owner').post('/admin/keys', { name: 'ends', scopes: ['report'] }));
    const ofKey = await follow({ authorization: `Bearer ${key}` });
    const stays = await followAs('auditor');
    for (const login of data) await box.as('owner').send('DELETE', `/admin/logins/${login.id}`);
    await box.as('owner').post(`/admin/keys/${id}/revoke`, {});
    await waitFor(() => reader.isOver && ofKey.isOver, 1_000);
    expect(stays.isOver).toBe(false);
  });
});
