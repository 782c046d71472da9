import { afterEach, describe, expect, test } from 'bun:test';
import { answerOf, eventsOf } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The fallbacks that a policy lists, by reason, as callers of a real server see them. */
const up = { a: useUpstream(), b: useUpstream(), c: useUpstream() };
const boxes: Signalbox[] = [];

afterEach(async () => {
  for (const upstream of Object.values(up)) upstream.behave({});
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

/** The models `a`, `b` and `c`, each at its own provider. `a` is the best and lists fallbacks. `c` has the largest window. */
function policyText(fallbacks: string, more = ''): string {
  const at = { a: up.a.url, b: up.b.url, c: up.c.url };
  const models = {
    a: { endpoints: ['a'], quality: 0.9, ...(fallbacks && { more: `    fallbacks: ${fallbacks}\n` }) },
    b: { endpoints: ['b'], quality: 0.5 },
    c: { endpoints: ['c'], quality: 0.7 },
  };
  return testPolicy(at, models, more).replace(/( {2}c:\n[\s\S]*?context_window: )32768/, '$1200000');
}

async function start(policy: string): Promise<Signalbox> {
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  boxes.push(box);
  return box;
}

const BODY = { model: 'a', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

const chat = (box: Signalbox, body: object = {}) => box.post('/v1/chat/completions', { ...BODY, ...body });

interface RepeatedDecision {
  readonly choice: string;
  readonly fallbacks: readonly string[];
  readonly replay: { readonly matches: boolean };
}

/** Returns which models were tried and how each attempt ended, such as `a server`. */
const tried = async (box: Signalbox, response: Response) => (await outcomeOf(box, response)).attempts;

/** Returns the attempts and the charge of an answer, and checks that its decision repeats. */
async function outcomeOf(box: Signalbox, response: Response) {
  expect(response.status).toBe(200);
  const isStream = response.headers.get('content-type')?.includes('event-stream');
  const { platform } = isStream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
  const decision = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as RepeatedDecision;
  expect(decision.replay.matches).toBe(true);
  const attempts = platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`);
  return { attempts, credits: platform.credits_consumed };
}

const LONG = { messages: [{ role: 'user', content: Array.from({ length: 30_000 }, (_, at) => `${at}`).join(' ') }] };
const REFUSED = { text: [], finish: 'content_filter', usage: { prompt_tokens: 10, completion_tokens: 1 } } as const;
const tooLong = { status: 400, error: { message: 'too long', code: 'context_length_exceeded' } };

for (const stream of [false, true]) {
  describe(`fallbacks of a model that the request names, ${stream ? 'stream' : 'JSON'}`, () => {
    test('a plain list is tried in its order after errors and rate limits, also without ranked alternatives', async () => {
      const box = await start(policyText('[c, b]', 'gateway: { alternatives: 0, retries_max: 0 }\n'));
      up.a.next({ status: 500 });
      up.c.next({ status: 429 });
      expect(await tried(box, await chat(box, { stream }))).toEqual(['a server', 'c rate_limited', 'b ok']);
    });

    test('without a list, the failure of a named model is final', async () => {
      const box = await start(policyText(''));
      up.a.next({ status: 500 });
      expect((await chat(box, { stream })).status).toBe(502);
    });

    test('each reason leads to its own list', async () => {
      const box = await start(policyText('{ error: [b], rate_limit: [c, b] }'));
      up.a.next({ status: 500 });
      expect(await tried(box, await chat(box, { stream }))).toEqual(['a server', 'b ok']);
      up.a.next({ status: 429, headers: { 'retry-after-ms': '1' } });
      expect(await tried(box, await chat(box, { stream }))).toEqual(['a rate_limited', 'c ok']);
    });

    test('a reason without a list leads nowhere', async () => {
      const box = await start(policyText('{ rate_limit: [b], context: [c] }'));
      const calls = () => up.b.requests.length + up.c.requests.length;
      const before = calls();
      up.a.next({ status: 500 });
      expect((await chat(box, { stream })).status).toBe(502);
      expect(calls()).toBe(before);
    });

    test('a prompt that does not fit goes to the list for the context before any call', async () => {
      const box = await start(policyText('{ error: [b], context: [c] }'));
      expect(await tried(box, await chat(box, { stream, ...LONG }))).toEqual(['c ok']);
      const none = await start(policyText('{ error: [c] }'));
      expect((await chat(none, { stream, ...LONG })).status).toBe(400);
    });

    test("a provider's own context error leads to the list for the context", async () => {
      const box = await start(policyText('{ error: [b], context: [c] }'));
      up.a.next(tooLong);
      expect(await tried(box, await chat(box, { stream }))).toEqual(['a context', 'c ok']);
    });

    test('a refused answer is paid, and the list for refusals follows, but no other endpoint of the model', async () => {
      const box = await start(
        policyText('{ refused: [c] }').replace('{ provider: a,', '{ provider: a, upstream: x }, { provider: a,'),
      );
      up.a.next(REFUSED);
      const calls = up.a.requests.length;
      const response = await chat(box, { stream });
      const { attempts, credits } = await outcomeOf(box, response);
      expect(attempts).toEqual(['a refused', 'c ok']);
      expect(up.a.requests.length).toBe(calls + 1);
      const alone = await outcomeOf(box, await chat(box, { stream, model: 'c' }));
      // 10 tokens of input at 1 and 1 token of output at 4 millicredits.
      expect(credits - alone.credits).toBeCloseTo(0.014);
    });

    test('the caller gets the refused answer without a list for refusals, and if the budget has no room for the next attempt', async () => {
      const box = await start(policyText('[c]'));
      up.a.next(REFUSED);
      expect(await tried(box, await chat(box, { stream }))).toEqual(['a ok']);
      const listed = await start(policyText('{ refused: [c] }'));
      up.a.next({ ...REFUSED, usage: { prompt_tokens: 10, completion_tokens: 60 } });
      // The worst case of the model is below this limit; that of two attempts is above it.
      expect(await tried(listed, await chat(listed, { stream, budget_limit: 0.5 }))).toEqual(['a ok']);
    });

    test('a fallback that the key may not use, or that a constraint excludes, is skipped', async () => {
      const box = await start(policyText('[c, b]'));
      const { key } = (await (await box.post('/admin/keys', { name: 'app', models: ['a', 'b'] })).json()) as {
        key: string;
      };
      up.a.next({ status: 500 });
      const response = await box.post('/v1/chat/completions', { ...BODY, stream }, withKey(key));
      expect(await tried(box, response)).toEqual(['a server', 'b ok']);
      const rule = 'constraints: [{ name: no-c, require: model.id != "c" }]\n';
      const ruled = await start(policyText('[c, b]', rule));
      up.a.next({ status: 500 });
      expect(await tried(ruled, await chat(ruled, { stream }))).toEqual(['a server', 'b ok']);
    });
  });
}

test('a decision shows the lists and why a fallback was chosen, and a selector uses its own list', async () => {
  const selector =
    'selectors: { mine: { strategy: auto, models: { require: model.id == "a" }, fallbacks: { error: [b], context: [c] } } }\n';
  const box = await start(policyText('{ error: [b], context: [c] }', selector));
  for (const model of ['a', 'mine']) {
    const response = await chat(box, { model, ...LONG });
    const { platform } = await answerOf(response);
    const decision = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as {
      readonly explanation: readonly string[];
    };
    expect(decision).toMatchObject({
      choice: 'c',
      facts: { fallbacks: { by: 'policy', error: ['b'], rate_limit: [], context: ['c'], refused: [] } },
      replay: { matches: true },
    });
    const text = decision.explanation.join('\n');
    expect(text).toContain(`c is a fallback of ${model}`);
    expect(text).toContain('if the prompt is too long: c');
  }
  up.a.next({ status: 500 });
  expect(await tried(box, await chat(box, { model: 'mine' }))).toEqual(['a server', 'b ok']);
});

test.each(['cap', 'reject', 'downgrade'])(
  'a budget with `on_exhausted: %s` that can pay for nothing uses the fallback that costs nothing',
  async (action) => {
    const budget = `budgets: [{ name: all, limit_credits: 0.001, window: total, on_exhausted: ${action} }]\n`;
    const at = { a: up.a.url, b: up.b.url, c: up.c.url };
    const models = {
      a: { endpoints: ['a'], quality: 0.9, more: '    fallbacks: [c, b]\n' },
      b: { endpoints: ['b'], quality: 0.5, price: { input: 0, output: 0 } },
      c: { endpoints: ['c'], quality: 0.7 },
    };
    const box = await start(testPolicy(at, models, budget));
    const { platform } = await answerOf(await chat(box));
    expect(platform).toMatchObject({
      routed_model: 'b',
      route_reason: 'pinned:fallback',
      instead_of: { reason: 'funds' },
    });
  },
);
