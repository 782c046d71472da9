import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { SLOW_START_MS } from '../../../src/server/serve.ts';
import { RENEW_MS } from '../../../src/store/lease.ts';
import { isConflict } from '../../../src/store/postgres/fault.ts';
import { WORTHLESS_CERTIFICATE } from '../../fault/worthless-certificate.ts';
import { waitFor } from '../../support/answers.ts';
import { type Cable, layCable } from '../../support/cable.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { ask, bookedWell, COST, isReady, type MadeKey, makeKey, type Stage, sendTwo, startStage } from './stage.ts';

/** Leases are renewed ten times a second, so that they survive one fault after another. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS ? 100 : ms, run),
};

/** A database that answers but refuses, as a user without the rights of its owner sees it. */
let stage: Stage;
let here: Signalbox;
let env: { readonly DATABASE_URL: string };
let name: string;
/** The statement that ends the fault. */
let heal = '';

/** The statement is repeated if it deadlocks with the server. */
async function run(text: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await stage.fleet.database.run(text.replaceAll('NAME', name), name);
      return;
    } catch (cause) {
      if (!isConflict(cause) || tries === 5) throw cause;
    }
  }
}

beforeAll(async () => {
  stage = await startStage(0, { limit: 1_000, timers });
  const { url } = stage.fleet;
  name = url.split('/').at(-1) ?? '';
  // The user creates the tables in an empty database, because nobody else may own them.
  await stage.fleet.database.drop(name);
  await stage.fleet.database.create(name);
  await run('CREATE ROLE NAME_user LOGIN; ALTER DATABASE NAME OWNER TO NAME_user');
  env = { DATABASE_URL: url.replace('signalbox@', `${name}_user@`) };
  here = await stage.fleet.start({ env });
});
afterEach(async () => {
  stage.gate.open();
  await run(heal);
  heal = '';
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Returns the value of a metric. */
async function figure(name: string): Promise<number> {
  const lines = (await (await here.get('/metrics')).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
}

/** Sends a request of each kind. Returns the answers of the server. */
async function askAll(keys: readonly MadeKey[]) {
  const paths = ['ledger', 'usage', 'traffic', 'decisions', 'trail', 'keys', 'teams', 'cluster'];
  const answers = await Promise.all([
    ...paths.map((path) => here.get(`/admin/${path}`)),
    here.get('/v1/models'),
    here.post('/admin/keys', {}),
    here.post('/admin/teams', { name: crypto.randomUUID() }),
  ]);
  const read = answers.map(({ status, headers }) => ({ status, retryAfter: headers.get('retry-after') }));
  const told = await Promise.all([
    ...keys.map((key) => ask(here, key)),
    ask(here, keys[0]!, {}, { 'idempotency-key': crypto.randomUUID() }),
  ]);
  return [...read, ...told];
}

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'NAME_user'`;
const FULL = `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
      EXECUTE format('CREATE TRIGGER full_disk BEFORE INSERT ON %I EXECUTE FUNCTION full_disk()', name);
    END LOOP; END $$`;

test.each([
  [
    'takes no writes',
    'ALTER ROLE NAME_user IN DATABASE NAME SET default_transaction_read_only = on',
    'ALTER ROLE NAME_user IN DATABASE NAME RESET default_transaction_read_only',
    'transaction_read_only is on',
  ],
  [
    'has no connection left',
    'ALTER DATABASE NAME CONNECTION LIMIT 0',
    'ALTER DATABASE NAME CONNECTION LIMIT -1',
    'the database has no free connection; set max_connections',
  ],
  ['has a full disk', FULL, 'DROP FUNCTION IF EXISTS full_disk CASCADE', 'the disk of the database is full'],
])(
  'if a database %s, new requests get 503 with retry-after, running requests report booked prices, and service resumes without a restart',
  async (what, begin, end, words) => {
    const key = await makeKey(stage, what);
    const limited = await makeKey(stage, `${what}, limited`, { requests_per_minute: 100_000 });
    await ask(here, limited);
    const under = await sendTwo(stage, here, key);
    heal = end;
    await run(begin);
    await run(CUT);
    await waitFor(async () => (await ask(here, key)).status === 503 && !(await isReady(here)));
    const answers = await askAll([key, limited]);
    for (const { status, retryAfter } of answers) {
      expect([200, 503]).toContain(status);
      expect(retryAfter === null).toBe(status === 200);
    }
    expect(answers.slice(-3)).toMatchObject(Array.from({ length: 3 }, () => ({ status: 503, code: 'overloaded' })));
    await expect(stage.fleet.start({ env })).rejects.toThrow(words);
    await waitFor(async () => (await figure('signalbox_store_failing')) === 1);
    if (words.startsWith('all connections'))
      expect(await figure('signalbox_store_connections_failed_total')).toBeGreaterThan(0);
    expect(await under.told()).toEqual([COST, COST]);
    await run(heal);
    await waitFor(() => isReady(here));
    expect(await figure('signalbox_store_failing')).toBe(0);
    expect(await figure('signalbox_instance_leads{work="sweep"}')).toBe(1);
    expect(Date.now() / 1_000 - (await figure('signalbox_pruned_timestamp_seconds'))).toBeLessThan(600);
    let spent = 2 * COST;
    await waitFor(async () => {
      const { status, micro } = await ask(here, key);
      spent += micro;
      return status === 200;
    });
    expect(await bookedWell(here, what)).toBe(spent);
  },
  60_000,
);

describe('if a database cannot be opened, one sentence says what is wrong and what would be right, without the password', () => {
  const SECRET = 'a-long-secret';
  const folder = temporaryFolder();
  const [authority, nonsense] = [join(folder, 'authority.pem'), join(folder, 'nonsense.pem')];
  const TLS = 'sslmode=verify-full';
  let cable: Cable;
  beforeAll(async () => {
    writeFileSync(authority, WORTHLESS_CERTIFICATE);
    writeFileSync(nonsense, 'no certificate');
    await run(`CREATE ROLE secured LOGIN PASSWORD 'another one'`);
    cable = await layCable(stage.fleet.database.port);
  });
  afterAll(async () => {
    cable[Symbol.dispose]();
    rmSync(folder, { recursive: true });
    await run('DROP ROLE secured');
  });

  test('a start that waits for a slow database names it', async () => {
    const soon: Timers = { ...timers, after: (ms, run) => processTimers.after(ms === SLOW_START_MS ? 100 : ms, run) };
    cable.delayMs = 20;
    const [slow, quick] = [env.DATABASE_URL.replace(/:\d+\//, `:${cable.port}/`), env.DATABASE_URL];
    const told = async (url: string, by: Timers) => {
      const server = await stage.fleet.start({ env: { DATABASE_URL: url }, timers: by });
      const lines = server.lines.filter((line) => line.includes('"the start waits for the database"'));
      await stage.fleet.stop(server);
      return lines;
    };
    expect(await told(slow, soon)).toEqual([
      expect.stringContaining(`"database":"postgres://127.0.0.1:${cable.port}/`),
    ]);
    expect(await told(quick, timers)).toEqual([]);
    cable.delayMs = 0;
  });

  /**
   * Each case has a name, a URL without its scheme, and the error text. HOST is the server; SPOILED is a connection to it that changes
   * answers.
   */
  test.each([
    ['is too old', 'NAME_user:SECRET@SPOILED/NAME', 'it is PostgreSQL 13, but Signalbox needs version 14 or later'],
    [
      'refuses the password',
      `secured:SECRET@HOST/NAME?${TLS}&sslrootcert=AUTHORITY`,
      'the database refuses the user or its password; check both in its URL, or the file of password_file',
    ],
    [
      'wants a password',
      `secured@HOST/NAME?${TLS}&sslrootcert=AUTHORITY`,
      'the database requires a password; add it to its URL, or name its file with password_file',
    ],
    [
      'wants TLS',
      'secured:SECRET@HOST/NAME',
      'pg_hba.conf rejects connection for host "127.0.0.1", user "secured", database "NAME", no encryption; if it requires TLS, add sslmode=verify-full to its URL',
    ],
    ['knows no such user', 'nobody_here:SECRET@HOST/NAME', 'role "nobody_here" does not exist'],
    ['does not exist', 'NAME_user:SECRET@HOST/NAME_elsewhere', 'there is no database of that name; create it first'],
    [
      'has a certificate of an authority of its own',
      `secured:SECRET@HOST/NAME?${TLS}`,
      'no known authority has signed its certificate; sslrootcert must name the file of that authority, or of the certificate itself',
    ],
    [
      'has a certificate of another host',
      `secured:SECRET@localhost:PORT/NAME?${TLS}&sslrootcert=AUTHORITY`,
      "its certificate is for another host; use the host name of the certificate in its URL (Hostname/IP does not match certificate's altnames: Host: localhost. is not cert's CN: worthless.invalid)",
    ],
    [
      'is known by a file without a certificate',
      `secured:SECRET@HOST/NAME?${TLS}&sslrootcert=NONSENSE`,
      'the file of sslrootcert contains no PEM certificate',
    ],
    [
      'asks for no password, though its URL names a file that is not there',
      'NAME_user@HOST/NAME?password_file=NONSENSE.gone',
      'the file of the password cannot be read: there is no such file or folder',
    ],
    ['has an empty file of its password', 'NAME_user@HOST/NAME?password_file=/dev/null', 'the password file is empty'],
    [
      'has no TLS',
      `secured:SECRET@SPOILED/NAME?${TLS}`,
      'the database has TLS turned off; turn it on, or add sslmode=disable to the URL',
    ],
    [
      'does not listen',
      'secured:SECRET@127.0.0.1:1/NAME',
      'nothing listens at its address; check the host and port in its URL, and that the database runs',
    ],
    ['is none', 'secured:SECRET@GATE/NAME', 'the other side ended the connection; check that it is PostgreSQL'],
    [
      'has a URL with a password as it is',
      'secured:SECRET#@HOST/NAME',
      'in a password, write # as %23, / as %2F, ? as %3F and % as %25',
    ],
    [
      'has a URL with a percent sign',
      'secured:SECRET%ZZ@HOST/NAME',
      'in a password, write # as %23, / as %2F, ? as %3F and % as %25',
    ],
  ])('one that %s', async (_, url, words) => {
    const { port } = stage.fleet.database;
    cable.edits = (answer) =>
      answer.length === 1
        ? Buffer.from('N')
        : Buffer.from(answer.toString('latin1').replace(/\b1\d{5}(?=[CD])/, '130022'), 'latin1');
    const parts = {
      SECRET,
      SPOILED: `127.0.0.1:${cable.port}`,
      HOST: `127.0.0.1:${port}`,
      PORT: `${port}`,
      NAME: name,
      AUTHORITY: authority,
      NONSENSE: nonsense,
      GATE: new URL(stage.gate.url).host,
    };
    const filled = (text: string) =>
      Object.entries(parts).reduce((all, [part, value]) => all.replaceAll(part, value), text);
    for (const command of [
      ['serve', '--data', folder],
      ['db', 'migrate'],
    ]) {
      const { code, err } = await runHere(command, { DATABASE_URL: `postgres://${filled(url)}` });
      expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining(`${filled(words)}.\n`) });
      expect(err).not.toContain(SECRET);
    }
  });
});
