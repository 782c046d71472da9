import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { idText } from '../../../src/core/id.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../../src/store/sqlite/open.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { chat, stopWell, useFolders } from './stand.ts';

const PATIENCE = 30_000;
const FIXTURES = join(import.meta.dir, '../../fixtures');

/** The bytes from which the secret of every key in the fixtures is made. */
const SECRET = Buffer.from(new Bun.CryptoHasher('sha256').update('the key of a test').digest()).toString('base64url');
const keyOf = (id: string): string => `sb_live_${id}_${SECRET}`;

const { atEnd, newFolder } = useFolders();

/** Copies a data folder of an earlier version. */
function dataOf(fixture: string): { data: string; file: string } {
  const data = newFolder();
  const file = join(data, 'signalbox.db');
  using db = new Database(file);
  db.run('PRAGMA journal_mode = WAL');
  db.run(readFileSync(join(FIXTURES, `${fixture}.sql`), 'utf8'));
  return { data, file };
}

function rowsOf<Row>(file: string, sql: string): Row[] {
  using db = new Database(file, { readonly: true });
  return db.query<Row, []>(sql).all();
}

const versionsIn = (file: string) =>
  rowsOf<{ room: string; version: number }>(file, 'SELECT room, version FROM migrations ORDER BY room, version');

interface Books {
  readonly charged_credits: number;
  readonly held_credits: number;
  readonly funds: readonly { readonly name: string; readonly subject: string; readonly spent_credits: number }[];
}

/** The Credits that an earlier version had booked, by fund and subject. Requests that its crash left open are charged in full. */
const EARLIER: readonly {
  fixture: string;
  policy: string;
  charged: number;
  spent: Readonly<Record<string, number>>;
}[] = [
  {
    fixture: 'first',
    policy: 'budgets: [{ name: all, limit_credits: 1000, window: total }]',
    charged: 6 * 0.172 + 2 * 0.3594,
    spent: { 'all ': 6 * 0.172 + 2 * 0.3594 },
  },
  {
    fixture: 'middle',
    policy: `budgets:
  - { name: all, limit_credits: 1000, window: total }
  - { name: team, each: key, limit_credits: 2, window: total }`,
    charged: 10 * 0.172 + 0.0135 + 2 * 0.3594,
    spent: {
      'all ': 10 * 0.172 + 0.0135 + 2 * 0.3594,
      'team first0000001': 3 * 0.172 + 0.0135 + 0.3594,
      'team 4n8z3jmamj6n': 4 * 0.172 + 0.3594,
      'team bv97pmd5nyrt': 3 * 0.172,
      'bv97pmd5nyrt ': 3 * 0.172,
    },
  },
];

const toMicro = (credits: number): number => Math.round(credits * 1e6);

describe('a data folder of an earlier version', () => {
  for (const { fixture, policy, charged, spent } of EARLIER) {
    test(
      `keeps its keys, charges, budgets, balances and decisions (${fixture})`,
      async () => {
        const { data, file } = dataOf(fixture);
        const upstream = startFakeUpstream({ key: UPSTREAM_KEY });
        atEnd(() => upstream.stop());
        const models = { best: { endpoints: ['first'], price: { input: 0.7, output: 3.3 } } };
        const box = await startSignalbox({
          data,
          policy: testPolicy({ first: upstream.url }, models, `${policy}\nrecords: { retention_days: 3650 }\n`),
          env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: keyOf('first0000001') },
        });
        atEnd(() => box.stop());

        const books = (await (await box.get('/admin/ledger')).json()) as Books;
        expect([toMicro(books.charged_credits), books.held_credits]).toEqual([toMicro(charged), 0]);
        const found = books.funds.map(({ name, subject, spent_credits }) => [
          `${name} ${subject}`,
          toMicro(spent_credits),
        ]);
        expect(Object.fromEntries(found)).toEqual(
          Object.fromEntries(Object.entries(spent).map(([fund, credits]) => [fund, toMicro(credits)])),
        );

        const [earliest] = rowsOf<{ id: number }>(file, 'SELECT min(id) AS id FROM decisions');
        expect((await box.get(`/v1/decisions/${idText('dec_', earliest!.id)}`)).status).toBe(200);
        const keys = rowsOf<{ id: string }>(file, 'SELECT id FROM keys');
        expect(keys.length).toBeGreaterThan(1);
        for (const { id } of keys) {
          const answer = await chat(box, { headers: { authorization: `Bearer ${keyOf(id)}` } });
          expect(answer.status).toBe(200);
          expect((await answerOf(answer)).platform.credits_consumed).toBeGreaterThan(0);
        }

        await stopWell(box);
      },
      PATIENCE,
    );
  }

  test(
    'can be copied by this version before an upgrade, and keeps its tables until a server starts',
    async () => {
      const { data, file } = dataOf('middle');
      const before = versionsIn(file);
      const copy = join(data, 'copy.db');
      const { code, out, err } = await runHere(['ledger', 'backup', copy, '--data', data]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('Not audited: the database has no ledger, or its ledger has an older version');
      expect(versionsIn(copy)).toEqual(before);
      expect(versionsIn(file)).toEqual(before);
      const journal = 'SELECT * FROM journal ORDER BY seq';
      expect(rowsOf(copy, journal)).toEqual(rowsOf(file, journal));
    },
    PATIENCE,
  );
});

test.each([[['keys', 'list']], [['keys', 'create']], [['wallets', 'list']]])(
  'the command %p does not migrate tables of an earlier version, because a server of that version may use them',
  async (command) => {
    const { data, file } = dataOf('first');
    const before = versionsIn(file);
    const { code, out, err } = await runHere([...command, '--data', data]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^signalbox: Cannot open the database .*: an older version of Signalbox wrote it; start the server once to bring it up to date\.\n$/,
    );
    expect(versionsIn(file)).toEqual(before);
  },
);

