import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { effort } from '../../deep/effort.ts';
import { connect } from '../../support/raw-http.ts';
import { useSignalbox } from '../../support/use.ts';
import { type Ask, askAt, bearer, CANARY, ENV, isSafe, KEY_ID, withCanary } from './bearers.ts';
import { holds, POLICY } from './support.ts';

/** https://github.com/BerriAI/litellm/security/advisories/GHSA-r75f-5x8p-qvmc: LiteLLM inserted the bearer value into an SQL text. */
describe('CVE-2026-42208, SQL in the bearer value', () => {
  const { runs, seed, proved } = effort('SQL in bearer values', 150, 3_000);
  const box = useSignalbox({ policy: POLICY, env: ENV });

  test('any bearer value gets 401 on SQLite, and the answer and the database show that no statement contained it', async () => {
    expect((await withCanary(box)).status).toBe(200);
    const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
    const named = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    // A server may write its own reports at any time.
    const tables = named.filter(({ name }) => name !== 'instance_reports');
    const contents = () =>
      tables.map(({ name }) => [name, Bun.hash(JSON.stringify(db.query(`SELECT * FROM "${name}"`).values()))]);
    const before = contents();
    expect(await holds(bearer, isSafe(askAt(box)), { runs, seed })).toBe(true);
    expect(contents()).toEqual(before);
    db.close();
    proved(`${runs} bearer values with SQL got 401 and changed no table`);
  });

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

  test('the law finds a lookup that inserts the value into its SQL', async () => {
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
