import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import type { ContentPolicy } from '../../src/core/policy/content.ts';
import { CONTENT_MAX, recordContent } from '../../src/gateway/records/contents.ts';
import { openRecords } from '../../src/gateway/records/records.ts';
import { sqlContents } from '../../src/store/sql/records/contents.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../src/store/sqlite/records/schema.ts';
import { ANSWERS } from '../support/answer-schemas.ts';
import { waitFor } from '../support/answers.ts';
import { chatRequest } from '../support/model-request.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The text of requests is not stored unless the policy says whose text, which part of it, and for how long. */
const upstream = useUpstream();
const running: Signalbox[] = [];

afterEach(async () => {
  upstream.behave({});
  await Promise.all(running.splice(0).map((box) => box.stop()));
});

async function start(more: string): Promise<Signalbox> {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  running.push(box);
  return box;
}

interface Kept {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[] | null;
  readonly answer: readonly { readonly content: string; readonly tool_calls?: readonly unknown[] }[] | null;
  readonly is_cut: boolean;
  readonly kept_until: string;
}

const say = (content: unknown) => [{ role: 'user', content }];

async function chat(box: Signalbox, body: object, key = box.key): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await box.post('/v1/chat/completions', { model: 'best', ...body }, { headers });
  await response.text();
  return response.headers.get('x-signalbox-decision-id')!;
}

async function kept(box: Signalbox, decision: string): Promise<Kept | null> {
  const response = await box.get(`/admin/decisions/${decision}/content`);
  return response.status === 200 ? ((await response.json()) as Kept) : null;
}

const DEBUG = `records:
  content:
    match: key.labels.debug == "yes"
`;

describe('by default', () => {
  test('no text is stored, and there is nothing to read', async () => {
    const box = await start('');
    upstream.behave({ text: 'The answer.' });
    const decision = await chat(box, { messages: say('The question.') });
    expect(await kept(box, decision)).toBeNull();
    const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
    expect(db.query('SELECT count(*) AS n FROM contents').get()).toEqual({ n: 0 });
    db.close();
  });
});

describe('a policy that stores the text of some requests', () => {
  test('stores only their text, in JSON and in streams, with personal data removed', async () => {
    const box = await start(DEBUG);
    const key = await box.makeKey('--label', 'debug=yes');
    upstream.behave({ text: ['Write to ada@exam', 'ple.com, or call +49 30 123', '45678.'] });
    const messages = say('My card is 4111 1111 1111 1111 and my key sk-proj-Abcdefghijkl0123.');
    for (const stream of [false, true]) {
      const decision = await chat(box, { messages, stream }, key);
      const found = await waitFor(() => kept(box, decision));
      expect(found.prompt).toEqual(say('My card is [card] and my key [secret].'));
      expect(found.answer).toEqual([{ index: 0, content: 'Write to [email], or call [phone].' }] as never);
      expect([...Value.Errors(ANSWERS.KeptContent, found)]).toEqual([]);
      expect(found.is_cut).toBe(false);
      const days = (Date.parse(found.kept_until) - Date.now()) / 86_400_000;
      expect(Math.round(days * 100) / 100).toBe(7);
      expect(await kept(box, await chat(box, { messages, stream }))).toBeNull();
    }
    // The log says who has read the text, but does not contain the text.
    const read = await waitFor(() => box.lines.find((line) => line.includes('stored content was read')));
    expect(read).toContain('"key":"test00000001"');
    expect(box.lines.join('\n')).not.toContain('[card]');
  });

  test('stores only the prompt or the answer, and removes other kinds of data, if the policy says so', async () => {
    const box = await start('records: { content: { keep: [answer], redact: [phone], retention_days: 30 } }\n');
    upstream.behave({ text: 'ada@example.com, +49 30 12345678' });
    const found = await waitFor(async () => kept(box, await chat(box, { messages: say('Hello') })));
    expect(found).toMatchObject({ prompt: null, answer: [{ content: 'ada@example.com, [phone]' }] });
    expect(Math.round((Date.parse(found.kept_until) - Date.now()) / 86_400_000)).toBe(30);
  });

  test('stores tool calls, reasoning, and the part of an answer before an interruption', async () => {
    const box = await start('records: { content: {} }\n');
    const tools = [{ type: 'function', function: { name: 'mail' } }];
    upstream.next({ reasoning: 'Hm.', toolCalls: [{ name: 'mail', arguments: '{"to":"ada@example.com"}' }] });
    const called = await waitFor(async () => kept(box, await chat(box, { messages: say('Hello'), tools })));
    expect(called.answer).toMatchObject([
      { reasoning: 'Hm.', tool_calls: [{ name: 'mail', arguments: '{"to":"[email]"}' }] },
    ]);
    upstream.next({ text: ['Half ', 'of ', 'it'], cutAfter: 3 });
    const broken = await waitFor(async () => kept(box, await chat(box, { messages: say('Hello'), stream: true })));
    expect(broken.answer?.[0]?.content).toStartWith('Half');
    const part = { type: 'file', file: { file_data: `data:application/pdf;base64,${'A'.repeat(5_000)}` } };
    // The model of this test reads no files, so no request was sent and nothing is stored.
    expect(await kept(box, await chat(box, { messages: say([part]) }))).toBeNull();
  });

  test('stores nothing if the evaluation of its condition fails', async () => {
    const box = await start(`records: { content: { match: 'double(key.labels.level) > 1.0' } }\n`);
    expect(await kept(box, await chat(box, { messages: say('Hello') }))).toBeNull();
  });

  test('gets an error with the location of a mistake', async () => {
    const wrong = 'records:\n  content: { match: request.user == "x", keep: [prmpt], retention_days: 0, day: 7 }\n';
    const error = await start(wrong).then(
      () => '',
      (cause: Error) => cause.message,
    );
    for (const said of [
      '`request` has no field `user`',
      'records.content.keep[0]',
      'retention_days',
      '`records.content` has no key `day`',
    ]) {
      expect(error).toContain(said);
    }
  });
});

