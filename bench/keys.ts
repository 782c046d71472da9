import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeys } from '../src/access/keys.ts';
import type { KeyInfo } from '../src/store/keys.ts';
import { openStore } from '../src/store/open.ts';
import { fixed, median, quantile, table } from './stats.ts';

const KEYS = 10_000;
const HEAD = [`pauses of a server with ${KEYS.toLocaleString('en')} keys, ms`, 'p50', 'p95', 'the longest'];

const keyInfo = (id: string): KeyInfo => ({
  id,
  name: `the key ${id}`,
  scopes: ['chat'],
  labels: { team: 'blue' },
  models: null,
  notModels: null,
  limits: { requestsPerMinute: 60, tokensPerMinute: null, concurrentStreams: null },
  budgets: [],
  holders: null,
  holder: null,
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  suspendedAt: null,
  parent: null,
  team: null,
  user: null,
  lastUsedAt: null,
  rotatedAt: null,
  overlapEndsAt: null,
});

/** Another process that uses the same database. For each line that the process reads, the process writes once and answers with a line. */
async function write(file: string): Promise<void> {
  const store = await openStore(file, { mode: 'beside', rooms: ['access'] });
  const keys = await openKeys({ store, now: Date.now });
  let turn = 0;
  for await (const line of console) {
    if (line === 'a key') await keys.rotate(`key${turn++ % KEYS}`, 0);
    else await store.commit([store.keys.putUses({ key1: ++turn })]);
    console.log('done');
  }
}

/** @returns a function that lets the other process write, and resolves when that process has written. */
function startWriter(file: string) {
  const child = Bun.spawn([process.execPath, import.meta.path, file], { stdin: 'pipe', stdout: 'pipe' });
  const answers = child.stdout.getReader();
  return {
    async ask(what: string): Promise<void> {
      child.stdin.write(`${what}\n`);
      await child.stdin.flush();
      await answers.read();
    },
    stop: () => child.kill(),
  };
}

/** @returns a table of how long a poll occupies the server's thread, by what the other process has written. */
export async function keyPauses(rounds: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  const file = join(folder, 'signalbox.db');
  const store = await openStore(file, { mode: 'serve' });
  const hash = new Uint8Array(32);
  await store.commit(Array.from({ length: KEYS }, (_, at) => store.keys.insert(keyInfo(`key${at}`), hash)));
  const keys = await openKeys({ store, now: Date.now });
  const writer = startWriter(file);
  const timed = async (name: string, what: string, work: () => Promise<unknown>): Promise<string[]> => {
    const times: number[] = [];
    for (let round = -5; round < rounds; round++) {
      await writer.ask(what);
      const begun = performance.now();
      await work();
      if (round >= 0) times.push(performance.now() - begun);
    }
    const sorted = times.toSorted((one, other) => one - other);
    return [name, fixed(median(times), 2), fixed(quantile(sorted, 0.95), 2), fixed(sorted.at(-1)!, 2)];
  };
  const look = () => store.news.look();
  const all = async () => (await openKeys({ store, now: Date.now })).close();
  try {
    return table([
      HEAD,
      await timed('for comparison: all keys are read, as at a start', 'a use', all),
      await timed('a look, after a commit that is no news', 'a use', look),
      await timed('a look, after a key was rotated', 'a key', look),
    ]);
  } finally {
    writer.stop();
    keys.close();
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) await write(process.argv[2]!);