const COPY = join(temporaryFolder(), 'copy.db');
afterAll(() => rmSync(dirname(COPY), { recursive: true, force: true }));

/** The commands that read the tables of each module. */
const READERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ledger: [
    ['serve', '--port', '0', '--log', 'off'],
    ['ledger', 'audit'],
    ['ledger', 'backup', COPY],
    ['policy', 'check'],
    ['keys', 'list'],
    ['wallets', 'list'],
  ],
  learning: [
    ['learn', 'status'],
    ['policy', 'explain', '--message', 'Say hello.'],
  ],
  records: [
    ['policy', 'explain', '--decision', 'dec_0a4x1wm3zk0'],
    ['policy', 'diff', '95f1a7'],
  ],
};

describe('the server and all commands refuse a data folder of a newer version in one sentence, and leave it unchanged:', () => {
  test.each(Object.entries(READERS))(
    'its tables of %s',
    async (room, commands) => {
      const { data, file } = dataOf('middle');
      {
        using db = new Database(file);
        db.run('INSERT INTO migrations VALUES (?, 99, 0)', [room]);
      }
      const before = versionsIn(file);
      const ended = await Promise.all(commands.map((command) => runHere([...command, '--data', data])));
      const says = new RegExp(
        `^signalbox: Cannot (open|read) the database .*: a newer version of Signalbox wrote it; use that version or a later one \\(${room} tables: 99, known: \\d+\\)\\.\n$`,
      );
      for (const [at, { code, err }] of ended.entries()) {
        expect(err, commands[at]!.join(' ')).toMatch(says);
        expect(code).toBe(1);
      }
      expect(versionsIn(file)).toEqual(before);
      expect(readdirSync(dirname(COPY))).toEqual([]);
    },
    PATIENCE,
  );
});

test(
  'an upgrade that kill -9 interrupts changes nothing, and the next start does the whole upgrade',
  async () => {
    const { file } = dataOf('middle');
    const before = versionsIn(file);
    const script = join(FIXTURES, 'endless-migration.ts');
    const child = Bun.spawn([process.execPath, script, file], { stdout: 'ignore', stderr: 'inherit' });
    atEnd(() => child.kill('SIGKILL'));
    // At this point a part of the log is on the disk, because it is more than SQLite keeps in memory.
    const log = `${file}-wal`;
    await waitFor(() => existsSync(log) && statSync(log).size > 4e6, PATIENCE);
    child.kill('SIGKILL');
    await child.exited;

    expect(versionsIn(file)).toEqual(before);
    await (await openSqlite(file, ALL_TABLES)).close();
    const after = versionsIn(file).filter(({ room }) => room !== 'fence');
    expect(after).toEqual(
      ALL_TABLES.toSorted((one, other) => (one.room < other.room ? -1 : 1)).flatMap(({ room, versions }) =>
        versions.map((_, at) => ({ room, version: at + 1 })),
      ),
    );
    expect(rowsOf<{ integrity_check: string }>(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(rowsOf(file, "SELECT 1 FROM sqlite_schema WHERE name = 'endless'")).toEqual([]);
  },
  PATIENCE,
);

test('logins of people survive the change of tables that adds logins of keys, and still raise news', async () => {
  const file = join(temporaryFolder(), 'signalbox.db');
  atEnd(() => rmSync(dirname(file), { recursive: true }));
  const earlier = ALL_TABLES.map((one) =>
    one.room === 'logins' ? { ...one, versions: one.versions.slice(0, 1) } : one,
  );
  await (await openSqlite(file, earlier)).close();
  const write = (sql: string) => {
    using db = new Database(file);
    db.run(sql);
  };
  const insert = (columns: string, values: string) =>
    write(`INSERT INTO logins (id, hash, created_at, used_at, confirmed_at, expires_at, browser, ${columns})
      VALUES ('${values.slice(1, 2)}', zeroblob(32), 1, 2, 3, 4, 'Firefox', ${values})`);
  insert('user, token', "'a', x'0102'");
  const [before] = rowsOf<Record<string, unknown>>(file, 'SELECT * FROM logins');
  await (await openSqlite(file, ALL_TABLES)).close();
  expect(rowsOf(file, 'SELECT * FROM logins')).toEqual([{ ...before, key: null, key_hash: null }]);
  insert('key, key_hash', "'k', zeroblob(32)");
  const numbers = () => rowsOf<{ id: string; changed: number }>(file, 'SELECT id, changed FROM logins ORDER BY id');
  const [a, k] = numbers();
  expect(k?.changed).toBeGreaterThan(a?.changed ?? Infinity);
  write("UPDATE logins SET used_at = 9 WHERE id = 'a'");
  expect(numbers()[0]?.changed).toBeGreaterThan(k?.changed ?? Infinity);
});

test('no version of the tables in existing data folders is ever edited: a change is a new version at the end', async () => {
  const known = (await Bun.file(join(FIXTURES, 'migrations.json')).json()) as Record<string, string[]>;
  const found = ALL_TABLES.map(({ room, versions }) => [room, versions.map(hashOf)] as const);
  expect(Object.fromEntries(found)).toEqual(known);
});

/** The hash ignores white space, which has no meaning in SQLite. */
function hashOf(sql: string): string {
  return new Bun.CryptoHasher('sha256').update(sql.replace(/\s+/g, ' ').trim()).digest('hex').slice(0, 16);
}
