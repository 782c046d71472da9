import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../../support/answers.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { runHere } from '../../support/run-here.ts';
import { makeTestKey, runCommand, type Signalbox } from '../../support/signalbox.ts';
import { chat, stopWell, useServers } from './stand.ts';

const PATIENCE = 30_000;
const DAY_MS = 86_400_000;

const { atEnd, newFolder, start, upstream } = useServers(`budgets: [{ name: daily, limit_credits: 100, window: day }]
rate_limits: [{ name: pace, each: key, requests_per_minute: 6000 }]
`);

const linesWith = (box: Signalbox, text: string): string[] => box.lines.filter((line) => line.includes(text));

describe('a data folder that is removed while a server uses it', () => {
  test(
    'is noticed: the server refuses requests that cost money, and serves again once the folder is back',
    async () => {
      const data = join(newFolder(), 'data');
      const box = await start(data, { isProcess: true });
      expect((await chat(box)).status).toBe(200);

      const away = `${data}-away`;
      renameSync(data, away);
      const refused = await waitFor(async () => {
        await Bun.sleep(100);
        const answer = await chat(box);
        return answer.status === 200 ? null : answer;
      });
      expect([refused.status, (await answerOf(refused)).error.code]).toEqual([503, 'overloaded']);
      const told = 'its file is gone or was replaced';
      await waitFor(() => linesWith(box, told).length);
      const lines = linesWith(box, told);
      // The server tries the database first and then the spool; each reports only its first failure.
      for (const part of ['the database failed', 'the spool failed'])
        expect(lines.filter((line) => line.includes(part)).length).toBeLessThan(2);
      const calls = upstream().requests.length;
      expect((await chat(box)).status).toBe(503);
      expect(upstream().requests.length).toBe(calls);
      expect((await box.get('/healthz')).status).toBe(200);
      expect((await box.get('/readyz')).status).toBe(503);

      renameSync(away, data);
      await waitFor(async () => (await box.get('/readyz')).status === 200);
      expect((await chat(box)).status).toBe(200);
      await stopWell(box);
    },
    PATIENCE,
  );
});

/** A provider that answers only when the test allows it. */
function heldBack(): { readonly url: string; readonly asked: Promise<void>; letGo(): void } {
  const asked = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const server = startOwnServer(async ({ method, url, headers, body }) => {
    asked.resolve();
    await gone.promise;
    const address = upstream().root + new URL(url).pathname;
    return fetch(address, { method, headers: Object.fromEntries(headers), body });
  });
  atEnd(() => server.stop());
  return { url: upstream().url.replace(upstream().root, server.url), asked: asked.promise, letGo: gone.resolve };
}

test(
  'a server whose folder another server has taken over is not ready, and reports no price for holds that the other server has closed',
  async () => {
    const data = newFolder();
    const env = { SIGNALBOX_API_KEY: makeTestKey() };
    const { url, asked, letGo } = heldBack();
    const first = await start(data, { isProcess: true, env }, url);
    const running = chat(first);
    await asked;
    rmSync(join(data, 'server.lock'));
    const second = await start(data, { env });
    letGo();
    const answer = await running;
    expect(answer.status).toBe(200);
    expect((await answerOf(answer)).platform).toMatchObject({ credits_consumed: null });
    expect((await first.get('/readyz')).status).toBe(503);
    expect((await chat(second)).status).toBe(200);
    expect((await runHere(['ledger', 'audit', '--idle', '--data', data])).code).toBe(0);
  },
  PATIENCE,
);

/** Makes a folder unwritable: by its mode, or for root, who ignores modes, by a read-only mount. */
function makeReadOnly(folder: string): boolean {
  if (process.getuid?.() !== 0) {
    chmodSync(folder, 0o500);
    atEnd(() => chmodSync(folder, 0o700));
    return true;
  }
  const mount = ['mount', '-t', 'tmpfs', '-o', 'ro,size=1m', 'tmpfs', folder];
  if (!Bun.spawnSync(mount, { stdout: 'ignore', stderr: 'ignore' }).success) return false;
  atEnd(() => Bun.spawnSync(['umount', folder]));
  return true;
}

