import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type { Static, TSchema } from '@sinclair/typebox';
import { PolicyExplanation } from '../../src/admin/policy-explanation.ts';
import { PolicyCheck, PolicyDifference } from '../../src/admin/policy-tool-answers.ts';
import { SchemaCheck } from '../../src/core/schema/check.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';
import { useLivePolicy } from '../support/use.ts';

/** The scale of cost in a policy of three models, and the table of what its selectors choose: by command and over HTTP. */
const model = (id: string, input: number, output: number, quality: string, provider = 'sim') =>
  `  ${id}: { provider: ${provider}, price: { input: ${input}, output: ${output}, as_of: 2026-11-20, basis: own }, context_window: 128000, max_output: 16000, quality: { ${quality}, basis: guessed, as_of: 2026-11-20 } }\n`;
const MODELS = [
  model('small', 0.2, 0.8, 'default: 0.75, coding: 0.55'),
  model('medium', 1, 4, 'default: 0.82, coding: 0.76'),
  model('large', 5, 25, 'default: 0.90, coding: 0.92'),
];
const policyOf = (models: readonly string[], more = '') =>
  `version: 2\nproviders: { sim: { adapter: simulated }, far: { adapter: openai-compatible, base_url: https://far.example/v1, api_key_env: FAR_KEY } }\nmodels:\n${models.join('')}${more}`;
const THREE = policyOf(MODELS);
/** The scale that the policy of this repository states for its own models. */
const SHIPPED = 'reference_price: { input: 1, output: 4 }\n';

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
const HARD_CODING = 'Write a thread-safe LRU cache in Rust.';
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
    ['auto-cheap', CODING],
    ['auto-cheap', HARD_CODING],
    ['auto', HAIKU],
    ['auto-cheap', HAIKU],
  ])('%s does not choose the most expensive model for: %s', async (selector, message) => {
    const { explained, served, routed } = await choicesFor(selector, message);
    expect(['small', 'medium']).toContain(explained.choice ?? '');
    expect(served.choice).toBe(explained.choice);
    expect(routed).toMatchObject({ recommended_model: explained.choice });
  });

  test('with the reference price of the shipped policy, auto would choose the most expensive model', async () => {
    const folder = folderOf(policyOf(MODELS, SHIPPED));
    const { choice } = await command(PolicyExplanation, 'explain', folder, '--model', 'auto', '--message', HAIKU);
    expect(choice).toBe('large');
  });

  test('check, explain and diff show the reference price and its origin', async () => {
    const derived = {
      ...{ input_usd: 0.2, output_usd: 0.8, source: 'model', model: 'small', best: { model: 'large', quality: 0.9 } },
      // 0.75 is the least quality with which a model can set the price.
      close_models: [
        { model: 'small', quality: 0.75, within: true, other_model: 'medium', input_usd: 1, output_usd: 4 },
      ],
    };
    const { explained, served } = await choicesFor('auto', HAIKU);
    const answers = [
      await command(PolicyCheck, 'check', live.folder),
      await post(PolicyCheck, 'check', {}),
      explained,
      served,
    ];
    expect(answers.map((one) => one.reference_price)).toMatchObject(Array(4).fill(derived));
    const check = await runHere(['policy', 'check', live.folder]);
    const explain = await runHere(['policy', 'explain', live.folder, '--message', HAIKU]);
    for (const { out } of [check, explain]) {
      expect(out).toContain('0.2 USD in and 0.8 USD out per 1M tokens (the price of small)');
      for (const line of explained.reference_price?.explanation ?? ['nothing']) expect(out).toContain(line);
    }
  });

  test.each([
    ['just below the line', 0.74, [{ model: 'small', within: false, other_model: 'small' }]],
    ['on the line', 0.75, [{ model: 'small', within: true, other_model: 'medium' }]],
    ['far below the line', 0.7, []],
    ['far above the line', 0.8, []],
  ])('check names a model %s whose small change would move the price', async (_, quality, close) => {
    const [, ...others] = MODELS;
    const text = policyOf([model('small', 0.2, 0.8, `default: ${quality}`), ...others]);
    const { reference_price: found } = await post(PolicyCheck, 'check', files(text));
    expect(found?.close_models).toMatchObject(close);
    expect(found?.close_models).toHaveLength(close.length);
  });

  test('a model close to the line is not named if its price hardly differs', async () => {
    const models = [model('small', 0.9, 3.6, 'default: 0.74'), ...MODELS.slice(1)];
    const { reference_price: found } = await post(PolicyCheck, 'check', files(policyOf(models)));
    expect(found).toMatchObject({ model: 'medium', close_models: [] });
  });

  test('diff says that another model moves the reference price', async () => {
    const text = policyOf([...MODELS, model('tiny', 0.1, 0.3, 'default: 0.76')]);
    const folder = folderOf(text);
    const moved = {
      a: { input_usd: 0.2, output_usd: 0.8, source: 'model', model: 'small' },
      b: { input_usd: 0.1, output_usd: 0.3, source: 'model', model: 'tiny' },
    };
    expect((await command(PolicyDifference, 'diff', live.folder, folder)).reference_price).toMatchObject(moved);
    expect((await post(PolicyDifference, 'diff', { b: files(text) })).reference_price).toMatchObject(moved);
    const { out } = await runHere(['policy', 'diff', live.folder, folder]);
    expect(out).toContain('- 0.2 USD in and 0.8 USD out per 1M tokens (the price of small)');
    expect(out).toContain('+ 0.1 USD in and 0.3 USD out per 1M tokens (the price of tiny)');
    expect(out).toContain('tiny (default quality 0.76) is the cheapest model');
    // A weaker model moves nothing.
    const weak = folderOf(policyOf([...MODELS, model('weak', 0.1, 0.3, 'default: 0.5')]));
    expect((await runHere(['policy', 'diff', live.folder, weak])).out).not.toContain('per 1M tokens');
  });
});

