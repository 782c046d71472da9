import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy } from '../support/policies.ts';
import {
  cleanEnvironment,
  makeTestKey,
  PROGRAM,
  startSignalbox,
  temporaryFolder,
  writePolicy,
} from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- first-start`: kill -9 at random moments of a first start, and of the second, third and fourth. The next start must
 * serve, with one admin key, which is in its file and works.
 */
const { runs, random, proved } = effort('first-start', 4, 300);

const HOUR_MS = 3_600_000;
/** How often the start of a data folder is killed before the start may finish. */
const KILLS_MAX = 4;
/** A file that a start writes, and the latest time of the kill after the file appears, ms. */
const FILES = ['server.lock', 'signalbox.db', 'signalbox.db-wal', 'ledger.id', 'admin.key.part', 'admin.key'] as const;
const SOON_MS = 4;

const home = temporaryFolder();
const policies = writePolicy(
  testPolicy({ sim: { url: 'http://127.0.0.1:9', adapter: 'openai-compatible' } }, { best: { endpoints: ['sim'] } }),
);
const env = { TEST_UPSTREAM_KEY: 'key-of-nobody' };
afterAll(() => {
  for (const folder of [home, policies]) rmSync(folder, { recursive: true, force: true });
});

const keyFile = (data: string) => join(data, 'admin.key');
const STATES = [
  'before there was a database',
  'with no tables yet',
  'with tables and no key',
  'with a key in the part file alone',
  'with a key in the database and not in its file',
  'with the key file whole',
] as const;
type State = (typeof STATES)[number];

/**
 * How far a start had come when it was killed. The state is read from a copy of the folder, because opening a database writes files next to
 * it.
 */
function stateOf(data: string): State {
  const [file, part] = [join(data, 'signalbox.db'), `${keyFile(data)}.part`];
  if (!existsSync(file)) return 'before there was a database';
  if (existsSync(keyFile(data))) return 'with the key file whole';
  const copy = join(home, 'copy.db');
  for (const ending of ['', '-wal', '-shm']) {
    rmSync(copy + ending, { force: true });
    if (ending !== '-shm' && existsSync(file + ending)) copyFileSync(file + ending, copy + ending);
  }
  using db = new Database(copy, { readwrite: true });
  if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'keys'").get() === null) return 'with no tables yet';
  if (db.query('SELECT 1 FROM keys').get() !== null) return 'with a key in the database and not in its file';
  return existsSync(part) ? 'with a key in the part file alone' : 'with tables and no key';
}

const spawn = (data: string) =>
  Bun.spawn([PROGRAM, 'serve', '--port', '0', '--data', data, '--policies', policies], {
    env: cleanEnvironment(env),
    stdout: 'ignore',
    stderr: 'ignore',
  });

/** Kills a start at a random moment: some time after its beginning, or soon after one of its files appears. */
async function killedStart(data: string, startMs: number): Promise<void> {
  const file = random() < 0.6 ? FILES[Math.floor(random() * FILES.length)] : undefined;
  const waitMs = random() * (file === undefined ? startMs : SOON_MS);
  const child = spawn(data);
  if (file !== undefined && !existsSync(join(data, file))) {
    const until = performance.now() + 3 * startMs;
    while (!existsSync(join(data, file)) && performance.now() < until) await new Promise(setImmediate);
  }
  const at = performance.now() + waitMs;
  while (performance.now() < at) await new Promise(setImmediate);
  child.kill('SIGKILL');
  await child.exited;
}

/** Starts, and checks that every key in the database is known to the test. */
async function started(data: string, installed: string): Promise<void> {
  const box = await startSignalbox({
    data,
    env: { ...env, SIGNALBOX_API_KEY: installed },
    args: ['--policies', policies],
  });
  try {
    const held = [installed, existsSync(keyFile(data)) ? readFileSync(keyFile(data), 'utf8').trim() : ''].filter(
      Boolean,
    );
    const asked = held.map((key) => fetch(`${box.url}/admin/keys`, { headers: { authorization: `Bearer ${key}` } }));
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(held.map(() => 200));
    const { data: keys } = (await answers[0]!.json()) as { data: unknown[] };
    expect(keys).toHaveLength(held.length);
    expect([existsSync(`${keyFile(data)}.part`), existsSync(join(data, 'ledger.id'))]).toEqual([false, true]);
    if (installed === '') expect(held).toHaveLength(1);
  } finally {
    await box.stop();
  }
}

test(
  `${runs} data folders, killed at their first starts`,
  async () => {
    const counts = new Map<State, number>(STATES.map((state) => [state, 0]));
    const undisturbed = join(home, 'undisturbed');
    const began = performance.now();
    await started(undisturbed, '');
    const startMs = performance.now() - began;
    let withVariable = 0;
    for (let run = 0; run < runs; run++) {
      const data = join(home, `data${run}`);
      mkdirSync(data, { mode: 0o700 });
      for (let kills = 1 + Math.floor(random() ** 2 * KILLS_MAX); kills > 0; kills--) {
        await killedStart(data, startMs);
        const state = stateOf(data);
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      const installs = random() < 0.2;
      if (installs) withVariable++;
      await started(data, installs ? makeTestKey() : '');
      rmSync(data, { recursive: true });
    }
    const kills = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const told = STATES.map((state) => `${counts.get(state)} ${state}`).join(', ');
    const line = `kill -9 at ${kills} first starts of ${runs} data folders (${told}): every next start served, ${withVariable} with SIGNALBOX_API_KEY; no key in a database but those that somebody has, and each opens the server`;
    console.log(line);
    proved(line);
  },
  HOUR_MS,
);