test(
  'a data folder that cannot be written ends the start with the reason',
  async () => {
    const data = newFolder();
    if (!makeReadOnly(data)) {
      console.log('skipped, because nothing can be mounted here: a data folder that cannot be written');
      return;
    }
    const { code, err } = await runHere(['serve', '--port', '0', '--log', 'off', '--data', data]);
    expect(err).toMatch(
      /^signalbox: Cannot use the data folder .*: (the file system is read-only|permission denied)\.\n$/,
    );
    expect(code).toBe(1);
  },
  PATIENCE,
);

test(
  'the server and the copy command refuse a damaged database, each in one sentence',
  async () => {
    const data = newFolder();
    const box = await start(data, { isProcess: true });
    await chat(box);
    await stopWell(box);
    const file = join(data, 'signalbox.db');
    damage(file, 'journal');

    const copy = join(data, 'copy.db');
    const ended = await Promise.all([
      runCommand(['serve', '--port', '0', '--log', 'off', '--data', data]),
      runHere(['ledger', 'audit', '--data', data]),
      runHere(['ledger', 'backup', copy, '--data', data]),
    ]);
    for (const { code, err } of ended) {
      expect(err).toMatch(/^signalbox: .*: the file is damaged, or is not a SQLite database\.?\n$/);
      expect(code).toBe(1);
    }
    expect([existsSync(copy), existsSync(`${copy}.part`)]).toEqual([false, false]);
  },
  PATIENCE,
);

/** Overwrites the first page of a table with random bytes. */
function damage(file: string, table: string): void {
  const [page, size] = (() => {
    using db = new Database(file, { readonly: true });
    const root = db.query<{ page: number }, [string]>('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?');
    const bytes = db.query<{ page_size: number }, []>('PRAGMA page_size');
    return [root.get(table)?.page ?? 0, bytes.get()?.page_size ?? 0];
  })();
  const handle = openSync(file, 'r+');
  writeSync(handle, new Uint8Array(size).fill(0x5a), 0, size, (page - 1) * size);
  closeSync(handle);
}

interface Daily {
  readonly funds: readonly { readonly spent_credits: number; readonly starts: string }[];
}

describe('a clock that jumps', () => {
  test(
    'ahead and back again delays no request, loses no charge, and freezes the windows of budgets until the time catches up',
    async () => {
      const data = newFolder();
      let jumpedMs = 0;
      const options = { env: { SIGNALBOX_API_KEY: makeTestKey() }, now: () => Date.now() + jumpedMs };
      const first = await start(data, options);
      const daily = async (box: Signalbox) => {
        const { funds } = (await (await box.get('/admin/ledger')).json()) as Daily;
        return { spent: funds[0]?.spent_credits, day: Date.parse(funds[0]?.starts ?? '') };
      };
      const cost = async (box: Signalbox): Promise<number> => {
        const answer = await chat(box);
        expect(answer.status).toBe(200);
        return (await answerOf(answer)).platform.credits_consumed;
      };

      await cost(first);
      const { day } = await daily(first);
      jumpedMs = 3 * DAY_MS;
      let spent = await cost(first);
      const ahead = await daily(first);
      expect([ahead.spent, Math.round((ahead.day - day) / DAY_MS)]).toEqual([spent, 3]);

      jumpedMs = -DAY_MS;
      // Shares of a rate limit refill with a separate, monotonic clock.
      for (let count = 0; count < 5; count++) spent += await cost(first);
      expect(await daily(first)).toEqual({ spent: expect.closeTo(spent, 6), day: ahead.day });
      await stopWell(first);

      jumpedMs = 0;
      const second = await start(data, options);
      expect(linesWith(second, 'the system clock is behind the ledger')).toHaveLength(1);
      spent += await cost(second);
      expect(await daily(second)).toEqual({ spent: expect.closeTo(spent, 6), day: ahead.day });
      await stopWell(second);
    },
    PATIENCE,
  );
});
