import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, withKey } from '../support/signalbox.ts';
import { chat, makeKey, PATIENCE, policyWith, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** Lists of decisions: the running server and the command read the same records. */
useServers();

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly has_more: boolean;
}

async function served(box: Signalbox, query: string): Promise<Page> {
  const response = await box.get(`/admin/decisions${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

async function printed(box: Signalbox, ...args: string[]): Promise<Page> {
  const { out, err, code } = await box.run('decisions', 'list', ...args, '--json');
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return JSON.parse(out) as Page;
}

describe('GET /admin/decisions and signalbox decisions list', () => {
  test(
    'the API and the command list the same decisions with every filter, newest first, in pages',
    async () => {
      const box = await start();
      const search = await makeKey(box, '--label', 'team=search');
      const legal = await makeKey(box, '--label', 'team=legal');
      upstream.behave(USAGE);
      const ids: string[] = [];
      for (const { key } of [search, legal, search]) {
        const { status, headers } = await chat(box, key);
        // A failed decision is listed as well, but not as completed.
        expect(status).toBe(200);
        ids.unshift(headers.get('x-signalbox-decision-id')!);
      }
      const filters: readonly (readonly [string, readonly string[], readonly string[]])[] = [
        ['', [], ids],
        [`key=${legal.id}`, ['--key', legal.id], [ids[1]!]],
        ['label=team%3Dsearch', ['--label', 'team=search'], [ids[0]!, ids[2]!]],
        ['model=best&status=completed&operation=chat', ['--model', 'best', '--status', 'completed'], ids],
        ['status=failed', ['--status', 'failed'], []],
        ['task=translation', ['--task', 'translation'], []],
        ['from=2026-01-01', ['--from', '2026-01-01'], ids],
        ['to=2026-01-02', ['--to', '2026-01-02'], []],
        [`after=${ids[0]}&limit=1`, ['--after', ids[0]!, '--limit', '1'], [ids[1]!]],
      ];
      for (const [query, args, expected] of filters) {
        const page = await served(box, `?${query}`);
        expect([query, page.data.map(({ id }) => id)]).toEqual([query, [...expected]]);
        expect(await printed(box, ...args)).toEqual(page);
        expect(await printed(box, ...args, '--offline')).toEqual(page);
      }
      // Two decisions are newer than the first.
      const since = (id: string) => served(box, `?newer_than=${id}`);
      expect((await since(ids[2]!)).data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      expect(await since(ids[0]!)).toMatchObject({ data: [], has_more: false, next_after: null });
      const { data, has_more } = await served(box, '?limit=1');
      expect(has_more).toBe(true);
      expect(data[0]).toMatchObject({
        key_id: search.id,
        operation: 'chat',
        status: 'completed',
        model: 'best',
        stream: false,
        labels: { team: 'search' },
        metadata: {},
        attempts: 1,
        provider: expect.any(String),
        error: null,
        charged_usd: expect.any(String),
        input_tokens: expect.any(Number),
        output_tokens: expect.any(Number),
      });
      expect(new Date(String(data[0]!.time)).getTime()).toBeGreaterThan(Date.now() - 60_000);
      const { out } = await box.run('decisions', 'list', '--limit', '2');
      expect(out).toContain(ids[0]!);
    },
    PATIENCE,
  );

  test(
    'the last line of a page is the command of the next page, with all words of the command',
    async () => {
      const box = await start();
      const { key } = await makeKey(box, '--label', 'purpose=a b', '--name', 'reports');
      upstream.behave(USAGE);
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.unshift((await chat(box, key)).headers.get('x-signalbox-decision-id')!);
      const given = ['decisions', 'list', '--limit=1', '--label', 'purpose=a b', '--key', 'reports'];
      let words: readonly string[] = given;
      for (const id of ids) {
        const { out } = await runHere(words.includes('--data') ? words : [...words, '--data', box.data]);
        expect(out).toContain(id);
        const [, line = ''] = /For the next page: \S+ (.+)$/m.exec(out) ?? [];
        expect([id, line === '']).toEqual([id, id === ids.at(-1)]);
        if (line === '') return;
        // A shell reads the words as they were given.
        words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
        expect(words).toEqual([...given, '--data', box.data, '--after', id]);
      }
    },
    PATIENCE,
  );

  test(
    'the status of an entry can be filtered by its HTTP status, and the command shows it',
    async () => {
      const box = await start();
      const { key } = await makeKey(box);
      upstream.behave(USAGE);
      await chat(box, key);
      const unknown = await box.post('/v1/chat/completions', { model: 'imaginary', messages: [] }, withKey(key));
      const missing = await box.post(
        '/v1/chat/completions',
        { model: 'imaginary', messages: [{ role: 'user', content: 'Hello.' }] },
        withKey(key),
      );
      const idOf = (answer: Response) => answer.headers.get('x-request-id')!;
      for (const [status, id] of [
        ['400', idOf(unknown)],
        ['404', idOf(missing)],
      ] as const) {
        const page = await served(box, `?status=${status}`);
        expect(page.data).toMatchObject([{ id, status: 'refused', http_status: Number(status) }]);
        expect(await printed(box, '--status', status)).toEqual(page);
        expect(await printed(box, '--status', status, '--offline')).toEqual(page);
        const [head = '', row = ''] = (await box.run('decisions', 'list', '--status', status)).out.split('\n');
        expect(row.slice(head.indexOf('HTTP')).trim().split(/\s+/)[0]).toBe(status);
      }
      expect((await served(box, '?status=completed')).data).toMatchObject([{ http_status: 200 }]);
      expect((await served(box, '?status=502')).data).toEqual([]);
    },
    PATIENCE,
  );

  test(
    'a filter by a key accepts its name, and a filter that names no key and no team says so',
    async () => {
      const box = await start();
      const { key, id } = await makeKey(box, '--name', 'reports');
      upstream.behave(USAGE);
      const decision = (await chat(box, key)).headers.get('x-signalbox-decision-id')!;
      await box.run('teams', 'create', '--name', 'legal');
      for (const name of [id, 'reports']) {
        expect((await served(box, `?key=${name}`)).data.map((one) => one.id)).toEqual([decision]);
      }
      const list = (...args: string[]) => box.run('decisions', 'list', ...args);
      for (const more of [[], ['--offline']]) {
        const unknown = await list('--key', 'raports', ...more);
        expect([unknown.code, unknown.out]).toEqual([0, 'No request matches.\n']);
        expect(unknown.err).toContain('No key has the ID or name `raports`. Did you mean `reports`?');
        expect((await list('--team', 'legl', ...more)).err).toContain('`legl`. Did you mean `legal`?');
        expect((await list('--team', 'legal', ...more)).err).toBe('');
        expect((await list('--key', 'reports', '--status', 'failed', ...more)).err).toBe('');
      }
      // A key that sees only its own requests does not learn which keys exist.
      const { key: own } = await makeKey(box, '--scope', 'report');
      const answer = await box.get('/admin/decisions?key=raports', withKey(own));
      expect(answer.status).toBe(200);
    },
    PATIENCE,
  );

  test(
    '`decisions show` prints the time to the second, and what an alias stands for',
    async () => {
      const selector = 'selectors: { quick: { strategy: auto, aliases: [nickname] } }\n';
      const box = await start({ policy: policyWith(selector) });
      const { key } = await makeKey(box);
      upstream.behave(USAGE);
      const id = (await chat(box, key, { model: 'nickname' })).headers.get('x-signalbox-decision-id')!;
      const found: unknown = JSON.parse((await box.run('decisions', 'show', id, '--json')).out);
      expect(found).toMatchObject({ alias: 'nickname', model: 'best' });
      const { out } = await box.run('decisions', 'show', id);
      expect(out).toMatch(/^alias +nickname stands for quick$/m);
      const verbose = (await box.run('decisions', 'show', id, '--verbose')).out;
      for (const [name, text] of [
        ['time', out],
        ['time', verbose],
        ['created', verbose],
      ] as const) {
        expect(text).toMatch(new RegExp(`^${name} +\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2} UTC$`, 'm'));
      }
    },
    PATIENCE,
  );

  test(
    'the API and the command refuse an unknown filter by its name, and keys without the scope admin',
    async () => {
      const box = await start();
      for (const [query, param] of [
        ['status=done', 'status'],
        ['operation=sing', 'operation'],
        ['label=team', 'label'],
        ['from=yesterday', 'from'],
        ['from=2026-11-20&to=2026-11-20', 'to'],
        ['after=7', 'after'],
        ['limit=0', 'limit'],
        ['limit=501', 'limit'],
      ] as const) {
        await expectError(await box.get(`/admin/decisions?${query}`), 'invalid_value', param);
        const args = query.split('&').flatMap((part) => [`--${part.split('=')[0]}`, part.slice(part.indexOf('=') + 1)]);
        const { code, err } = await box.run('decisions', 'list', ...args);
        expect([code, err]).toEqual([1, expect.stringContaining(`--${param} `)]);
      }
      const { key } = await makeKey(box, '--scope', 'chat');
      const headers = { authorization: `Bearer ${key}` };
      await expectError(await box.get('/admin/decisions', { headers }), 'insufficient_permissions');
    },
    PATIENCE,
  );
});
