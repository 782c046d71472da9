import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policyHere } from '../support/policy-command.ts';
import { runToEnd, type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/** A new operator with only the README: a model, a rule, a budget and their cases are added to a gateway that serves, and hold. */
const ROOT = join(import.meta.dir, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = [...README.matchAll(/^```(\w+) operator\n([\s\S]*?)^```$/gm)].map(([, language, text = '']) => ({
  language,
  text,
}));
const [policy = '', ...more] = blocks.filter(({ language }) => language === 'yaml').map(({ text }) => text);
const [checks = '', makeKey = '', ask = ''] = blocks
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);

const folder = temporaryFolder();
const file = join(folder, 'team.yaml');
let box: Signalbox;
beforeAll(async () => {
  cpSync(join(ROOT, 'policies'), folder, { recursive: true });
  box = await startSignalbox({ args: ['--policies', folder] });
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true });
});

const run = (text: string, more: Readonly<Record<string, string>> = {}) =>
  runToEnd(
    ['sh', '-ec', text.replaceAll('http://127.0.0.1:8787', box.url)],
    { SIGNALBOX_DATA: box.data, SIGNALBOX_POLICIES: folder, ...more },
    ROOT,
  );

/** The answer to the README's request; a key that was just made is known within a second. */
async function askOf(LEGAL_KEY: string) {
  for (const end = Date.now() + 10_000; ; await Bun.sleep(100)) {
    const answer = JSON.parse((await run(ask, { LEGAL_KEY })).out);
    if (answer.error?.code !== 'invalid_api_key' || Date.now() > end) return answer;
  }
}

/** Saves the file and waits until it serves. */
async function save(text: string): Promise<void> {
  const revision = async () => ((await (await box.get('/admin/policy')).json()) as { revision: string }).revision;
  const before = await revision();
  writeFileSync(file, text);
  for (const end = Date.now() + 10_000; (await revision()) === before; await Bun.sleep(20)) {
    if (Date.now() > end) throw new Error('the edit is not in force');
  }
}

test('the README’s own policy is added while it serves, and its model, rule, budget and cases hold', async () => {
  expect(more).toEqual([]);
  await save(policy);
  const checked = await run(checks);
  expect({ code: checked.code, err: checked.code === 0 ? '' : checked.err }).toEqual({ code: 0, err: '' });
  expect(checked.out).not.toContain('error');
  expect(checked.out).toMatch(/cases: \d+ hold$/m);
  expect(checked.out).toContain('legal work stays on our own hardware');

  const { out } = await run(makeKey);
  const [LEGAL_KEY = ''] = /sb_live_[\w-]+/.exec(out) ?? [];
  const answer = await askOf(LEGAL_KEY);
  expect(answer).toMatchObject({ platform: { routed_model: 'house-model' } });
  expect(answer.platform.credits_consumed).toBeGreaterThan(0);
  const others = await askOf(box.key);
  expect(others.platform.routed_model).toStartWith('sim-');

  await save(policy.replace('limit_credits: 50', 'limit_credits: 0.01'));
  expect((await askOf(LEGAL_KEY)).error).toMatchObject({ code: 'insufficient_quota' });
  expect((await askOf(box.key)).error).toBeUndefined();
}, 30_000);

const policyOf = (command: string) => policyHere([command], { folder, data: box.data, env: {} });

test('each of the README’s cases fails without the rule or the model that it is about', async () => {
  writeFileSync(file, policy.replace('"local" in model.tags', 'model.price.output < 1000.0'));
  const { code, out } = await policyOf('test');
  expect(code).toBe(2);
  expect(out).toContain('legal work stays on our own hardware');
  writeFileSync(file, policy.replace('key.labels.department == "legal"', 'key.labels.department == ""'));
  expect((await policyOf('test')).out).toContain('everybody else gets the best that suits');
  writeFileSync(file, policy.replace(/\n {2}house-model:/, '\n  home-model:'));
  expect((await policyOf('check')).out).toMatch(/team\.yaml:\d+:\d+[\s\S]*house-model/);
}, 30_000);
