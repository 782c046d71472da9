import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeUpstream } from '../../../support/fake-upstream.ts';
import { runHere } from '../../../support/run-here.ts';
import { runCommand, startSignalbox, temporaryFolder } from '../../../support/signalbox.ts';
import { CONFIGS, imported } from './support.ts';

const PRICE = 'input_cost_per_token: 1e-6, output_cost_per_token: 2e-6';
const folder = temporaryFolder();
const config = (name: string) => join(CONFIGS, `${name}.yaml`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('an imported configuration passes the policy commands even if no variable is set', async () => {
  const out = join(folder, 'policies');
  const made = await runHere(['import', 'litellm', config('fallbacks'), '--out', out, '--json']);
  expect([made.code, made.err]).toEqual([0, '']);
  const report = JSON.parse(made.out);
  expect(report.files).toEqual(['signalbox.yaml', 'providers.yaml', 'models.yaml', 'cases.yaml']);
  const alias = report.keys.find(({ key }: { key: string }) => key === 'router_settings.model_group_alias.gpt-4');
  expect(alias).toMatchObject({ line: 60, column: 5, outcome: 'mapped', to: 'models.desk-openai.aliases' });
  const [file = '', line = ''] = alias.place.split(':');
  expect(readFileSync(join(out, file), 'utf8').split('\n')[Number(line) - 1]).toBe('    aliases: [gpt-4, gpt-4-turbo]');
  const [checked, tested] = await Promise.all([runHere(['policy', 'check', out]), runHere(['policy', 'test', out])]);
  expect([checked.code, tested.code]).toEqual([0, 0]);
  const schema = await runHere(['policy', 'schema', out]);
  expect(readFileSync(join(out, 'policy.schema.json'), 'utf8')).toBe(schema.out);
});

test('a model of the public table is written with its hours, its service tiers and its next price', async () => {
  const file = join(folder, 'moving.yaml');
  const names = ['deepseek/deepseek-v4-pro', 'gemini/gemini-3.7-flash', 'openai/gpt-5.4', 'deepseek/deepseek-chat'];
  writeFileSync(
    file,
    `model_list:\n${names.map((name) => `  - { model_name: ${name.split('/')[1]}, litellm_params: { model: ${name} } }\n`).join('')}`,
  );
  const out = join(folder, 'moving');
  const made = await runHere(['import', 'litellm', file, '--out', out, '--json']);
  // A name that its vendor moved from model to model has no public price.
  expect(Object.keys(JSON.parse(made.out).questions)).toEqual(['deepseek-chat']);
  const models = readFileSync(join(out, 'models.yaml'), 'utf8');
  expect(models).not.toContain('[]');
  for (const key of ['hours:', 'service_tiers:', 'until: 2027-01-01', 'later:']) expect(models).toContain(key);
  expect((await runHere(['policy', 'check', out])).code).toBe(0);
});

test('imported guardrails act on requests, and the folder contains the report that the command prints', async () => {
  const file = join(folder, 'guarded.yaml');
  const rule = (name: string, params: string) =>
    `  - { guardrail_name: ${name}, litellm_params: { default_on: true, mode: pre_call, ${params} } }\n`;
  const words = 'blocked_words: [{ keyword: project falcon, action: BLOCK }]';
  writeFileSync(
    file,
    `model_list: [{ model_name: desk, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, ${PRICE} } }]
guardrails:
${rule('no-keys', 'guardrail: hide-secrets')}${rule('house', `guardrail: litellm_content_filter, ${words}`)}`,
  );
  const out = join(folder, 'guarded');
  const made = await runHere(['import', 'litellm', file, '--out', out]);
  expect(readFileSync(join(out, 'import-report.txt'), 'utf8')).toBe(made.out);
  writeFileSync(
    join(out, 'own.yaml'),
    `cases:
  - { name: keys, given: { model: desk, messages: [{ role: user, content: "My password = Tr0ub4dor&3xyz" }] }, expect: { masked: [no-keys] } }
  - { name: words, given: { model: desk, messages: [{ role: user, content: About Project Falcon }] }, expect: { blocked: house } }
`,
  );
  const tested = await runHere(['policy', 'test', out]);
  expect([tested.code, tested.out]).toEqual([0, expect.stringContaining('3 cases: 3 hold')]);
});

test('an endless file is rejected by its size limit', async () => {
  const { code, err } = await runCommand(['import', 'litellm', '/dev/zero', '--out', join(folder, 'endless')]);
  expect([code, err]).toEqual([1, 'signalbox: /dev/zero has more than 4194304 bytes, the most that import reads.\n']);
});

test('import overwrites nothing without --force, and writes nothing when the import fails', async () => {
  const out = join(folder, 'mine');
  mkdirSync(out);
  writeFileSync(join(out, 'mine.yaml'), 'version: 1\n');
  const before = readdirSync(folder);
  const run = (...args: string[]) => runHere(['import', 'litellm', ...args, '--out', out]);
  const [full, types, text, forced] = [
    await run(config('quickstart')),
    await run(config('broken-types'), '--force'),
    await run(config('not-yaml'), '--force'),
    await run(config('broken-entries'), '--force'),
  ];
  expect([full.code, types.code, text.code, forced.code]).toEqual([1, 1, 1, 2]);
  expect(full.err).toContain('is not empty. Name another folder with --out');
  expect(types.err).toContain('4:1 model_list: ');
  expect(text.err).toContain('not-yaml.yaml:5:1: a tab is used for indentation');
  expect(forced.out).toContain('broken-entries.yaml:50:7 ');
  expect(forced.out).toContain('Check mine.yaml: the folder had these files before the import');
  expect(readdirSync(out)).toContain('mine.yaml');
  expect(readdirSync(folder)).toEqual(before);
});

test('includes are read only from the folder of the configuration, under any name', async () => {
  const home = join(folder, 'with-includes');
  mkdirSync(join(home, 'more'), { recursive: true });
  const outside = join(folder, 'outside.yaml');
  const model = (name: string) =>
    `model_list: [{ model_name: ${name}, litellm_params: { model: openai/gpt-4o-${name}, ${PRICE} } }]\n`;
  writeFileSync(outside, model('far'));
  symlinkSync(outside, join(home, 'link.yaml'));
  writeFileSync(join(home, 'more/b.yaml'), model('b'));
  const names = `[more/b.yaml, ../outside.yaml, ${outside}, link.yaml, more]`;
  writeFileSync(join(home, 'config.yaml'), `include: ${names}\n${model('a')}`);
  const { code, out } = await runHere([
    ...['import', 'litellm', join(home, 'config.yaml'), '--json'],
    ...['--out', join(folder, 'included')],
  ]);
  const report = JSON.parse(out);
  expect([code, report.models]).toEqual([2, ['a', 'b']]);
  const leadsOut = 'it is outside the folder of the configuration; copy the file into that folder';
  expect(report.problems.map(({ message }: { message: string }) => message)).toEqual([
    ...[leadsOut, leadsOut, leadsOut],
    'it is not a file',
  ]);
  expect(report.keys.map(({ file }: { file: string }) => file)).toContain('more/b.yaml');
});

test('an imported policy serves chats under the callers’ usual model names, with keys from variables and with fallbacks', async () => {
  const upstream = startFakeUpstream();
  const { files } = imported(`
model_list:
  - model_name: house
    litellm_params: { model: openai/house-7b, api_base: ${upstream.url}, api_key: os.environ/HOUSE_KEY, ${PRICE} }
  - model_name: down
    litellm_params: { model: openai/big, api_base: "http://127.0.0.1:9/v1", api_key: none }
router_settings: { model_group_alias: { gpt-4: house }, fallbacks: [{ down: [house] }] }
`);
  const policy = Object.fromEntries(files.map(({ name, text }) => [name, text]));
  const server = await startSignalbox({ policy, env: { HOUSE_KEY: 'a-key-of-the-house' } });
  try {
    const answer = await server.post('/v1/chat/completions', {
      model: 'gpt-4',
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ model: 'house' });
    const other = await server.post('/v1/chat/completions', {
      model: 'down',
      messages: [{ role: 'user', content: 'hi' }],
    });
    const { model, platform } = (await other.json()) as { model: string; platform: { attempts: { model: string }[] } };
    expect([model, platform.attempts.map((attempt) => attempt.model).at(0)]).toEqual(['house', 'down']);
    expect(upstream.requests[0]?.body.model).toBe('house-7b');
    expect(JSON.stringify(upstream.requests[0]?.headers)).toContain('a-key-of-the-house');
  } finally {
    await server.stop();
    await upstream.stop();
  }
});