describe('diff says why the reference price moved:', () => {
  const [small, medium, large] = MODELS as [string, string, string];
  const whyFrom = async (text: string) =>
    (await post(PolicyDifference, 'diff', { b: files(text) })).reference_price?.moved_because ?? null;

  test.each([
    [
      'its model became too weak',
      [small.replace('0.75', '0.74'), medium, large],
      'small (default quality 0.74) is more',
    ],
    [
      'the best model became better',
      [small, medium, large.replace('0.90', '0.92')],
      'is more than 0.15 below large (0.92)',
    ],
    ['its model was removed', [medium, large], 'does not have small'],
    [
      'its model has another price',
      [small.replace('input: 0.2', 'input: 0.3'), medium, large],
      'The price of small changed',
    ],
  ])('%s', async (_, models, why) => {
    expect(await whyFrom(policyOf(models))).toContain(why);
  });

  test('the policy states it, or no model has a price', async () => {
    expect(await whyFrom(policyOf(MODELS, SHIPPED))).toContain('states its reference price');
    expect(await whyFrom(policyOf([model('free', 0, 0, 'default: 0.9')]))).toContain('No model sets');
    expect(await whyFrom(policyOf(MODELS, 'answer_worth: 30\n'))).toBeNull();
  });

  test('without cases and requests, the decisions are unknown, and diff names the commands that show the choices', async () => {
    const other = folderOf(policyOf(MODELS, 'answer_worth: 30\n'));
    const { out } = await runHere(['policy', 'diff', live.folder, other]);
    for (const folder of [live.folder, other]) expect(out).toContain(`policy check ${folder} --choices`);
    expect(out).not.toContain('Decided differently');
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
      if (difficulty !== 'usual') continue;
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
      'medium',
      'medium',
      'small',
      'small',
    ]);
    expect(rows.find(([task]) => task === 'vision')?.slice(1)).toEqual(['any', ...Array(4).fill('no model')]);
  });
});

describe('the warning about expensive choices of auto-cheap', () => {
  const warningsIn = async (text: string) => {
    const { diagnostics } = await post(PolicyCheck, 'check', files(text));
    return diagnostics.filter(({ code }) => code === 'costly-choice');
  };

  test('a reference price that is too high for the models is reported at its line, by command and over HTTP', async () => {
    const text = policyOf(MODELS, 'reference_price: { input: 10, output: 40 }\n');
    const [warning, ...others] = await warningsIn(text);
    expect(others).toEqual([]);
    expect(warning).toMatchObject({ severity: 'warning', line: text.split('\n').length - 1, column: 1 });
    expect(warning?.message).toContain('`medium` for general (2.1 Credits; `small` costs 0.42)');
    const folder = folderOf(text);
    expect((await runHere(['policy', 'check', folder])).out).toContain('warning costly-choice');
    expect((await runHere(['policy', 'check', folder, '--strict'])).code).toBe(2);
  });

  test('a high `answer_worth` is reported at the selector', async () => {
    const text = policyOf(MODELS, 'answer_worth: 2000\nselectors:\n  auto-cheap: { strategy: auto-cheap }\n');
    expect(await warningsIn(text)).toMatchObject([{ line: text.split('\n').length - 1, column: 3 }]);
  });

  test('a derived reference price causes no warning, and neither does a price at which the choices are cheap enough', async () => {
    expect(await warningsIn(THREE)).toEqual([]);
    expect(await warningsIn(policyOf(MODELS, SHIPPED))).toEqual([]);
  });

  test('rules do not matter to the warning', async () => {
    const dear = 'reference_price: { input: 10, output: 40 }\n';
    const rule = `constraints:\n  - { name: only-small, require: model.id == "small" }\n`;
    expect(await warningsIn(policyOf(MODELS, `${dear}${rule}`))).toHaveLength(1);
  });
});

test('a chat of the haiku and one of the function are answered by the cheaper models', async () => {
  const answered = async (selector: string, content: string) => {
    const body = { model: selector, messages: [{ role: 'user', content }] };
    return await (await live.box.post('/v1/chat/completions', body)).json();
  };
  expect(await answered('auto', HAIKU)).toMatchObject({ platform: { routed_model: 'medium' } });
  expect(await answered('auto-cheap', CODING)).toMatchObject({ platform: { routed_model: 'small' } });
});
