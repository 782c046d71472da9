import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventsOf, waitFor } from '../support/answers.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { textOf } from '../system/deploy/manifests.ts';
import { ask, audit, booked, COST, chat, makeKey, type Stage, startStage } from '../system/postgres/stage.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- proxies`: deploy/compose/haproxy.cfg with other names only, in front of two servers that share one PostgreSQL
 * database.
 */
const { proved } = effort('proxies', 1, 1);
if (Bun.which('haproxy') === null)
  throw new Error('This section needs haproxy. On Debian and Ubuntu: apt-get install haproxy.');

const home = temporaryFolder();
const port = freePort();
let stage: Stage;
let haproxy: Bun.Subprocess;
beforeAll(async () => {
  stage = await startStage(2, { isProcess: true, limit: 1_000 });
  const [one, two] = stage.fleet.servers;
  let text = textOf('deploy/compose/haproxy.cfg');
  for (const [from, to] of [
    [' signalbox-1:8787', ` ${new URL(one!.url).host}`],
    [' signalbox-2:8787', ` ${new URL(two!.url).host}`],
    ['bind :8787', `bind 127.0.0.1:${port}`],
  ] as const) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(join(home, 'haproxy.cfg'), text);
  haproxy = Bun.spawn(['haproxy', '-db', '-f', join(home, 'haproxy.cfg')], {
    stdout: 'ignore',
    stderr: Bun.file(join(home, 'log')),
  });
  await waitFor(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true);
});
afterAll(async () => {
  haproxy?.kill();
  await haproxy?.exited;
  await stage?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

test('callers of the proxy notice nothing while a server stops: a stream continues, and no request fails or is charged twice', async () => {
  const { fleet, gate } = stage;
  const [first, second] = fleet.servers;
  const key = await makeKey(stage, 'blue');
  const front = {
    ...first!,
    post: (path: string, body: unknown, init: RequestInit = {}) => {
      const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) };
      return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body), ...init, headers });
    },
  } as typeof first & object;

  // Each server gets a stream, because the proxy sends a request to the server with fewer requests.
  gate.close();
  const streams = [chat(front, key, { stream: true }), chat(front, key, { stream: true })];
  await waitFor(() => gate.inside === 2);
  first!.signal('SIGTERM');
  gate.open();
  let isGone = false;
  void first!.exited.then(() => {
    isGone = true;
  });
  const told: number[] = [];
  for (let more = 20; more > 0; more -= isGone ? 1 : 0) {
    const { status, micro } = await ask(front, key);
    expect(status).toBe(200);
    told.push(micro);
  }
  for (const stream of streams) expect((await eventsOf(await stream)).done).toBe(true);
  expect(await booked(second!, 'blue')).toBe((told.length + 2) * COST);
  expect(told).toEqual(told.map(() => COST));
  expect(await audit(second!)).toBe('nothing wrong');
  // HAProxy logs this message if its health check uses the wrong protocol or path.
  expect(readFileSync(join(home, 'log'), 'utf8')).not.toContain('wrong status');
  proved(
    'haproxy: deploy/compose/haproxy.cfg has callers notice nothing while one of two servers at a PostgreSQL stops',
  );
});
