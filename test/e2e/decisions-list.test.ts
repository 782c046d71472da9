import { describe, expect, test } from 'bun:test';
import { expectError } from '../support/error-contract.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { chat, makeKey, PATIENCE, start, USAGE, upstream, useServers } from './ledger-support.ts';

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
      const text = (await box.run('decisions', 'list', '--limit', '2')).out;
      expect(text).toContain(ids[0]!);
      expect(text).toContain(`The list continues. For the next page, add: --after ${ids[1]}`);
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
