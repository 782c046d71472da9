import { beforeEach, describe, expect, test } from 'bun:test';
import type { SpreadRecord } from '../../src/core/decision/attempt.ts';
import { isObject } from '../../src/core/json/object.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { PromptCache, type PromptUsage } from '../support/prompt-cache.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const upstreams = [useUpstream(), useUpstream(), useUpstream()];
const NAMES = ['one', 'two', 'three'] as const;

beforeEach(() => {
  for (const upstream of upstreams) {
    upstream.behave(() => ({}));
    upstream.requests.length = 0;
  }
});

/** A policy with one model at up to three endpoints. @param keys the keys of each endpoint, as flow YAML */
const policyOf = (spread: string, ...keys: string[]): string => `version: 1
providers:
${NAMES.map((name, at) => `  ${name}: { adapter: openai-compatible, base_url: "${upstreams[at]!.url}", api_key_env: TEST_UPSTREAM_KEY, cache_ttl_s: 60, cache_min_tokens: 500 }`).join('\n')}
models:
  best:
    spread: ${spread}
    endpoints:
${keys.map((key, at) => `      - { provider: ${NAMES[at]}, upstream: best-up${key && `, ${key}`} }`).join('\n')}
    price: { input: 4, cached_input: 0.4, output: 16 }
    context_window: 100000
    max_output: 1000
    quality: { default: 0.8 }
`;

async function withFleet(policy: string, play: (box: Signalbox) => Promise<void>): Promise<void> {
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    await play(box);
  } finally {
    await box.stop();
  }
}

const counts = () => upstreams.map(({ requests }) => requests.length);
const LONG = 'The committee met on Tuesday to look at the figures of the last quarter. '.repeat(90);

const ask = (box: Signalbox, messages: readonly object[]): Promise<Response> =>
  box.post('/v1/chat/completions', { model: 'best', max_tokens: 20, messages });
const question = (text: string) => [{ role: 'user', content: text }];

/** The attempts of a decision, with how their endpoints were chosen. */
async function attemptsOf(box: Signalbox, response: Response) {
  const id = response.headers.get('x-signalbox-decision-id');
  const decision: unknown = await (await box.get(`/v1/decisions/${id}`)).json();
  const outcome = isObject(decision) && isObject(decision.outcome) ? decision.outcome : {};
  const attempts = (outcome.attempts ?? []) as readonly {
    endpoint: number;
    failure: string | null;
    spread: (SpreadRecord & { readonly reason: string }) | null;
  }[];
  // Whatever happened, each choice of an endpoint can be repeated from the record.
  const endpoints = attempts.some(({ spread }) => spread !== null) ? true : null;
  expect(isObject(decision) ? decision.replay : null).toEqual({ matches: true, reason: null, endpoints });
  return attempts;
}