describe('the sink', () => {
  const policy = (over: Partial<ContentPolicy> = {}): ContentPolicy => ({
    match: null,
    keepsPrompt: true,
    keepsAnswer: true,
    redact: ['email', 'card'],
    isOwnReadable: false,
    days: 7,
    ...over,
  });
  const caller = { keyId: 'key', labels: {} };
  /** Writes of this table can be made without a database. */
  const TABLE = sqlContents({ query: async () => [], commit: async () => {} });
  const folder = temporaryFolder();
  let time = Date.UTC(2026, 10, 20);
  const opened = async (file: string) => {
    const store = await openSqlite(join(folder, file), [recordsMigrations]);
    return { store, records: openRecords({ store, tables: store.records, now: () => time }) };
  };

  test('stores a limited length of prompt and answer, marks cut texts, and never cuts personal data that it should remove', async () => {
    const { store, records } = await opened('cut.db');
    const email = 'ada.lovelace@example.com';
    for (const [at, shift] of [...email].map((_, i) => [i + 1, i] as const)) {
      // The limit is tried at every position within the address.
      const filler = 'x '.repeat(CONTENT_MAX / 2).slice(0, CONTENT_MAX - shift - 1);
      const request = {
        model: 'auto',
        messages: [{ role: 'user' as const, content: `${filler} ${email} ${'y '.repeat(2_000)}` }],
      };
      const listener = recordContent(TABLE, policy(), chatRequest(request), 'auto', caller)!;
      for (let sent = 0; sent < 40; sent++)
        listener.add([{ type: 'text', choice: 0, text: `${'z '.repeat(5_000)}${email} ` }]);
      await store.commit(listener.writes(at, time));
      const found = (await records.findContent(at))!;
      expect(found.isCut).toBe(true);
      const [prompt, answer] = [JSON.stringify(found.prompt), JSON.stringify(found.answer)];
      for (const side of [prompt, answer]) {
        expect(side.length).toBeLessThan(CONTENT_MAX + 200);
        expect(side).not.toContain('lovelace');
      }
    }
    await store.close();
  });

  test('leaves out media of any size', async () => {
    const { store, records } = await opened('media.db');
    const data = 'A'.repeat(3_000_000);
    const content = [
      { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'input_audio' as const, input_audio: { data, format: 'wav' } },
      { type: 'text' as const, text: 'What is this?' },
    ];
    const listener = recordContent(
      TABLE,
      policy(),
      chatRequest({ model: 'auto', messages: [{ role: 'user', content }] }),
      'auto',
      caller,
    )!;
    await store.commit(listener.writes(1, time));
    const found = (await records.findContent(1))!;
    expect(found.isCut).toBe(false);
    expect(JSON.stringify(found.prompt)).toContain('What is this?');
    expect(JSON.stringify(found.prompt)).toContain('[3000000 characters of media]');
    expect(JSON.stringify(found.prompt).length).toBeLessThan(400);
    await store.close();
  });

  test('deletes each text at its own time, even if the policy has changed since', async () => {
    const { store, records } = await opened('prune.db');
    const request = { model: 'auto', messages: [{ role: 'user' as const, content: 'Hello' }] };
    for (let id = 1; id <= 100; id++) {
      const days = id % 2 === 0 ? 7 : 30;
      await store.commit(
        recordContent(TABLE, policy({ days }), chatRequest(request), 'auto', caller)!.writes(id, time),
      );
    }
    const rows = () => store.query<{ n: number }>({ sql: 'SELECT count(*) AS n FROM contents' });
    time += 8 * 86_400_000;
    // The text has expired, so it is not shown, even before it is deleted.
    expect(await records.findContent(2)).toBeNull();
    expect(await records.findContent(1)).not.toBeNull();
    await records.prune(30 * 86_400_000);
    expect(await rows()).toEqual([{ n: 50 }]);
    time += 30 * 86_400_000;
    await records.prune(30 * 86_400_000);
    expect(await rows()).toEqual([{ n: 0 }]);
    await store.close();
  });

  test('leaves no part of a deleted text in the database file', async () => {
    const { store } = await opened('gone.db');
    const words = 'nobody must read this any more';
    const request = { model: 'auto', messages: [{ role: 'user' as const, content: `${words} `.repeat(2_000) }] };
    for (let id = 1; id <= 40; id++)
      await store.commit(
        recordContent(TABLE, policy({ days: 1 }), chatRequest(request), 'auto', caller)!.writes(id, time),
      );
    await store.close();
    const holds = () =>
      ['gone.db', 'gone.db-wal']
        .map((name) => join(folder, name))
        .some((file) => existsSync(file) && readFileSync(file, 'latin1').includes('nobody must read'));
    expect(holds()).toBe(true);
    time += 2 * 86_400_000;
    const again = await opened('gone.db');
    await again.records.prune(30 * 86_400_000);
    // The pruned text is gone from the files even while the database is open.
    expect(holds()).toBe(false);
    await again.store.close();
    expect(holds()).toBe(false);
  });

  test('never makes a settlement fail, whatever text it gets', () => {
    const circular: { role: 'user'; content: string; self?: unknown } = { role: 'user', content: 'x' };
    circular.self = circular;
    expect(
      recordContent(TABLE, policy(), chatRequest({ model: 'auto', messages: [circular] }), 'auto', caller)!.writes(
        1,
        time,
      ),
    ).toEqual([]);
  });
});
