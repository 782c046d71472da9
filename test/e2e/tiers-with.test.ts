import { describe, expect, test } from 'bun:test';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Orders together with listed fallbacks, with a strategy of a third party, and with embeddings, through HTTP. */
const upstream = useUpstream();
const backup = useUpstream();
const model = (provider: string, price: number, quality: number, more = '') =>
  `{ provider: ${provider}, price: { input: ${price}, output: ${4 * price} }, context_window: 20000, max_output: 9000, quality: { default: ${quality} }${more} }`;
const providerAt = (url: string) =>
  `{ adapter: openai-compatible, base_url: "${url}", api_key_env: TEST_UPSTREAM_KEY }`;

const POLICY = `version: 1
plugins: [./contrary.ts]
gateway: { retries_max: 0 }
providers:
  main: ${providerAt(upstream.url)}
  other: ${providerAt(backup.url)}
  sim: { adapter: simulated }
models:
  small: ${model('main', 0.25, 0.7)}
  strong: ${model('main', 5, 0.9)}
  spare: ${model('other', 2, 0.5)}
  long: ${model('other', 3, 0.6).replace('20000', '200000')}
  vectors: { provider: sim, price: { input: 0.02, output: 0 }, context_window: 8192, operations: [embed], embedding: { dimensions: 16, vector_space: v } }
selectors:
  auto:
    strategy: auto
    models: { require: '"main" in model.providers' }
    tiers: { usual: [small], strong: [strong] }
    fallbacks: { error: [spare], context: [long] }
  contrary: { strategy: contrary, options: { fault: none } }
  throwing: { strategy: contrary, options: { fault: always } }
  picky: { strategy: contrary, options: { fault: typical } }
  search: { strategy: auto, vector_space: v }
escalate: { on: [correction] }
`;
const CONTRARY = `import { defineStrategy, Type } from 'signalbox/plugin';
export const contrary = defineStrategy({
  name: 'contrary', status: 'alpha', options: Type.Object({ fault: Type.String() }),
  prepare: ({ fault }) => ({
    per: 'build',
    reason: 'is the worst',
    margin: 1,
    strongMargin: 0,
    score({ n, quality }, out) {
      if (fault === 'always') throw new Error('it never scores');
      for (let i = 0; i < n; i++) out[i] = fault === 'typical' && quality[i] > 0.7 ? -Infinity : -quality[i];
    },
  }),
});
`;

const live = useLivePolicy(() => ({ 'policy.yaml': POLICY, 'contrary.ts': CONTRARY }), { env: UPSTREAM_ENV });

interface Shown {
  readonly choice: string;
  readonly fallbacks: readonly string[];
  readonly route_reason: string;
  readonly tier: { readonly name: string; readonly why: string; readonly order: readonly string[] } | null;
  readonly facts: object;
  readonly outcome: { readonly attempts: readonly { readonly model: string; readonly failure: string | null }[] };
  readonly replay: { readonly matches: boolean };
  readonly explanation: readonly string[];
}
const GREETING = 'hi, how are you?';
const FAILED = [GREETING, 'Fine.', 'That is wrong.'];

const shown = async (answer: Response): Promise<Shown> => {
  expect(answer.status).toBe(200);
  const { platform } = (await answer.json()) as { platform: { decision_id: string } };
  return (await live.box.get(`/v1/decisions/${platform.decision_id}`)).json() as Promise<Shown>;
};
const ask = async (name: string, texts: readonly string[]): Promise<Shown> => {
  const messages = texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
  return shown(await live.box.post('/v1/chat/completions', { model: name, messages }));
};

describe('a selector with tiers and listed fallbacks', () => {
  test.each([
    ['usual', 'small', [GREETING]],
    ['strong', 'strong', FAILED],
  ])('chooses from its %s tier, and tries the listed fallbacks after an error', async (tier, choice, texts) => {
    upstream.next({ fail: 'overloaded' });
    const decision = await ask('auto', texts);
    expect(decision).toMatchObject({
      choice,
      fallbacks: ['spare', 'long'],
      route_reason: `auto:${tier}`,
      tier: { name: tier },
      replay: { matches: true },
    });
    expect(decision.outcome.attempts.map((one) => [one.model, one.failure])).toEqual([
      [choice, 'overloaded'],
      ['spare', null],
    ]);
  });

  test('uses the list of the reason if no model of both tiers is eligible', async () => {
    const decision = await ask('auto', [`${GREETING} ${'Lorem ipsum dolor sit amet. '.repeat(4_000)}`]);
    expect(decision).toMatchObject({ choice: 'long', tier: null, replay: { matches: true } });
  });
});

describe('a strategy of a third party', () => {
  test('orders the models by its own scores, and its margins decide how good a model must be', async () => {
    // Its first model is worse, more expensive and no faster than the third one, which is therefore the choice.
    expect(await ask('contrary', [GREETING])).toMatchObject({
      choice: 'small',
      route_reason: 'contrary:usual',
      tier: { name: 'usual', order: ['spare', 'long', 'small', 'strong'], stated: null },
      replay: { matches: true },
    });
    expect(await ask('contrary', FAILED)).toMatchObject({
      choice: 'strong',
      route_reason: 'contrary:strong',
      tier: { why: 'escalated' },
      replay: { matches: true },
    });
  });

  test('that cannot score the typical request orders the models by quality, cost, latency and ID', async () => {
    expect(await ask('throwing', [GREETING])).toMatchObject({
      choice: 'strong',
      tier: { order: ['strong', 'small', 'long', 'spare'] },
      replay: { matches: true },
    });
  });

  test('leaves out the models that it refuses for the typical request', async () => {
    expect(await ask('picky', [GREETING])).toMatchObject({
      choice: 'small',
      tier: { order: ['spare', 'long', 'small'] },
      candidates: [{ rank: 1 }, { rank: 2 }, { rank: 3 }, { model: 'strong', rejections: [{ kind: 'strategy' }] }],
      replay: { matches: true },
    });
  });
});

describe('embeddings', () => {
  const embed = (name: string) => live.box.post('/v1/embeddings', { model: name, input: [GREETING] });

  test('follow the order of their selector without a conversation, also sent twice', async () => {
    for (const _ of [1, 2]) {
      expect(await shown(await embed('search'))).toMatchObject({
        choice: 'vectors',
        tier: { name: 'usual', order: ['vectors'] },
        facts: { first_tier: null, escalation: null, conversation: null },
        replay: { matches: true },
      });
    }
  });

  test('no order of a selector for chats has their model', async () => {
    expect((await ask('contrary', [GREETING])).tier!.order).not.toContain('vectors');
    expect((await embed('auto')).status).toBe(422);
  });
});
