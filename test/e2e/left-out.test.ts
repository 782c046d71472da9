import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Platform } from '../../src/core/decision/answer.ts';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Requests whose named model is left out before any call, so that a listed fallback answers. */
const up = { a: useUpstream(), b: useUpstream(), c: useUpstream() };
let box: Signalbox;

/** The models `a` to `f`, of which all but `b` and `c` list fallbacks. `a` and `d` to `f` are each at their own key or limit. */
function policyText(): string {
  const at = {
    a: up.a.url,
    b: up.b.url,
    c: up.c.url,
    paused: up.a.url,
    locked: up.a.url,
    full: up.a.url,
    keyless: up.a.url,
  };
  const lists = '    fallbacks: { error: [b, c], rate_limit: [b, c], context: [c] }\n';
  const models = {
    a: { endpoints: ['a'], quality: 0.9, price: { input: 100, output: 400 }, more: lists },
    b: { endpoints: ['b'], quality: 0.5, price: { input: 1, output: 4 }, capabilities: [] },
    c: { endpoints: ['c'], quality: 0.7, price: { input: 10, output: 40 } },
    paused: { endpoints: ['paused'], more: lists },
    locked: { endpoints: ['locked'], more: lists },
    full: { endpoints: ['full'], more: lists },
    keyless: { endpoints: ['keyless'], more: lists },
    lonely: { endpoints: ['keyless'], more: '    fallbacks: { context: [c] }\n' },
  };
  const budgets = ['cap', 'downgrade', 'reject'].map(
    (action) =>
      `  - { name: ${action}, match: 'key.labels["budget"] == "${action}"', limit_credits: 20, each: key, window: day, on_exhausted: ${action} }`,
  );
  return testPolicy(at, models, `budgets:\n${budgets.join('\n')}\n`)
    .replace(/( {2}keyless: \{.*api_key_env: )\w+/, '$1NOT_SET')
    .replace('upstream: full-upstream }', 'upstream: full-upstream, limits: { requests_per_minute: 1 } }')
    .replace(/( {2}c:\n[\s\S]*?context_window: )32768/, '$1200000');
}

beforeAll(async () => {
  box = await startSignalbox({ policy: policyText(), env: UPSTREAM_ENV });
  up.a.next({ status: 429, headers: { 'retry-after': '600' } });
  await chat({ model: 'paused' });
  up.a.next({ status: 401 });
  await chat({ model: 'locked' });
});
afterEach(() => {
  for (const upstream of Object.values(up)) upstream.behave({});
});
afterAll(() => box.stop());

const BODY = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
const LONG = { messages: [{ role: 'user', content: Array.from({ length: 30_000 }, (_, at) => `${at}`).join(' ') }] };
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

const chat = (body: object, init?: RequestInit) => box.post('/v1/chat/completions', { ...BODY, ...body }, init);

async function platformOf(body: object, init?: RequestInit): Promise<Platform> {
  const response = await chat(body, init);
  const { platform, error } = await answerOf(response);
  expect(error).toBeUndefined();
  return platform;
}

async function keyFor(action: string): Promise<RequestInit> {
  const made = (await (await box.post('/admin/keys', { name: action, labels: { budget: action } })).json()) as {
    readonly key: string;
  };
  return withKey(made.key);
}

const PAUSED = {
  model: 'paused',
  reason: 'cooling',
  text: 'it is unavailable for now: its provider asked for a pause',
};

interface Row {
  readonly id: string;
  readonly route_reason: string | null;
  readonly instead_of: unknown;
}
const listed = async (query: string): Promise<readonly Row[]> =>
  ((await (await box.get(`/admin/decisions?${query}`)).json()) as { readonly data: readonly Row[] }).data;

describe('a fallback that answers because the named model was left out', () => {
  test.each([
    ['its provider asked for a pause', { model: 'paused' }, 'cooling'],
    ['its provider refuses the key', { model: 'locked' }, 'misconfigured'],
    ['its provider has no key', { model: 'keyless' }, 'not_set_up'],
    ['the prompt is too long', { model: 'a', ...LONG }, 'context'],
    ['a ceiling of the request excludes it', { model: 'a', constraints: { max_cost_credits: 1 } }, 'max_cost'],
    ['it does not fit the budget of the request', { model: 'a', budget_limit: 1 }, 'budget_limit'],
  ])('has the reason `pinned:fallback`, the model and why: %s', async (_, body, reason) => {
    for (const isAdvice of [false, true]) {
      const answer = isAdvice
        ? await adviceOf(await box.post('/v1/route', { ...BODY, ...body }))
        : await platformOf(body);
      expect(answer).toMatchObject({
        route_reason: 'pinned:fallback',
        instead_of: { model: body.model, reason, text: expect.stringMatching(/^\w/) },
      });
    }
  });

  test('has them also if the endpoints of the model became full after the decision', async () => {
    expect((await platformOf({ model: 'full' })).routed_model).toBe('full');
    expect(await platformOf({ model: 'full' })).toMatchObject({
      routed_model: 'b',
      route_reason: 'pinned:fallback',
      instead_of: { model: 'full', reason: 'full', text: expect.stringContaining('1 request a minute is used up') },
    });
  });

  test('repeats its decision, and is explained, if the provider of the model has no key', async () => {
    const { decision_id: id, routed_model } = await platformOf({ model: 'keyless', tools });
    expect(routed_model).toBe('c');
    expect(await (await box.get(`/v1/decisions/${id}`)).json()).toMatchObject({
      route_reason: 'pinned:fallback',
      instead_of: { model: 'keyless', reason: 'not_set_up' },
      facts: { model: 'b', alias: 'keyless' },
      replay: { matches: true },
      explanation: expect.arrayContaining([expect.stringContaining('c is a fallback of keyless')]),
    });
    const response = await chat({ model: 'lonely' });
    expect([response.status, (await answerOf(response)).error.code]).toEqual([404, 'model_not_found']);
  });

  test('keeps one `:fallback` if the first fallback fails, too', async () => {
    up.b.next({ status: 500 });
    const platform = await platformOf({ model: 'paused' });
    expect(platform).toMatchObject({ routed_model: 'c', route_reason: 'pinned:fallback', instead_of: PAUSED });
  });

  test('does not concern a named model that answers, or one that was called and failed', async () => {
    expect(await platformOf({ model: 'b' })).not.toHaveProperty('instead_of');
    expect(await platformOf({ model: 'a' })).toMatchObject({ routed_model: 'a', route_reason: 'pinned' });
    up.a.next({ status: 500 });
    const failed = await platformOf({ model: 'a' });
    expect(failed).toMatchObject({ routed_model: 'b', route_reason: 'pinned:fallback' });
    expect(failed).not.toHaveProperty('instead_of');
  });
});

describe('a model that was left out', () => {
  test.each([
    ['no model fits the ceiling of the request', { constraints: { max_cost_credits: 0.000001 } }, null, 422],
    ['no model fits the budget', { max_tokens: 8000 }, 'reject', 402],
  ])('is named in the error if its provider has no key, and %s', async (_, body, budget, status) => {
    const response = await chat({ model: 'keyless', ...body }, budget === null ? undefined : await keyFor(budget));
    const { error } = await answerOf(response);
    expect(response.status).toBe(status);
    expect(error.message).toContain('`keyless`');
    expect(error.message).toContain('it cannot be served: left out with its provider keyless');
    expect(error.message).not.toContain('NOT_SET');
    expect(error.details).toMatchObject({ rejected: [{ model: 'keyless' }, { model: 'b' }, { model: 'c' }] });
  });

  test('is in the record, its explanation, `decisions show` and the list, and its decision repeats', async () => {
    const { decision_id: id } = await platformOf({ model: 'paused' });
    const seen = { route_reason: 'pinned:fallback', instead_of: PAUSED };
    await waitFor(async () => (await listed('instead_of=paused')).some((row) => row.id === id));
    for (const path of [`/v1/decisions/${id}`, `/admin/decisions/${id}`]) {
      const decision = (await (await box.get(path)).json()) as { readonly explanation: readonly string[] };
      expect(decision).toMatchObject({ ...seen, choice: 'b', replay: { matches: true }, receipt: seen });
      expect(decision.explanation.join('\n')).toContain('b is a fallback of paused');
    }
    expect(await (await box.get(`/admin/requests/${id}`)).json()).toMatchObject(seen);
    const { out } = await box.run('decisions', 'show', id, '--json');
    expect(JSON.parse(out)).toMatchObject(seen);
    expect((await listed('')).find((row) => row.id === id)).toMatchObject(seen);
    expect(await (await box.get(`/admin/decisions/${id}/repeat`)).json()).toMatchObject(seen);
  });

  test('is a filter of the list, by model and by reason, in the API and the command', async () => {
    const { decision_id: paused } = await platformOf({ model: 'paused' });
    const { decision_id: long } = await platformOf({ model: 'a', ...LONG });
    const { decision_id: plain } = await platformOf({ model: 'b' });
    await waitFor(async () => (await listed('')).some((row) => row.id === plain));
    for (const [query, flags, has, lacks] of [
      ['instead_of=paused', ['--instead-of', 'paused'], [paused], [long, plain]],
      ['left_out=context', ['--left-out', 'context'], [long], [paused, plain]],
      ['instead_of=paused&left_out=cooling', ['--instead-of', 'paused', '--left-out', 'cooling'], [paused], [long]],
      ['instead_of=paused&left_out=context', ['--instead-of', 'paused', '--left-out', 'context'], [], [paused, long]],
    ] as const) {
      const { out, code } = await box.run('decisions', 'list', ...flags, '--json');
      expect(code).toBe(0);
      const printed = (JSON.parse(out) as { readonly data: readonly Row[] }).data;
      const rows = (await listed(query)).map(({ id }) => id);
      expect(printed.map(({ id }) => id)).toEqual(rows);
      expect(rows).toEqual(expect.arrayContaining([...has]));
      for (const id of lacks) expect(rows).not.toContain(id);
    }
    expect((await box.get('/admin/decisions?left_out=nothing')).status).toBe(400);
  });

  test('is counted by model and reason', async () => {
    const counted = async () => {
      const page = await (await fetch(`${box.url}/metrics`)).text();
      const line = page.split('\n').find((one) => one.startsWith(SERIES));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    const before = await counted();
    await platformOf({ model: 'paused' });
    await platformOf({ model: 'b' });
    await waitFor(async () => (await counted()) === before + 1);
  });

  test('is named by the error if the fallbacks fail', async () => {
    for (const upstream of [up.b, up.c]) upstream.next({ status: 500 });
    const response = await chat({ model: 'paused' });
    const { error } = await answerOf(response);
    expect([response.status, error.code]).toEqual([502, 'upstream_failed']);
    for (const model of ['b', 'c']) expect(error.message).toContain(`\`${model}\`: its provider had an internal error`);
    expect(error.message).toContain(`\`paused\` was not tried: ${PAUSED.text}`);
  });
});

const SERIES = 'signalbox_named_models_left_out_total{model="paused",reason="cooling"}';

describe.each(['cap', 'downgrade', 'reject'])(
  'a budget with `on_exhausted: %s` that cannot pay for the named model',
  (action) => {
    test('pays for its first listed fallback that fits', async () => {
      const key = await keyFor(action);
      const expected = { route_reason: 'pinned:fallback', instead_of: { model: 'a', reason: 'funds' } };
      expect(await platformOf({ model: 'a' }, key)).toMatchObject({ routed_model: 'b', ...expected });
      // `b` has no tools.
      const { routed_model, decision_id } = await platformOf({ model: 'a', tools }, key);
      expect(routed_model).toBe('c');
      const decision = await (await box.get(`/v1/decisions/${decision_id}`)).json();
      expect(decision).toMatchObject({ ...expected, replay: { matches: true } });
    });

    test('refuses the request with 402 if no model fits, with each model and why', async () => {
      const response = await chat({ model: 'a', max_tokens: 8_000, ...LONG_ENOUGH }, await keyFor(action));
      const { error } = await answerOf(response);
      expect([response.status, error.code]).toEqual([402, 'request_exceeds_budget']);
      const { rejected } = error.details as {
        readonly rejected: readonly { readonly model: string; readonly reasons: readonly string[] }[];
      };
      expect(rejected.map(({ model }) => model)).toEqual(['a', 'b', 'c']);
      for (const { model, reasons } of rejected) expect(error.message).toContain(`\`${model}\`: ${reasons[0]}`);
      expect(
        rejected.every(({ reasons }) => reasons.some((reason) => reason.includes('the Credits left in the budgets'))),
      ).toBe(true);
    });
  },
);

/** A prompt for which even the cheapest model costs more than the budgets have. */
const LONG_ENOUGH = { messages: [{ role: 'user', content: 'word '.repeat(6_000) }] };
