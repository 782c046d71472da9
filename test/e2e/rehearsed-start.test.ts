import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/** A strategy that prefers high quality, or low quality if a file outside the policy has a mood of -1. */
const MOODY = `import { readFileSync } from 'node:fs';
import { defineStrategy, Type } from 'signalbox/plugin';
const mood = () => Number(readFileSync(import.meta.dir + '/../../mood', 'utf8'));
export const moody = defineStrategy({
  name: 'moody',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({
    reason: 'moody',
    score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = mood() * quality[i]; },
  }),
});
`;

const POLICY = testPolicy(
  { first: 'http://127.0.0.1:9/v1' },
  { good: { endpoints: ['first'], quality: 0.9 }, poor: { endpoints: ['first'], quality: 0.2 } },
  `plugins: [./plugins/moody.ts]
selectors: { mine: { strategy: moody } }
cases:
  - { name: the good one, given: { model: mine }, expect: { model: good } }
`,
);
const PASSED = 'the test cases of the policy passed after the start';

let folder = '';
let box: Signalbox | null = null;
const policies = () => join(folder, 'policies');
const note = () => join(folder, 'data', 'policy.rehearsed');
const feel = (mood: number) => writeFileSync(join(folder, 'mood'), `${mood}`);

async function start(options: StartOptions = {}): Promise<Signalbox> {
  const args = ['--policies', policies()];
  box = await startSignalbox({
    data: join(folder, 'data'),
    args,
    ...options,
    env: { ...UPSTREAM_ENV, ...options.env },
  });
  return box;
}

async function stop(): Promise<void> {
  await box?.stop();
  box = null;
}

const logged = (message: string) => box?.lines.find((line) => line.includes(message));
/** Returns the value of `signalbox_policy_last_reload_failed`. */
const failedOf = async ({ url }: Signalbox) =>
  /^signalbox_policy_last_reload_failed (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
const stateOf = async ({ url }: Signalbox) => {
  const answer = (await (await fetch(`${url}/readyz`)).json()) as { readonly policy: { readonly state: string } };
  return answer.policy.state;
};

beforeEach(async () => {
  folder = temporaryFolder();
  mkdirSync(join(policies(), 'plugins'), { recursive: true });
  writeFileSync(join(policies(), 'policy.yaml'), POLICY);
  writeFileSync(join(policies(), 'plugins', 'moody.ts'), MOODY);
  feel(1);
  await start();
  expect(logged(PASSED)).toBeUndefined();
  await stop();
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a start with the policy that served last', () => {
  test('a start with the last active policy listens without waiting for its test cases, and runs them afterwards', async () => {
    await start();
    await waitFor(() => logged(PASSED));
    expect(await stateOf(box!)).toBe('in_force');
    await stop();
    await start();
    await waitFor(() => logged(PASSED));
  });

  test('if the test cases fail after the start, the server keeps serving and reports it; a restart refuses the policy', async () => {
    feel(-1);
    const server = await start();
    const line = await waitFor(() => logged('policy refused'));
    expect(JSON.parse(line)).toMatchObject({
      level: 'error',
      cause: 'start',
      first: expect.stringContaining('case-failed'),
    });
    expect(await stateOf(server)).toBe('cases_failed');
    expect(await failedOf(server)).toBe('1');
    expect(await (await server.get('/admin/policy')).json()).toMatchObject({
      last_reload: { cause: 'start', result: 'refused', diagnostics: [{ code: 'case-failed' }] },
    });
    expect((await server.post('/v1/route', { model: 'mine' })).status).toBe(200);
    await stop();
    await expect(start()).rejects.toThrow('case-failed');
  });

  test('a reload whose test cases pass clears the failure', async () => {
    feel(-1);
    const server = await start();
    await waitFor(() => logged('policy refused'));
    const reload = () => server.post('/admin/policy/reload', {});
    expect((await reload()).status).toBe(422);
    expect(await stateOf(server)).toBe('cases_failed');
    feel(1);
    expect((await reload()).status).toBe(200);
    expect(await stateOf(server)).toBe('in_force');
    expect(await failedOf(server)).toBe('0');
  });

  test('a policy that became active through an edit need not run its test cases at the next start either', async () => {
    const server = await start();
    await waitFor(() => logged(PASSED));
    appendFileSync(join(policies(), 'policy.yaml'), '# edited\n');
    expect(await (await server.post('/admin/policy/reload', {})).json()).toMatchObject({ result: 'applied' });
    await stop();
    await start();
    await waitFor(() => logged(PASSED));
  });
});

describe('a start runs the test cases before it listens', () => {
  const edit = (...path: string[]) => appendFileSync(join(policies(), ...path), '\n');
  const changes: readonly (readonly [how: string, change: () => void, options?: StartOptions])[] = [
    ['after an edit of the text', () => edit('policy.yaml')],
    ['with other code of a plugin', () => edit('plugins', 'moody.ts')],
    [
      'with another value of a variable that the policy reads',
      () => {},
      { env: { TEST_UPSTREAM_KEY: 'another-key-for-tests' } },
    ],
    ['in another version', () => {}, { version: '0.0.1-test' }],
    ['without a note', () => rmSync(note())],
    ['with a damaged note', () => writeFileSync(note(), readFileSync(note(), 'utf8').replace(/.\n$/, 'x\n'))],
    ['with a forged note', () => writeFileSync(note(), `${'0'.repeat(64)} ${'0'.repeat(64)}\n`)],
    ['with a long note', () => writeFileSync(note(), Buffer.alloc(1_000_000, 'a'))],
    ['with a folder in place of its note', () => [rmSync(note()), mkdirSync(note())]],
  ];
  for (const [how, change, options] of changes) {
    test(how, async () => {
      change();
      feel(-1);
      await expect(start(options)).rejects.toThrow('case-failed');
      feel(1);
      await start(options);
      expect(await stateOf(box!)).toBe('in_force');
    });
  }
});
