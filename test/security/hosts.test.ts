import { beforeAll, expect, test } from 'bun:test';
import { isDeep } from '../deep/effort.ts';
import { connect } from '../support/raw-http.ts';
import { isForOperators, ROUTES } from '../support/routes.ts';
import { useSignalbox } from '../support/use.ts';

let plain: string;

const box = useSignalbox({});
beforeAll(async () => {
  plain = await box.makeKey();
});

/** What Host can be so that the server makes no whole address of the request. */
const HOSTS: readonly (string | null)[] = ['', 'a@b', 'x/v1/models', 'a b', 'h?x', 'h#x', '/', '//', '[', null];
/** Open routes, and one that a plain key may use, with the locked path where a query would stand. */
const DISGUISES = ['/x/healthz?', '/x/docs?', '/healthz?', '/x/v1/route?', '/x/v1/chat/completions?', '/?', '//?', '?'];

async function statusOf(method: string, target: string, host: string | null, key: string | null): Promise<number> {
  const connection = await connect(box.url);
  const lines = [
    `${method} ${target} HTTP/1.${host === null ? 0 : 1}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    'Content-Length: 2',
    'Connection: close',
  ];
  await connection.write(`${lines.join('\r\n')}\r\n\r\n{}`);
  const text = await Promise.race([connection.closed, Bun.sleep(2_000).then(() => connection.received)]);
  connection.close();
  // The start page and health, with a query that means nothing to them.
  if (target.startsWith('/?') && /^location: \/docs\r$/im.test(text)) return 404;
  if (target.startsWith('/healthz?') && text.endsWith('{"status":"ok"}')) return 404;
  return Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1] ?? 0);
}

const locked = ROUTES.filter(({ path }) => path.startsWith('/admin/') || path.startsWith('/v1/'));

test('no Host, and nothing in the target, opens a locked route without its key, or an admin’s to another', async () => {
  const opened: string[] = [];
  for (const [nth, route] of locked.entries()) {
    const { method, path } = route;
    const target = path.replace(':id', 'dec_00000000000').replace('*', 'auto');
    // In `npm test` each with a fifth of the hosts, others at the next route.
    for (const host of HOSTS.filter((_, at) => isDeep || (at + nth) % 5 === 0)) {
      const tries = [target, ...DISGUISES.map((disguise) => `${disguise}${target}`)].flatMap((way) => [
        [way, null] as const,
        ...(isForOperators(route) ? [[way, plain] as const] : []),
      ]);
      const statuses = await Promise.all(tries.map(([way, key]) => statusOf(method, way, host, key)));
      for (const [at, status] of statuses.entries()) {
        // 0: the connection was closed without a word.
        const isShut = status === 0 || (status >= 400 && status < 500);
        if (!isShut)
          opened.push(`${method} ${tries[at]![0]} Host ${host} ${tries[at]![1] ? 'plain' : 'no'} key: ${status}`);
      }
    }
  }
  expect(opened).toEqual([]);
}, 60_000);

test('a request that names its host is read as ever', async () => {
  expect(await statusOf('GET', '/healthz', 'gw', null)).toBe(200);
  expect(await statusOf('GET', '/v1/models', 'a.example:8787', plain)).toBe(200);
  expect(await statusOf('GET', '/admin/keys', '[::1]:8787', plain)).toBe(403);
});
