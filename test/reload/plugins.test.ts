import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { orDeeply } from '../deep/deeply.ts';
import { adviceOf, waitFor } from '../support/answers.ts';
import { type LivePolicy, type PolicyAnswer, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const upstream = useUpstream();
let live: LivePolicy | null = null;

afterEach(async () => {
  await live?.stop();
  live = null;
});

/** A policy with two models of equal price, and optionally a selector with an operator's own strategy. */
const policy = (plugins: readonly string[], strategy: string | null = 'thrifty') =>
  testPolicy(
    { first: upstream.url },
    { good: { endpoints: ['first'], quality: 0.9 }, poor: { endpoints: ['first'], quality: 0.2 } },
    `${plugins.length > 0 ? `plugins:\n${plugins.map((name) => `  - ${name}\n`).join('')}` : ''}${
      strategy === null ? '' : `selectors:\n  mine: { strategy: ${strategy} }\n`
    }`,
  );

/** The strategy prefers high quality with sign 1, low quality with -1. The sign is in a file of its own. */
const STRATEGY = `import { defineStrategy, Type } from 'signalbox/plugin';
import { sign } from './sign.ts';
export const thrifty = defineStrategy({
  name: 'thrifty',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({
    reason: 'contrary',
    score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = sign * quality[i]; },
  }),
});
`;
const sign = (value: number) => `export const sign = ${value};\n`;

function write(folder: string, name: string, text: string): void {
  const path = `${folder}/${name}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function withPlugin(folder: string): void {
  write(folder, 'plugins/thrifty.ts', STRATEGY);
  write(folder, 'plugins/sign.ts', sign(-1));
}

const route = async ({ box }: Pick<LivePolicy, 'box'>) => adviceOf(await box.post('/v1/route', { model: 'mine' }));

test('a strategy of the operator, named by a path relative to the policy, decides', async () => {
  live = await startLivePolicy({ 'policy.yaml': policy(['./plugins/thrifty.ts']) }, { layOut: withPlugin });
  expect(await route(live)).toMatchObject({ recommended_model: 'poor', route_reason: 'mine:contrary' });
});

test('a package that is installed next to the policy loads by its name', async () => {
  live = await startLivePolicy(
    { 'policy.yaml': policy(['"@acme/thrifty"']) },
    {
      layOut: (folder) => {
        const home = 'node_modules/@acme/thrifty';
        write(folder, `${home}/package.json`, '{"name": "@acme/thrifty", "main": "./main.ts"}');
        write(folder, `${home}/main.ts`, STRATEGY);
        write(folder, `${home}/sign.ts`, sign(1));
      },
    },
  );
  expect(await route(live)).toMatchObject({ recommended_model: 'good', route_reason: 'mine:contrary' });
});

test('changed plugin code is part of the revision, is reported, and takes effect at a restart', async () => {
  live = await startLivePolicy({ 'policy.yaml': policy(['./plugins/thrifty.ts']) }, { layOut: withPlugin });
  const { revision } = await live.status();
  write(live.folder, 'plugins/sign.ts', sign(1));
  const status = await waitFor(async () => {
    const answer = await live!.status();
    return answer.outdated_plugins.length > 0 ? answer : null;
  });
  expect(status).toMatchObject({ revision, outdated_plugins: ['./plugins/thrifty.ts'] });
  expect(status.last_reload.message).toContain('restart the server to use the new code');
  expect((await route(live)).recommended_model).toBe('poor');

  const { folder } = live;
  // The server runs in a process of its own, because modules are loaded once for each process.
  const box = await startSignalbox({ env: UPSTREAM_ENV, args: ['--policies', folder], isProcess: true });
  const { revision: next } = (await (await box.get('/admin/policy')).json()) as PolicyAnswer;
  expect(next).not.toBe(revision);
  expect((await route({ box })).recommended_model).toBe('good');
  await box.stop();
});

test('a reload adds a plugin, refuses it while it is broken, and accepts it once it is fixed', async () => {
  live = await startLivePolicy({ 'policy.yaml': policy([], null) });
  const { revision } = await live.status();
  withPlugin(live.folder);
  write(live.folder, 'plugins/thrifty.ts', `${STRATEGY}oh no(`);
  live.write('policy.yaml', policy(['./plugins/thrifty.ts']));
  const { last_reload: last } = await live.refused();
  expect(last.diagnostics[0]).toMatchObject({ code: 'plugin-not-loaded' });
  write(live.folder, 'plugins/thrifty.ts', STRATEGY);
  await live.changedFrom(revision);
  expect((await route(live)).recommended_model).toBe('poor');
});

const REFUSED: readonly (readonly [what: string, code: string, expected: RegExp])[] = [
  ['throws while it is loaded', `throw new Error('out of order')`, /out of order/],
  [
    'has a `prepare` that cannot be called',
    `export default { kind: 'strategy', name: 'thrifty', options: {}, prepare: 1 }`,
    /no prepare function/,
  ],
  ['has a bad name', `export default { kind: 'strategy', name: 'Th rifty', options: {}, prepare() {} }`, /lower-case/],
  ['has no schema', `export default { kind: 'strategy', name: 'thrifty', prepare() {} }`, /no schema/],
  ['exports none', 'export const nothing = 1;', /exports no plugin/],
  ['imports a file that does not exist', `import './gone.ts';`, /gone/],
  ['takes a shipped name', STRATEGY.replace(`name: 'thrifty'`, `name: 'auto'`), /already exists/],
];

for (const [what, code, expected] of orDeeply(REFUSED.slice(0, 3), REFUSED.slice(3))) {
  test(`a plugin that ${what} is reported at its location`, async () => {
    live = await startLivePolicy({ 'policy.yaml': policy([], null) });
    withPlugin(live.folder);
    write(live.folder, 'plugins/thrifty.ts', code);
    const text = policy(['./plugins/thrifty.ts'], null);
    live.write('policy.yaml', text);
    const { out, code: ended } = await runHere(['policy', 'check', live.folder]);
    expect(out).toMatch(expected);
    expect(out).toMatch(/policy\.yaml:\d+:\d+/);
    expect(ended).toBe(2);
    const { last_reload: last } = await live.refused();
    expect(last.diagnostics[0]!.line).toBe(text.split('\n').findIndex((line) => line.includes('thrifty.ts')) + 1);
  });
}

test('a strategy without a score or with wrong margins is refused, and a path without its leading dot gets a hint', async () => {
  const checked = async (code: string, text: string) => {
    const folder = temporaryFolder();
    withPlugin(folder);
    write(folder, 'plugins/thrifty.ts', code);
    write(folder, 'policy.yaml', text);
    const { out } = await runHere(['policy', 'check', folder]);
    rmSync(folder, { recursive: true });
    return out;
  };
  const named = policy(['./plugins/thrifty.ts']);
  expect(await checked(STRATEGY.replace('score', 'skore'), named)).toContain('`prepare` returns no `score` function');
  const unsafe = STRATEGY.replace('score', "per: 'build', margin: 0.1, strongMargin: 0.2, score");
  expect(await checked(unsafe, named)).toContain('`strongMargin` is 0.2; it must be a number from 0 to `margin`');
  // Options in plain JSON Schema used to be reported as `Unknown type`, without a location.
  const plain = STRATEGY.replace(/options: .*/, "options: { type: 'object' },");
  expect(await checked(plain, named)).toContain('must be a TypeBox schema');
  expect(await checked(STRATEGY, policy(['plugins/thrifty.ts'], null))).toContain(
    'to load a file of the policy folder, write `./plugins/thrifty.ts`',
  );
});

test('a package that is not installed is never downloaded', async () => {
  live = await startLivePolicy({ 'policy.yaml': policy([], null) });
  live.write('policy.yaml', policy(['left-pad'], null));
  expect((await live.refused()).last_reload.diagnostics[0]!.message).toContain('not installed');
});
