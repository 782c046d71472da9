import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { effort } from '../../deep/effort.ts';
import { startServers } from '../../support/postgres-servers.ts';
import { connect } from '../../support/raw-http.ts';
import { makeTestKey, type Signalbox } from '../../support/signalbox.ts';
import { useSignalbox } from '../../support/use.ts';
import { holds, JSON_TYPE, POLICY } from './support.ts';

/** https://github.com/BerriAI/litellm/security/advisories/GHSA-r75f-5x8p-qvmc: the bearer value was part of a SQL text. */
describe('CVE-2026-42208, SQL in the bearer value', () => {
  const { runs, seed, proved } = effort('SQL in bearer values', 150, 3_000);
  const CANARY = 'canary-name-of-a-key';
  const KEY_ID = 'test00000042';
  const env = { SIGNALBOX_API_KEY: makeTestKey(KEY_ID) };
  const box = useSignalbox({ policy: POLICY, env });

  const SQL = [
    ...[
      "'",
      '"',
      '`',
      ';',
      '--',
      '#',
      '/*',
      '*/',
      '\\',
      '%',
      '_',
      '$1',
      '$$',
      '?',
      ')',
      '(',
      '%27',
      "''",
      '\u00a0',
      '\u00ff',
    ],
    ...[
      ' OR 1=1',
      " OR ''='",
      ' UNION SELECT id, hash, name FROM keys',
      '; DROP TABLE keys',
      "; UPDATE keys SET scopes='admin'",
    ],
    ...[
      ' OR (SELECT pg_sleep(8)) IS NOT NULL',
      " OR id LIKE '%",
      ' IN (SELECT hash FROM keys)',
      "E'\\x27'",
      "x'00'",
      'NULL',
      'true',
    ],
  ];
  const fragment = fc.oneof(fc.constantFrom(...SQL), fc.string({ unit: 'grapheme-ascii', maxLength: 12 }));
  /** Also values that begin as a key of this server, or that have its whole length. */
  const bearer = fc
    .tuple(
      fc.constantFrom('', 'sb_live_', `sb_live_${KEY_ID}_`, `sb_live_${KEY_ID}_${'A'.repeat(43)}`, `${KEY_ID}`),
      fc.array(fragment, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(1, 1, 1, 100),
    )
    .map(([start, parts, times]) => start + parts.join('').repeat(times).slice(0, 12_000))
    .filter((text) => text.trim() !== '');
  type Ask = (bearer: string) => Promise<{ readonly status: number; readonly text: string }>;
  const isSafe =
    (ask: Ask) =>
    async (value: string): Promise<boolean> => {
      const { status, text } = await ask(value);
      return status === 401 && !/canary|sqlite|syntax error|near \\?"|select /i.test(text);
    };

  const WAYS = [
    ['POST', '/v1/chat/completions', 'authorization'],
    ['POST', '/v1/messages', 'x-api-key'],
    ['GET', '/v1/models', 'api-key'],
    ['GET', '/admin/keys', 'authorization'],
  ] as const;
  let nth = 0;
  const askAt =
    ({ url }: Signalbox): Ask =>
    async (value) => {
      const [method, path, name] = WAYS[nth++ % WAYS.length]!;
      const headers = { ...JSON_TYPE, [name]: name === 'authorization' ? `Bearer ${value}` : value };
      const response = await fetch(url + path, { method, headers, ...(method === 'POST' && { body: '{}' }) });
      return { status: response.status, text: await response.text() };
    };
  const withCanary = (server: Signalbox) => server.post('/admin/keys', { name: CANARY });

  test('any value gets 401 on SQLite, and the answer and the database show that no statement read it', async () => {
    expect((await withCanary(box)).status).toBe(200);
    const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
    const named = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    // A server writes what it reports of itself at its own times.
    const tables = named.filter(({ name }) => name !== 'instance_reports');
    const contents = () =>
      tables.map(({ name }) => [name, Bun.hash(JSON.stringify(db.query(`SELECT * FROM "${name}"`).values()))]);
    const before = contents();
    expect(await holds(bearer, isSafe(askAt(box)), { runs, seed })).toBe(true);
    expect(contents()).toEqual(before);
    db.close();
    proved(`${runs} bearer values with SQL got 401 and changed no table`);
  }, 60_000);

  test('any value gets 401 on PostgreSQL, and changes nothing', async () => {
    await using fleet = await startServers(1, { policy: POLICY, env });
    const [server] = fleet.servers;
    expect((await withCanary(server!)).status).toBe(200);
    const name = fleet.url.split('/').at(-1);
    const contents = () =>
      fleet.database.run("SELECT md5(string_agg(k::text, '' ORDER BY k::text)), count(*) FROM keys k", name);
    const before = await contents();
    expect(await holds(bearer, isSafe(askAt(server!)), { runs: Math.min(runs, 300), seed })).toBe(true);
    expect(await contents()).toEqual(before);
  }, 60_000);

  test('bytes that no client sends, such as NUL, and values beyond all limits are refused as well', async () => {
    for (const value of [
      "\0' OR 1=1 --",
      "' OR\u0001 1=1",
      "'\t OR 1=1",
      `${"'".repeat(40_000)}`,
      '\u0080\u2028',
      '',
    ]) {
      const connection = await connect(box.url);
      const lines = [
        'GET /v1/models HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${value}`,
        'Connection: close',
      ];
      await connection.write(`${lines.join('\r\n')}\r\n\r\n`);
      const text = await Promise.race([connection.closed, Bun.sleep(2_000).then(() => 'open')]);
      connection.close();
      expect(text === '' || /^HTTP\/1\.1 (?:400|401|431) /.test(text)).toBe(true);
      expect(text).not.toContain(CANARY);
    }
  });

  test('a lookup that joins the value into its SQL is found by the law', async () => {
    const db = new Database(':memory:');
    db.run('CREATE TABLE keys (id TEXT, hash TEXT, name TEXT)');
    db.run(`INSERT INTO keys VALUES ('${KEY_ID}', 'x', '${CANARY}')`);
    const naive: Ask = async (value) => {
      try {
        const row = db.query(`SELECT id, hash, name FROM keys WHERE hash = '${value}'`).get();
        return { status: row ? 200 : 401, text: JSON.stringify(row) };
      } catch (cause) {
        return { status: 401, text: String(cause) };
      }
    };
    expect(await holds(bearer, isSafe(naive), { runs, seed })).toBe(false);
  });
});
