import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { freePort } from '../../support/ports.ts';
import { runHere } from '../../support/run-here.ts';
import { cleanEnvironment, makeTestKey, PROGRAM, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

const PATIENCE = 30_000;
const NO_KEY = { SIGNALBOX_API_KEY: '' };
const KEY = /^sb_live_[a-z0-9]{12}_[\w-]{43}\n$/;

const folder = temporaryFolder();
const cleanUps: (() => unknown)[] = [];
let folders = 0;

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newFolder(): string {
  const path = join(folder, `data${++folders}`);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

const keyFile = (data: string) => join(data, 'admin.key');
const partFile = (data: string) => join(data, 'admin.key.part');

async function start(data: string, env: Readonly<Record<string, string>> = NO_KEY) {
  const box = await startSignalbox({ data, env });
  cleanUps.push(() => box.stop());
  return box;
}

async function statusWith(url: string, key: string): Promise<number> {
  return (await fetch(`${url}/admin/keys`, { headers: { authorization: `Bearer ${key.trim()}` } })).status;
}

/** Returns the keys in the database. */
async function known(data: string): Promise<readonly { name: string; revoked_at: unknown }[]> {
  const { out } = await runHere(['keys', 'list', '--json', '--data', data]);
  return JSON.parse(out).data;
}

/** Resolves once the port accepts a connection. The kernel accepts before the server answers anything. */
const taken = (port: number): Promise<true | null> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: true | null) => {
      socket.destroy();
      done(result);
    };
    socket.once('connect', () => end(true)).once('error', () => end(null));
  });

test(
  'the key file is complete before the port accepts its first connection',
  async () => {
    const data = newFolder();
    const port = freePort();
    const child = Bun.spawn([PROGRAM, 'serve', '--port', String(port), '--data', data], {
      env: cleanEnvironment({}),
      stdout: 'ignore',
      stderr: 'ignore',
    });
    cleanUps.push(async () => {
      child.kill('SIGKILL');
      await child.exited;
    });
    while ((await taken(port)) === null) await Bun.sleep(1);
    const key = existsSync(keyFile(data)) ? readFileSync(keyFile(data), 'utf8') : 'no file';
    expect(key).toMatch(KEY);
    expect(await waitFor(() => statusWith(`http://127.0.0.1:${port}`, key).catch(() => null))).toBe(200);
    expect(existsSync(partFile(data))).toBe(false);
  },
  PATIENCE,
);

describe('after a first start that was killed', () => {
  test(
    'before the database knew a key, a part of a key file is replaced by a key that opens the server',
    async () => {
      const data = newFolder();
      writeFileSync(partFile(data), 'sb_live_abc');
      const box = await start(data);
      const key = readFileSync(keyFile(data), 'utf8');
      expect(key).toMatch(KEY);
      expect((statSync(keyFile(data)).mode & 0o777).toString(8)).toBe('600');
      expect(await statusWith(box.url, key)).toBe(200);
      expect([existsSync(partFile(data)), (await known(data)).length]).toEqual([false, 1]);
    },
    PATIENCE,
  );

  test(
    'between the commit and the rename, the next start delivers the key and creates no other',
    async () => {
      const data = newFolder();
      await (await start(data)).stop();
      const key = readFileSync(keyFile(data), 'utf8');
      renameSync(keyFile(data), partFile(data));
      const box = await start(data);
      expect(readFileSync(keyFile(data), 'utf8')).toBe(key);
      expect(await statusWith(box.url, key)).toBe(200);
      expect([existsSync(partFile(data)), (await known(data)).length]).toEqual([false, 1]);
    },
    PATIENCE,
  );

  test(
    'a start with SIGNALBOX_API_KEY removes an incomplete key file',
    async () => {
      const data = newFolder();
      writeFileSync(partFile(data), `${makeTestKey('stranger0000')}\n`);
      const box = await start(data, { SIGNALBOX_API_KEY: makeTestKey() });
      expect([existsSync(partFile(data)), existsSync(keyFile(data))]).toEqual([false, false]);
      expect(await statusWith(box.url, box.key)).toBe(200);
    },
    PATIENCE,
  );
});

/** Starts the server on a terminal, and returns its output up to the example command. */
async function shownBy(data: string, ...args: readonly string[]): Promise<string> {
  let shown = '';
  const child = Bun.spawn([PROGRAM, 'serve', '--port', '0', '--data', data, ...args], {
    env: cleanEnvironment({}),
    terminal: {
      cols: 200,
      data: (_, bytes) => {
        shown += new TextDecoder().decode(bytes);
      },
    },
  });
  cleanUps.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
    child.terminal?.close();
  });
  await waitFor(() => shown.includes('Try it:'));
  return shown;
}

test('on a terminal, the next start shows a key that no start has shown yet', async () => {
  const data = newFolder();
  await (await start(data)).stop();
  const key = readFileSync(keyFile(data), 'utf8').trim();
  renameSync(keyFile(data), partFile(data));
  expect(await shownBy(data)).toContain(key);
  await waitFor(() => !existsSync(partFile(data)));
  expect(existsSync(keyFile(data))).toBe(false);
});

test('on a terminal, the first line is the name and version, not a line of the log', async () => {
  const [first] = (await shownBy(newFolder())).split(/\r?\n/);
  expect(first).toMatch(/^Signalbox \d+\.\d+\.\d+\S*$/);
});

test.each(['127.0.0.1', '0.0.0.0'])(
  'on a terminal a start at %s shows an address that opens the console',
  async (host) => {
    const shown = await shownBy(newFolder(), '--host', host);
    const [, address = ''] = /Console +(\S+\/console);/.exec(shown) ?? [];
    const page = await fetch(address);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    const key = /sb_live_\w{12}_[\w-]{43}/.exec(shown)?.[0];
    const { origin } = new URL(address);
    const body = JSON.stringify({ key });
    const headers = { origin, 'content-type': 'application/json' };
    expect((await fetch(`${address}/sign-in/key`, { method: 'POST', headers, body })).ok).toBe(true);
  },
);
