import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Timers } from '../../src/core/timers.ts';
import { RENEW_MS } from '../../src/store/lease.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { waitFor } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';
import {
  ask,
  audit,
  booked,
  COST,
  isReady,
  type MadeKey,
  makeKey,
  type Stage,
  sendTwo,
  startStage,
  toldOfTwo,
} from './stage.ts';

/** Leases are renewed ten times a second: those of troubles that follow one another must not end. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS ? 100 : ms, run),
};

/** A database that answers, and refuses: as a user of it without the powers of its owner sees it. */
let stage: Stage;
let here: Signalbox;
let env: { readonly DATABASE_URL: string };
let name: string;
/** Ends the trouble. */
let heal: string;

const run = (text: string) => stage.fleet.database.run(text.replaceAll('NAME', name), name);

beforeAll(async () => {
  stage = await startStage(0, { limit: 1_000, timers });
  const { url } = stage.fleet;
  name = url.split('/').at(-1) ?? '';
  await run('CREATE ROLE NAME_user LOGIN; ALTER DATABASE NAME OWNER TO NAME_user');
  env = { DATABASE_URL: url.replace('signalbox@', `${name}_user@`) };
  here = await stage.fleet.start({ env });
});
afterEach(async () => {
  stage.gate.open();
  await run(heal);
});
afterAll(() => stage[Symbol.asyncDispose]());

/** How requests of every kind are answered, each once. */
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
    'all connections are taken; raise max_connections',
  ],
  ['has a full disk', FULL, 'DROP FUNCTION IF EXISTS full_disk CASCADE', 'the disk of the database is full'],
])(
  'a database that %s: 503 with retry-after, prices under way are told and booked, and it goes on by itself',
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
    expect(await toldOfTwo(stage, under)).toEqual([COST, COST]);
    await run(heal);
    await waitFor(() => isReady(here));
    let spent = 2 * COST;
    await waitFor(async () => {
      const { status, micro } = await ask(here, key);
      spent += micro;
      return status === 200;
    });
    expect(await booked(here, what)).toBe(spent);
    expect(await audit(here)).toBe('nothing wrong');
  },
  60_000,
);
