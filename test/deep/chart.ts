import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { CHART, chartHash, RENDERINGS, renderedFile, withoutVersion } from '../system/deploy/chart/rendered.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- chart`: Helm itself checks and renders the chart, without a cluster. If Helm is not installed, Go builds it. With
 * `UPDATE=1` the test writes the rendered manifests that the tests of `test/system/deploy/chart.test.ts` read.
 */
const { proved } = effort('chart', 1, 1);
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.5';
const BUILD_MS = 1_800_000;

const home = temporaryFolder();
let helm = Bun.which('helm');
const env = { HOME: home, PATH: process.env.PATH ?? '' };
beforeAll(async () => {
  if (helm !== null) return;
  if (Bun.which('go') === null) throw new Error('This section needs helm, or go to build it.');
  const { code, err } = await runToEnd(['go', 'install', HELM], { GOBIN: home });
  expect([code, err.split('\n').filter((line) => line !== '' && !line.startsWith('go: downloading'))]).toEqual([0, []]);
  helm = join(home, 'helm');
}, BUILD_MS);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (...args: string[]) => runToEnd([helm!, ...args], env);
/** Helm as Go builds it names no recent version of Kubernetes. */
const CLUSTER = ['--kube-version', '1.34.0'];
const template = (...args: string[]) =>
  run('template', 'signalbox', CHART, '--namespace', 'signalbox', ...CLUSTER, ...args);
const COMPANY = RENDERINGS.company!.flatMap((file) => ['--values', file]);

for (const [name, files] of Object.entries(RENDERINGS))
  test(`Helm renders the chart with the values ${name} as the tests expect, and finds no mistake in it`, async () => {
    const options = files.flatMap((file) => ['--values', file]);
    const { code, out, err } = await template(...options);
    expect([code, err]).toEqual([0, '']);
    const text = `# ${chartHash(name)}\n${withoutVersion(out)}`;
    if (process.env.UPDATE) writeFileSync(renderedFile(name), text);
    expect(readFileSync(renderedFile(name), 'utf8')).toBe(text);
    expect((await run('lint', '--strict', CHART, ...CLUSTER, ...options)).code).toBe(0);
    proved(`helm: the chart with the values ${name}, rendered and checked without a cluster`);
  });

test.each([
  ['a misspelled value', ['--set', 'replica=3'], 'replica'],
  ['a misspelled value below another', ['--set', 'ingress.hosts=a'], 'hosts'],
  ['a text for a number', ['--set-string', 'replicas=three'], 'replicas'],
  ['autoscaling without a database', ['--set', 'autoscaling.enabled=true'], 'database.existingSecret'],
  [
    'a policy from two places',
    ['--set', 'policies.existingConfigMap=a', '--set', 'policies.files.b=c'],
    'policies.existingConfigMap',
  ],
])('Helm refuses %s and names it', async (_what, args, named) => {
  const { code, err } = await template(...args);
  expect(code).not.toBe(0);
  expect(err).toContain(named);
});

test('the number of servers is a value, unless an autoscaler sets it', async () => {
  const { out } = await template(...COMPANY, '--set', 'autoscaling.enabled=false', '--set', 'replicas=5');
  expect(out).toContain('replicas: 5');
  expect(out).not.toContain('HorizontalPodAutoscaler');
});
