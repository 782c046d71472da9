import { expect, test } from 'bun:test';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Lists with rows that are as large as callers can make them. */
const MIB = 1_048_576;
/** Rows of each list; with the models of the test, a page has room for 67 of them. */
const ROWS = 75;
const upstream = useUpstream();
const box = useSignalbox({ policy: testPolicy({ up: upstream.url }, { m: { endpoints: ['up'] } }) });

interface ListBody {
  readonly data: readonly { readonly id: string | number }[];
  readonly has_more: boolean;
}

/** Reads a list to its last page. */
async function pagesOf(path: string, cursor: 'after' | 'before', limit: number | null) {
  const pages: { readonly bytes: number; readonly body: ListBody }[] = [];
  for (let place = ''; ; ) {
    const query = [limit === null ? '' : `limit=${limit}`, place].filter((one) => one !== '').join('&');
    const text = await (await box.get(`${path}?${query}`)).text();
    const body = JSON.parse(text) as ListBody;
    pages.push({ bytes: Buffer.byteLength(text), body });
    if (!body.has_more) return pages;
    place = `${cursor}=${body.data.at(-1)?.id}`;
  }
}

test('the pages of a list of large rows end at 1 MiB, and the cursor returns each row once', async () => {
  const models = Array.from({ length: 150 }, (_, at) => `${at}`.padStart(100, 'm'));
  for (const path of ['/admin/keys', '/admin/users', '/admin/teams'])
    for (let at = 0; at < ROWS; at++) expect((await box.post(path, { name: `large ${at}`, models })).status).toBe(200);
  for (const [path, cursor, limit, least] of [
    ['/admin/keys', 'after', 1_000, ROWS],
    ['/admin/keys', 'after', null, ROWS],
    ['/admin/users', 'after', 1_000, ROWS],
    ['/admin/teams', 'after', 1_000, ROWS],
    ['/admin/trail', 'before', 1_000, 200],
  ] as const) {
    const pages = await pagesOf(path, cursor, limit);
    expect([path, pages.length > 1]).toEqual([path, true]);
    for (const { bytes, body } of pages) {
      // The brackets and the commas between the rows are added.
      expect(bytes).toBeLessThan(MIB + 2_000);
      expect(body.data.length).toBeGreaterThan(0);
    }
    const ids = pages.flatMap(({ body }) => body.data.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(least);
  }
  const { out } = await box.run('keys', 'list', '--json');
  expect((JSON.parse(out) as ListBody).data.length).toBeGreaterThanOrEqual(ROWS);
});

test('a command prints the newest 100 entries of the audit trail, or as many as its limit, over several pages', async () => {
  const entries = async (...flags: string[]) =>
    JSON.parse((await box.run('trail', 'list', '--json', ...flags)).out) as ListBody;
  const usual = await entries();
  expect([usual.data.length, usual.has_more]).toEqual([100, true]);
  const { data } = await entries('--limit', '200');
  expect(new Set(data.map(({ id }) => id)).size).toBe(200);
});
