import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type { Static, TSchema } from '@sinclair/typebox';
import { PolicyExplanation } from '../../src/admin/policy-explanation.ts';
import { PolicyCheck } from '../../src/admin/policy-tool-answers.ts';
import { SchemaCheck } from '../../src/core/schema/check.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';
import { useLivePolicy } from '../support/use.ts';

/** The orders of the selectors in a policy of three models, and the table of what they choose: by command and over HTTP. */
const model = (id: string, input: number, output: number, quality: string, provider = 'sim') =>
  `  ${id}: { provider: ${provider}, price: { input: ${input}, output: ${output}, as_of: 2026-11-20, basis: own }, context_window: 128000, max_output: 16000, latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }, quality: { ${quality}, basis: guessed, as_of: 2026-11-20 } }\n`;
const MODELS = [
  model('small', 0.2, 0.8, 'default: 0.75, coding: 0.55'),
  model('medium', 1, 4, 'default: 0.82, coding: 0.76'),
  model('large', 5, 25, 'default: 0.90, coding: 0.92'),
];
const policyOf = (models: readonly string[], more = '') =>
  `version: 1\nproviders: { sim: { adapter: simulated }, far: { adapter: openai-compatible, base_url: https://far.example/v1, api_key_env: FAR_KEY } }\nmodels:\n${models.join('')}${more}`;
const THREE = policyOf(MODELS);

const live = useLivePolicy(() => ({ 'policy.yaml': THREE }));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
function folderOf(text: string): string {
  const folder = writePolicy({ 'policy.yaml': text });
  folders.push(folder);
  return folder;
}

/** Runs a policy command with `--json`. The answer has the documented form. */
async function command<Schema extends TSchema>(schema: Schema, ...args: string[]): Promise<Static<Schema>> {
  return shaped(schema, JSON.parse((await runHere(['policy', ...args, '--json'])).out));
}
function shaped<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  expect(new SchemaCheck(schema).errorOf(value)?.path ?? null).toBeNull();
  return value as Static<Schema>;
}
async function post<Schema extends TSchema>(schema: Schema, path: string, body: object): Promise<Static<Schema>> {
  const answer = await live.box.post(`/admin/policy/${path}`, body);
  const value: unknown = await answer.json();
  expect([answer.status, path]).toEqual([200, path]);
  return shaped(schema, value);
}
const files = (text: string) => ({ files: [{ name: 'policy.yaml', text }] });

const CODING = 'Write a Python function that parses an ISO date.';
const HAIKU = 'Write a haiku about autumn.';

/** Returns the choices for these messages by `policy explain` with a policy, by the active policy over HTTP, and by `POST /v1/route`. */
async function choicesFor(selector: string, message: string) {
  const explained = await command(PolicyExplanation, 'explain', live.folder, '--model', selector, '--message', message);
  const request = { model: selector, messages: [{ role: 'user', content: message }] };
  const served = await post(PolicyExplanation, 'explain', { request });
  const routed: unknown = await (await live.box.post('/v1/route', request)).json();
  return { explained, served, routed };
}

describe('the policy of three models', () => {
  test.each([
    ['auto-cheap', CODING, 'small'],
    ['auto-cheap', HAIKU, 'small'],
    ['auto', HAIKU, 'large'],
    ['auto-fast', HAIKU, 'large'],
  ])('%s chooses, by command and over HTTP, for: %s', async (selector, message, chosen) => {
    const { explained, served, routed } = await choicesFor(selector, message);
    expect([explained.choice, served.choice]).toEqual([chosen, chosen]);
    expect(routed).toMatchObject({ recommended_model: chosen });
  });

  test('check shows the order of each selector, and the models that the policy states', async () => {
    const orders = ['auto', 'auto-fast', 'auto-cheap'].map((selector) => ({ selector, stated: null }));
    const [byCommand, byApi] = [
      await command(PolicyCheck, 'check', live.folder, '--choices'),
      await post(PolicyCheck, 'check', { choices: 'all_set' }),
    ];
    expect(byApi.orders).toEqual(byCommand.orders);
    expect(byCommand.orders).toMatchObject(orders);
    expect(byCommand.orders?.map(({ order }) => order)).toEqual([
      ['small', 'medium', 'large'],
      // All have the same speed, so the better model is the first.
      ['large', 'medium', 'small'],
      ['small', 'medium', 'large'],
    ]);
    const stating = policyOf(
      MODELS,
      'selectors: { auto: { strategy: auto, tiers: { usual: [medium], strong: [large] } } }\n',
    );
    const { orders: stated } = await post(PolicyCheck, 'check', { ...files(stating), choices: 'all_set' });
    expect(stated?.find(({ selector }) => selector === 'auto')?.stated).toEqual({
      usual: ['medium'],
      strong: ['large'],
    });
    expect((await post(PolicyCheck, 'check', {})).orders).toBeNull();
    const embedding =
      '  vectors: { provider: sim, operations: [embed], price: { input: 0.02, output: 0 }, context_window: 8192, embedding: { dimensions: 8 } }\n';
    const withoutChats = { ...files(policyOf([embedding])), choices: 'all_set' };
    expect((await post(PolicyCheck, 'check', withoutChats)).orders).toEqual([]);
    const { out } = await runHere(['policy', 'check', live.folder, '--choices']);
    expect(out).toContain('small, then medium, then large');
  });
});

