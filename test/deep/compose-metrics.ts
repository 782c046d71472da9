import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { textOf } from '../system/deploy/manifests.ts';
import { ask, makeKey, type Stage, startStage } from '../system/postgres/stage.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- compose`: the processes of deploy/compose/compose.yaml without containers: PostgreSQL, two servers, and Prometheus with
 * deploy/compose/prometheus.yaml, with other addresses and a shorter interval only. `test/deep/compose.ts` does the same for the proxy.
 */
const { proved } = effort('compose', 1, 1);
if (Bun.which('prometheus') === null)
  throw new Error('This section needs prometheus. On Debian and Ubuntu: apt-get install prometheus.');

const home = temporaryFolder();
const url = `http://127.0.0.1:${freePort()}`;
let stage: Stage;
let prometheus: Bun.Subprocess;
beforeAll(async () => {
  stage = await startStage(2, { isProcess: true, limit: 1_000 });
  const [one, two] = stage.fleet.servers;
  let text = textOf('deploy/compose/prometheus.yaml');
  for (const [from, to] of [
    ['signalbox-1:8787', new URL(one!.url).host],
    ['signalbox-2:8787', new URL(two!.url).host],
    ['scrape_interval: 15s', 'scrape_interval: 1s'],
    ['evaluation_interval: 30s', 'evaluation_interval: 1s'],
  ] as const) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  mkdirSync(join(home, 'etc'));
  writeFileSync(join(home, 'etc/prometheus.yaml'), text);
  cpSync(join(import.meta.dir, '../../deploy/alerts.yaml'), join(home, 'etc/alerts.yaml'));
  prometheus = Bun.spawn(
    [
      'prometheus',
      `--config.file=${join(home, 'etc/prometheus.yaml')}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    { stdout: 'ignore', stderr: Bun.file(join(home, 'log')) },
  );
  await waitFor(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true, 60_000);
}, 300_000);
afterAll(async () => {
  prometheus?.kill();
  await prometheus?.exited;
  await stage?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

interface Answer {
  readonly data: {
    readonly result: readonly { readonly metric: Readonly<Record<string, string>>; readonly value: [number, string] }[];
    readonly groups: readonly { readonly rules: readonly { readonly health: string; readonly lastError?: string }[] }[];
  };
}
const get = async (path: string) => ((await (await fetch(`${url}/api/v1/${path}`)).json()) as Answer).data;
const query = async (expression: string) => (await get(`query?query=${encodeURIComponent(expression)}`)).result;

test('Prometheus scrapes both servers, counts their chats and evaluates every rule without an error', async () => {
  const key = await makeKey(stage, 'blue');
  for (const server of stage.fleet.servers) expect((await ask(server, key)).status).toBe(200);
  const up = await waitFor(async () => {
    const found = await query('up{job="signalbox"} == 1');
    return found.length === 2 ? found : null;
  }, 60_000);
  expect(new Set(up.map(({ metric }) => metric.instance))).toEqual(
    new Set(stage.fleet.servers.map((server) => new URL(server.url).host)),
  );
  await waitFor(async () => {
    const [sum] = await query('sum(signalbox_chats_total{outcome="completed"})');
    return Number(sum?.value[1]) === 2;
  }, 60_000);
  expect(await query('signalbox_requests_open')).toHaveLength(2);
  const rules = await waitFor(async () => {
    const all = (await get('rules')).groups.flatMap((group) => group.rules);
    return all.length > 10 && all.every(({ health }) => health !== 'unknown') ? all : null;
  }, 60_000);
  expect(rules.flatMap(({ health, lastError }) => (health === 'ok' ? [] : [lastError]))).toEqual([]);
  proved(
    'the processes of deploy/compose without containers: Prometheus scrapes two servers that share a PostgreSQL, and evaluates every rule',
  );
}, 300_000);
