import { describe, expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { codeOf } from '../../../../src/core/thrown.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { arrayOf, Connection, USUAL_BOUNDS } from '../../../../src/store/postgres/connection.ts';
import { PostgresReaders } from '../../../../src/store/postgres/readers.ts';
import { seedOf } from '../../../deep/effort.ts';
import { WORTHLESS_CERTIFICATE } from '../../../fault/worthless-certificate.ts';
import { refusalOf } from '../../../store/implementations.ts';
import { tempFolder } from '../../../store/support.ts';
import { waitFor } from '../../../support/answers.ts';
import { layCable } from '../../../support/cable.ts';
import { freshDatabase } from '../../../support/shared-postgres.ts';

const openAt = (url: string) => Connection.open(addressOf(url));

/** Ends every backend of a database from another process, while this process does nothing else. */
function killAll(url: string): void {
  const script = `const { Client } = require('pg'); const c = new Client(${JSON.stringify(url)}); (async () => { await c.connect();
    await c.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
    await c.end(); })();`;
  execFileSync(process.execPath, ['-e', script], { cwd: import.meta.dir, stdio: 'inherit' });
}

/** Counts how several promises ended: by code, or `ok`. */
async function tally(work: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const end of await Promise.allSettled(work)) {
    const name = end.status === 'fulfilled' ? 'ok' : codeOf(end.reason) || String(end.reason);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('A connection', () => {
  test('a connection returns values unchanged, and numbers of 64 bits as numbers', async () => {
    await using database = await freshDatabase();
    const connection = await openAt(database.url);
    const values = [Number.MAX_SAFE_INTEGER, -0.1, 'ä\n"', new Uint8Array([0, 255, 7]), null];
    const { rows } = await connection.run(
      'SELECT $1::bigint AS a, $2::float8 AS b, $3::text AS c, $4::bytea AS d, $5::text AS e, sum(n) AS f, true AS g FROM (VALUES (1::bigint), (2)) AS t (n)',
      values,
    );
    const [a, b, c, d, e] = values;
    expect(rows).toEqual([{ a, b, c, d, e, f: 3, g: 1 }]);
    await connection.close();
  });

  test('a connection returns the texts of an array unchanged, whatever they contain', async () => {
    await using database = await freshDatabase();
    const connection = await openAt(database.url);
    // PostgreSQL has no texts with a zero character.
    const unit = fc.constantFrom(
      '"',
      '\\',
      ',',
      '{',
      '}',
      '\n',
      '\b',
      '\u007f',
      '\u2028',
      ' ',
      'a',
      'NULL',
      'ä',
      '😀',
      '\uffff',
    );
    const texts = fc.array(fc.option(fc.string({ unit })), { minLength: 1, maxLength: 50 });
    for (const sent of fc.sample(texts, { seed: seedOf('arrays'), numRuns: 20 })) {
      const { rows } = await connection.run<{ one: string | null }>('SELECT unnest($1::text[]) AS one', [
        arrayOf(sent),
      ]);
      expect(rows.map(({ one }) => one)).toEqual(sent);
    }
    await connection.close();
  });

  test('if its backend is killed within a transaction, a connection stays lost, and no part of the transaction is sent elsewhere', async () => {
    await using database = await freshDatabase();
    const connection = await openAt(database.url);
    await connection.run('CREATE TABLE t (n BIGINT)');
    await connection.run('BEGIN');
    await connection.run('INSERT INTO t VALUES (1)');
    killAll(database.url);
    const later = [2, 3].map((n) => connection.run('INSERT INTO t VALUES ($1)', [n]));
    expect((await tally(later)).ok).toBeUndefined();
    await waitFor(() => connection.isLost);
    expect((await tally([connection.run('INSERT INTO t VALUES (4)')])).ok).toBeUndefined();
    expect(await database.run('SELECT n FROM t')).toEqual([]);
  });

  test('a connection that breaks before the answer to COMMIT rejects, although the transaction was committed', async () => {
    await using database = await freshDatabase();
    using cable = await layCable(database.server.port);
    const connection = await openAt(database.url.replace(`:${database.server.port}/`, `:${cable.port}/`));
    await connection.run('CREATE TABLE t (n BIGINT)');
    await connection.run('BEGIN');
    await connection.run('INSERT INTO t VALUES (1)');
    cable.cuts = (sent) => sent.includes('COMMIT\0') && 'behind';
    expect((await tally([connection.script('COMMIT')])).ok).toBeUndefined();
    await waitFor(() => connection.isLost);
    const count = () => database.run('SELECT count(*)::int AS n FROM t');
    await waitFor(async () => (await count())[0]?.n === 1);
  });

  test('a connection that receives nothing ends within its timeout', async () => {
    await using database = await freshDatabase();
    using cable = await layCable(database.server.port);
    const url = database.url.replace(`:${database.server.port}/`, `:${cable.port}/`);
    const connection = await Connection.open(addressOf(url), { ...USUAL_BOUNDS, silenceMs: 200 });
    cable.isSilent = true;
    const work = [1, 2, 3].map((n) => connection.run('SELECT $1::bigint', [n]));
    expect((await tally(work)).ok).toBeUndefined();
    await waitFor(() => connection.isLost);
    const unheard = Connection.open(addressOf(url), { ...USUAL_BOUNDS, connectMs: 200 });
    expect(await refusalOf(unheard)).toBe('broken');
  });

  test('a connection continues after a statement timed out', async () => {
    await using database = await freshDatabase();
    const connection = await Connection.open(addressOf(database.url), { ...USUAL_BOUNDS, statementMs: 100 });
    expect(await tally([connection.run('SELECT pg_sleep(60)')])).toEqual({ '57014': 1 });
    expect((await connection.run('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await connection.close();
  });

  test('a connection gives each of many statements its own answer, even if some fail', async () => {
    await using database = await freshDatabase();
    const connection = await openAt(database.url);
    for (let round = 0; round < 12; round++) {
      const work = Array.from({ length: 300 }, (_, at) =>
        at % 7 === 0
          ? connection.run<{ n: number }>('SELECT 1 / 0 AS n')
          : connection.run<{ n: number }>('SELECT $1::bigint + 1 AS n', [at]),
      );
      expect(await tally(work)).toEqual({ '22012': 43, ok: 257 });
      const rows = await Promise.all(
        work.map((one) =>
          one.then(
            ({ rows: [row] }) => row?.n,
            () => null,
          ),
        ),
      );
      expect(rows).toEqual(Array.from({ length: 300 }, (_, at) => (at % 7 === 0 ? null : at + 1)));
    }
    await connection.close();
  });

  test('a connection receives notifications, and reports that it is lost', async () => {
    await using database = await freshDatabase();
    const connection = await openAt(database.url);
    const heard: string[] = [];
    await connection.listen('news', (message) => heard.push(message));
    await database.run(`NOTIFY news, 'keys'`);
    await waitFor(() => heard.length === 1);
    expect(heard).toEqual(['keys']);
    let isLost = false;
    connection.onLost(() => {
      isLost = true;
    });
    killAll(database.url);
    await waitFor(() => isLost);
  });
});

describe('Readers', () => {
  const readersOf = (url: string) => new PostgresReaders(() => openAt(url), 4);

  test('the connections answer everything although all backends are killed while the event loop is blocked', async () => {
    await using database = await freshDatabase();
    const readers = readersOf(database.url);
    const sleep = () => readers.read<{ n: number }>('SELECT 1 AS n FROM pg_sleep(0.5)');
    const busy = Array.from({ length: 8 }, sleep);
    const isBusy = async () =>
      (await database.server.run(`SELECT 1 FROM pg_stat_activity WHERE query LIKE '%sleep(0.5)%' AND state = 'active'`))
        .length > 4;
    await waitFor(isBusy);
    killAll(database.url);
    expect(await tally(busy)).toEqual({ ok: 8 });
    // Idle backends are killed, too.
    killAll(database.url);
    const work = Array.from({ length: 200 }, (_, n) => readers.read<{ n: number }>('SELECT $1::bigint AS n', [n]));
    expect(await tally(work)).toEqual({ ok: 200 });
    await readers.close();
    expect(await refusalOf(readers.read('SELECT 1').then(() => {}))).toBe('closed');
  });

  test('the connections refuse statements while the server is away, and continue once it is back', async () => {
    await using database = await freshDatabase();
    using cable = await layCable(database.server.port);
    const url = database.url.replace(`:${database.server.port}/`, `:${cable.port}/`);
    const readers = readersOf(url);
    expect(await readers.read('SELECT 1 AS n')).toEqual([{ n: 1 }]);
    cable.cuts = () => 'before';
    expect(await refusalOf(readers.read('SELECT 1 AS n'))).toBe('broken');
    cable.cuts = () => false;
    expect(await readers.read('SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await readers.close();
  });
});

describe('The address of a database', () => {
  const secured = async () => {
    const database = await freshDatabase();
    await database.server.run(`DO $$ BEGIN CREATE ROLE secured LOGIN PASSWORD 'first'; EXCEPTION WHEN duplicate_object THEN
      ALTER ROLE secured PASSWORD 'first'; END $$`);
    return database;
  };

  test('with TLS works only if the certificate names the host and its authority is known', async () => {
    await using database = await secured();
    using folder = tempFolder();
    const authority = join(folder.path, 'authority.pem');
    writeFileSync(authority, WORTHLESS_CERTIFICATE);
    const of = (host: string, parameters: string) =>
      `postgres://secured:first@${host}:${database.server.port}/${database.name}?${parameters}`;
    const known = `sslmode=verify-full&sslrootcert=${authority}`;
    const connection = await openAt(of('127.0.0.1', known));
    const row = await connection.run(`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`);
    expect(row.rows).toEqual([{ ssl: 1 }]);
    await connection.close();
    for (const [host, parameters] of [
      ['127.0.0.1', 'sslmode=verify-full'],
      ['localhost', known],
      ['127.0.0.1', 'sslmode=disable'],
    ] as const)
      expect(openAt(of(host, parameters))).rejects.toThrow(/^Cannot reach the database postgres:/);
    expect(() => addressOf(of('127.0.0.1', 'sslmode=require'))).toThrow(
      'The URL of the database cannot be used: sslmode=require does not verify the database server; use verify-full, and sslrootcert if you run your own certificate authority.',
    );
  });

  test('can take its password from a file, which is read for each connection', async () => {
    await using database = await secured();
    using folder = tempFolder();
    const [authority, file] = [join(folder.path, 'authority.pem'), join(folder.path, 'password')];
    writeFileSync(authority, WORTHLESS_CERTIFICATE);
    writeFileSync(file, 'first\n');
    const address = addressOf(
      `postgres://secured@127.0.0.1:${database.server.port}/${database.name}?sslmode=verify-full&sslrootcert=${authority}&password_file=${file}`,
    );
    await (await Connection.open(address)).close();
    await database.server.run(`ALTER ROLE secured PASSWORD 'second'`);
    expect(await refusalOf(Connection.open(address))).toBe('denied');
    writeFileSync(file, 'second');
    await (await Connection.open(address)).close();
    expect(addressOf(`postgres://a@db.example/b?password_file=${file}`).authorities).toBe('');
    expect(() => addressOf(`postgres://a:b@db.example/b?password_file=${file}`)).toThrow(
      'it contains a password and also names a password file',
    );
    rmSync(file);
    expect(address.password).toThrow('the file of the password cannot be read: there is no such file or folder');
  });

  test.each([
    ['mysql://a@b/c', 'it must be postgres://USER@HOST:PORT/DATABASE'],
    ['postgres://b/c', 'it must name a user, a host and a database'],
    [
      'postgres://a@b/c?sslcert=x',
      'it has the unknown parameter sslcert; the known parameters are host, password_file, sslmode, sslrootcert',
    ],
    [
      'postgres://a@localhost/c?sslrootcert=/x',
      'the file of sslrootcert cannot be read|sslrootcert has no effect with sslmode=disable',
    ],
  ])('%s is refused with a sentence', (url, words) => {
    expect(() => addressOf(url)).toThrow(new RegExp(words.replaceAll('?', '\\?')));
  });
});