describe('the choices of a policy', () => {
  test('the command and the API list the same choices, which are the choices of POST /v1/route', async () => {
    const [byCommand, byApi] = [
      await command(PolicyCheck, 'check', live.folder, '--choices'),
      await post(PolicyCheck, 'check', { choices: 'all_set' }),
    ];
    expect(byApi.choices).toEqual(byCommand.choices);
    const choices = byCommand.choices ?? [];
    // Three selectors, twelve tasks and three difficulties.
    expect(choices).toHaveLength(3 * 12 * 3);
    for (const { selector, task, difficulty, model: chosen, refused, cost_credits } of choices) {
      // A request that states its task has the qualities of the task. Only for coding, they differ from the mean.
      if (difficulty !== 'usual' || task === 'coding') continue;
      const answer = await live.box.post('/v1/route', { model: selector, task_type: task });
      const body: unknown = await answer.json();
      if (chosen === null) expect([task, body]).toMatchObject([task, { error: { code: refused } }]);
      else
        expect([task, body]).toMatchObject([task, { recommended_model: chosen, estimated_cost_credits: cost_credits }]);
    }
    expect((await post(PolicyCheck, 'check', {})).choices).toBeNull();
  });

  test('rules that read the difficulty apply to the choices', async () => {
    const rule = `constraints:\n  - { name: hard-is-cheap, when: request.difficulty == "hard", require: model.id == "small" }\n`;
    const { choices } = await post(PolicyCheck, 'check', { ...files(`${THREE}${rule}`), choices: 'all_set' });
    const hard = (choices ?? []).filter(({ difficulty, model: chosen }) => difficulty === 'hard' && chosen !== null);
    expect(hard.length).toBeGreaterThan(20);
    expect(hard.every(({ model: chosen }) => chosen === 'small')).toBe(true);
  });

  test('with `here`, only providers that are set up can be chosen', async () => {
    const text = policyOf([...MODELS, model('bargain', 0.2, 0.8, 'default: 1', 'far')]);
    const chosenIn = (found: Static<typeof PolicyCheck>) => new Set((found.choices ?? []).map((one) => one.model));
    const folder = folderOf(text);
    const all = await command(PolicyCheck, 'check', folder, '--choices');
    const here = await command(PolicyCheck, 'check', folder, '--choices', '--here');
    expect([chosenIn(all).has('bargain'), chosenIn(here).has('bargain')]).toEqual([true, false]);
    expect((await post(PolicyCheck, 'check', { ...files(text), choices: 'here' })).choices).toEqual(here.choices);
    expect((await runHere(['policy', 'check', folder, '--here'])).err).toContain('--choices');
  });

  test('the table has a column for each selector for chats and a row for each task with its choices', async () => {
    const more = `selectors: { thrifty: { strategy: auto-cheap }, vectors: { strategy: auto, vector_space: v } }\n`;
    const embedder = `  e: { provider: sim, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: 0.1, output: 0 }, context_window: 9000, max_output: 1, quality: { default: 1, basis: guessed, as_of: 2026-11-20 } }\n`;
    const { out, code } = await runHere([
      'policy',
      'check',
      folderOf(policyOf([...MODELS, embedder], more)),
      '--choices',
    ]);
    expect(code).toBe(0);
    const rows = out.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual(['task', 'difficulty', 'auto', 'auto-fast', 'auto-cheap', 'thrifty']);
    expect(rows.find(([task]) => task === 'coding')).toEqual([
      'coding',
      'easy, usual',
      'large',
      'large',
      'small',
      'small',
    ]);
    expect(rows.find(([task]) => task === 'vision')?.slice(1)).toEqual(['any', ...Array(4).fill('no model')]);
  });
});

test('a chat of the haiku and one of the function are answered by the models of their selectors', async () => {
  const answered = async (selector: string, content: string) => {
    const body = { model: selector, messages: [{ role: 'user', content }] };
    return await (await live.box.post('/v1/chat/completions', body)).json();
  };
  expect(await answered('auto', HAIKU)).toMatchObject({ platform: { routed_model: 'large' } });
  expect(await answered('auto-cheap', CODING)).toMatchObject({ platform: { routed_model: 'small' } });
});