describe('requests for a model with several endpoints', () => {
  test('are shared by weight, and the record says how each was placed', async () => {
    await withFleet(policyOf('weighted', 'weight: 70', 'weight: 30'), async (box) => {
      let last: Response | null = null;
      for (let sent = 0; sent < 200; sent++) {
        last = await ask(box, question(`Say ${sent}.`));
        expect(last.status).toBe(200);
      }
      const [first = 0] = counts();
      expect(Math.abs(first / 200 - 0.7)).toBeLessThan(0.15);
      const [attempt] = await attemptsOf(box, last!);
      expect(attempt?.spread).toMatchObject({
        mode: 'weighted',
        draw: 0,
        eligible: [0, 1],
        weights: [70, 30],
        stays: false,
      });
      expect(attempt?.spread?.key).toMatch(/^[0-9a-f]{16}$/);
      expect(attempt?.spread?.reason).toContain(attempt?.endpoint === 0 ? '70 of 100' : '30 of 100');
    });
  });

  test('go to the group with the lowest number, and to the next group while it fails', async () => {
    await withFleet(policyOf('weighted', 'priority: 1', '', 'priority: 2'), async (box) => {
      expect((await ask(box, question('Say one.'))).status).toBe(200);
      expect(counts()).toEqual([0, 1, 0]);
      upstreams[1]!.behave(() => ({ fail: 'rate_limited' }));
      const answer = await ask(box, question('Say two.'));
      expect(answer.status).toBe(200);
      expect((await attemptsOf(box, answer)).map(({ endpoint, failure }) => [endpoint, failure])).toEqual([
        [1, 'rate_limited'],
        [0, null],
      ]);
      expect(counts()).toEqual([1, 2, 0]);
    });
  });

  test('go to the cheapest endpoint, at its price, and the hold covers the most expensive one', async () => {
    const price = (output: number) => `price: { input: 4, output: ${output} }`;
    await withFleet(policyOf('cheapest', price(16), price(2), price(8)), async (box) => {
      expect((await answerOf(await ask(box, question('Say one.')))).platform.credits_consumed).toBeGreaterThan(0);
      expect(counts()).toEqual([0, 1, 0]);
    });
  });

  test.each(['weighted', 'least_busy', 'fastest', 'cheapest'])(
    'go to no endpoint whose own worst case or estimate exceeds a limit of the request, with `%s`',
    async (mode) => {
      const price = (figure: number) => `price: { input: ${figure}, output: ${figure} }`;
      await withFleet(policyOf(mode, price(100), price(1)), async (box) => {
        for (const limit of [{ budget_limit: 1 }, { constraints: { max_cost_credits: 0.5 } }]) {
          for (let sent = 0; sent < 8; sent++) {
            const body = { model: 'best', max_tokens: 20, messages: question(`Say ${sent}.`), ...limit };
            const response = await box.post('/v1/chat/completions', body);
            expect(response.status).toBe(200);
            const id = response.headers.get('x-signalbox-decision-id');
            expect(await (await box.get(`/v1/decisions/${id}`)).json()).toMatchObject({ replay: { matches: true } });
          }
        }
        expect(counts()).toEqual([0, 16, 0]);
        const tooLow = { model: 'best', max_tokens: 20, messages: question('Say one.'), budget_limit: 0.000_001 };
        expect((await box.post('/v1/chat/completions', tooLow)).status).toBe(400);
      });
    },
  );

  test('of a conversation stay at the endpoint that has it in its cache', async () => {
    const caches = upstreams.map(() => new PromptCache());
    const usages: PromptUsage[] = [];
    upstreams.forEach((upstream, at) => {
      upstream.behave((request) => {
        const usage = caches[at]!.usageOf(request);
        usages.push(usage);
        return { text: 'Aye.', usage: { ...usage, completion_tokens: 2 } };
      });
    });
    await withFleet(policyOf('weighted', '', '', ''), async (box) => {
      for (let talk = 0; talk < 12; talk++) {
        const messages: object[] = question(`Talk ${talk}. ${LONG}`);
        const places = new Set<number>();
        for (let turn = 0; turn < 4; turn++) {
          const answer = await ask(box, messages);
          const [attempt] = await attemptsOf(box, answer);
          places.add(attempt!.endpoint);
          expect(attempt?.spread?.stays).toBe(turn > 0);
          const { choices } = await answerOf(answer);
          messages.push(
            { role: 'assistant', content: choices[0]!.message.content },
            { role: 'user', content: `And ${turn}?` },
          );
        }
        expect(places.size).toBe(1);
      }
      // Every turn but the first finds its conversation in the cache.
      const later = usages.filter(({ prompt_tokens_details }) => prompt_tokens_details.cached_tokens > 0);
      expect(later).toHaveLength(12 * 3);
      expect(counts().filter((sent) => sent > 0).length).toBeGreaterThan(1);
      // The list of endpoints has the cached share that the providers have reported.
      const { data } = (await (await box.get('/admin/endpoints')).json()) as {
        readonly data: readonly { readonly cached_share: number | null; readonly recent_share: number }[];
      };
      const sumOf = (figureOf: (usage: PromptUsage) => number) =>
        usages.reduce((sum, usage) => sum + figureOf(usage), 0);
      const cached = sumOf(({ prompt_tokens_details }) => prompt_tokens_details.cached_tokens);
      const prompts = sumOf(({ prompt_tokens }) => prompt_tokens);
      const mean = data.reduce((sum, one) => sum + (one.cached_share ?? 0) * one.recent_share, 0);
      expect(mean).toBeCloseTo(cached / prompts, 1);
    });
  });

  describe.each([true, false])('with `fastest` and `stream: %p`', (stream) => {
    const send = async (box: Signalbox) => {
      const messages = question(`Say ${Math.random()}.`);
      const response = await box.post('/v1/chat/completions', { model: 'best', max_tokens: 20, messages, stream });
      expect(response.status).toBe(200);
      await response.clone().text();
      return response;
    };

    test('try each endpoint until it has three measurements, and then go to the fastest', async () => {
      [250, 120, 5].forEach((ms, at) => {
        upstreams[at]!.behave({ headersAfterMs: ms });
      });
      await withFleet(policyOf('fastest', '', '', ''), async (box) => {
        const [attempt] = await attemptsOf(box, await send(box));
        expect(attempt).toMatchObject({ endpoint: 0, spread: { mode: 'fastest', unmeasured: [0, 1, 2] } });
        expect(attempt?.spread?.reason).toContain('To measure');
        for (let sent = 1; sent < 9; sent++) await send(box);
        expect(counts()).toEqual([3, 3, 3]);
        await waitFor(async () => (await attemptsOf(box, await send(box)))[0]!.endpoint === 2);
        const [first, second, third] = counts();
        for (let sent = 0; sent < 3; sent++) {
          const [chosen] = await attemptsOf(box, await send(box));
          expect(chosen).toMatchObject({
            endpoint: 2,
            spread: { unmeasured: [], reason: 'The fastest of 3 endpoints.' },
          });
        }
        expect(counts()).toEqual([first!, second!, third! + 3]);
      });
    });

    test('try an endpoint without measurements with one request at a time', async () => {
      for (const upstream of upstreams) upstream.behave({ headersAfterMs: 200 });
      await withFleet(policyOf('fastest', '', '', ''), async (box) => {
        await Promise.all(Array.from({ length: 6 }, () => send(box)));
        expect(counts()).toEqual([4, 1, 1]);
      });
    });
  });

  test('go to the less busy of two endpoints, and to one with room before its limit is reached', async () => {
    for (const upstream of upstreams) upstream.behave(() => ({ headersAfterMs: 400 }));
    const one = 'limits: { concurrent_requests: 1 }';
    await withFleet(policyOf('least_busy', one, one, one), async (box) => {
      const answers = await Promise.all([1, 2, 3].map((number) => ask(box, question(`Say ${number}.`))));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(counts()).toEqual([1, 1, 1]);
      const attempts = await Promise.all(answers.map((answer) => attemptsOf(box, answer)));
      expect(attempts.map(({ length }) => length)).toEqual([1, 1, 1]);
      const spreads = attempts.map(([attempt]) => attempt!.spread!);
      // The first request finds three endpoints with room, the second two and the third one.
      expect(spreads.map(({ eligible }) => eligible.length).sort()).toEqual([1, 2, 3]);
      for (const { compared, eligible } of spreads) expect(compared === null).toBe(eligible.length === 1);
    });
  });

  test('are compared by running requests if only some of the endpoints have limits', async () => {
    for (const upstream of upstreams) upstream.behave(() => ({ headersAfterMs: 400 }));
    await withFleet(policyOf('least_busy', 'limits: { concurrent_requests: 100 }', ''), async (box) => {
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((number) => ask(box, question(`Say ${number}.`))));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(counts()).toEqual([3, 3, 0]);
    });
  });

  test.each(['least_busy', 'weighted'])('come slowly to an endpoint that has recovered, with `%s`', async (mode) => {
    await withFleet(policyOf(mode, '', ''), async (box) => {
      let sent = 0;
      const askOnce = () => ask(box, question(`Say ${++sent}.`));
      const [first, second] = upstreams;
      first!.behave({ status: 500 });
      while (first!.requests.length < 10 && sent < 100) await askOnce();
      const failed = first!.requests.length;
      first!.behave({});
      const giveUpAt = Date.now() + 20_000;
      while (first!.requests.length === failed && Date.now() < giveUpAt) {
        await askOnce();
        await Bun.sleep(20);
      }
      const [before, other] = [first!.requests.length, second!.requests.length];
      expect(before).toBeGreaterThan(failed);
      for (let more = 0; more < 20; more++) await askOnce();
      // In the long run, it gets 10 of them.
      expect(first!.requests.length - before).toBeLessThan(7);
      expect(second!.requests.length - other).toBeGreaterThan(13);
    });
  });

  test('of a conversation with encrypted reasoning stay with the account that wrote it, and another account gets no reasoning', async () => {
    const policy = policyOf('weighted', '', '', '')
      .replaceAll('cache_min_tokens: 500', 'cache_min_tokens: 500, settings: { reasoning_history: reasoning_details }')
      .replace('quality:', 'capabilities: [reasoning]\n    quality:');
    await withFleet(policy, async (box) => {
      const places = new Set<number>();
      for (let talk = 0; talk < 6 || (places.size === 1 && talk < 30); talk++) {
        const text = `Answer ${talk}.`;
        for (const upstream of upstreams) upstream.behave({ text });
        const first = question(`Say ${talk}.`);
        const [begun] = await attemptsOf(box, await ask(box, first));
        const home = begun!.endpoint;
        places.add(home);
        const details = [{ type: 'reasoning.encrypted', data: 'sealed-by-the-account' }];
        const turns = [
          ...first,
          { role: 'assistant', content: text, reasoning_details: details },
          ...question('Go on.'),
        ];
        for (let turn = 0; turn < 3; turn++) {
          const [next] = await attemptsOf(box, await ask(box, turns));
          expect(next!.endpoint).toBe(home);
          expect(upstreams[home]!.requests.at(-1)!.text).toContain('sealed-by-the-account');
        }
        upstreams[home]!.next({ status: 429, headers: { 'retry-after-ms': '1' } });
        const moved = (await attemptsOf(box, await ask(box, turns))).at(-1)!.endpoint;
        expect(moved).not.toBe(home);
        expect(upstreams[moved]!.requests.at(-1)!.text).not.toContain('sealed-by-the-account');
        await Bun.sleep(5);
      }
      expect(places.size).toBeGreaterThan(1);
    });
  });

  test('are placed by the name of a key, also while the pool has only one', async () => {
    const pool = policyOf('weighted', '', '').replaceAll(
      'api_key_env: TEST_UPSTREAM_KEY',
      'api_keys_env: [TEST_UPSTREAM_KEY]',
    );
    await withFleet(pool, async (box) => {
      // `attemptsOf` repeats each choice from its record.
      for (let sent = 0; sent < 12; sent++) await attemptsOf(box, await ask(box, question(`Say ${sent}.`)));
      expect(counts().reduce((sum, sent) => sum + sent, 0)).toBe(12);
    });
  });

  test('keep their order without `spread`, and their records have none', async () => {
    await withFleet(policyOf('order', '', ''), async (box) => {
      const answer = await ask(box, question('Say one.'));
      expect((await attemptsOf(box, answer)).map(({ spread }) => spread)).toEqual([null]);
      expect(counts()).toEqual([1, 0, 0]);
    });
  });
});
