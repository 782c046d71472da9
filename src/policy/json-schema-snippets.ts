import type { Plugin } from '../contract/kinds.ts';

/** A completion that an editor inserts. `body` has placeholders to fill in. */
export interface Snippet {
  readonly label: string;
  readonly description: string;
  readonly body: unknown;
}

/** Path → its snippets. In bodies, `<1:text>` is a placeholder with its initial text. */
export type Snippets = Readonly<Record<string, readonly Snippet[]>>;

const PRICE = { input: '<3:0.25>', output: '<4:2.00>', as_of: '<5:2026-10-07>', basis: '<6:vendor-list>' };
const SIZES = { context_window: '<7:200000>', max_output: '<8:32000>' };

const SNIPPETS: Snippets = {
  models: [
    {
      label: 'a model',
      description: 'A model of one provider. Prices are USD per 1M tokens, sizes are tokens.',
      body: {
        '<1:model-id>': {
          provider: '<2:openai>',
          price: PRICE,
          ...SIZES,
          capabilities: '[<9:tools>]',
          quality: { default: '<10:0.75>', basis: 'guessed' },
        },
      },
    },
    {
      label: 'a model with several endpoints',
      description: 'A model that several providers serve, tried in their order.',
      body: {
        '<1:model-id>': {
          endpoints: ['{ provider: <2:openai>, regions: [us] }', '{ provider: <11:openai-eu>, regions: [eu] }'],
          price: PRICE,
          ...SIZES,
          quality: { default: '<10:0.75>', basis: 'guessed' },
        },
      },
    },
    {
      label: 'a model on a machine of your own',
      description: 'Costs nothing per token, and carries a mark for rules.',
      body: {
        '<1:model-id>': {
          provider: '<2:ollama>',
          upstream: '<3:qwen3-coder:30b>',
          price: '{ input: 0, output: 0, basis: own }',
          context_window: '<4:32768>',
          max_output: '<5:8192>',
          tags: '[local]',
          quality: { default: '<6:0.6>', basis: 'guessed' },
        },
      },
    },
  ],
  selectors: [
    {
      label: 'a selector',
      description: 'A name that callers give as `model`; here it chooses among the models with a mark.',
      body: { '<1:auto-private>': { strategy: '<2:auto>', models: { require: '\'"<3:private>" in model.tags\'' } } },
    },
  ],
  tasks: [
    {
      label: 'a task',
      description: 'A kind of request of your own, with its usual sizes in tokens.',
      body: { '<1:support>': { expected_output_tokens: '<2:400>', default_input_tokens: '<3:500>' } },
    },
  ],
  constraints: [
    {
      label: 'a constraint on where it is computed',
      description: 'Keeps the requests of some keys in a region.',
      body: {
        name: '<1:legal-stays-in-the-eu>',
        when: 'key.labels.<2:department> == "<3:legal>"',
        require: '\'"<4:eu>" in endpoint.regions\'',
      },
    },
    {
      label: 'a ceiling of cost',
      description: 'No model whose expected cost is above so many Credits.',
      body: { name: '<1:nothing-dear>', when: 'request.task == "<2:chat>"', max_cost_credits: '<3:2>' },
    },
    {
      label: 'a ceiling of latency',
      description: 'No model whose answer is expected to take longer than so many ms.',
      body: {
        name: '<1:answers-in-five-seconds>',
        when: 'request.metadata.<2:interactive> == "<3:yes>"',
        max_latency_ms: '<4:5000>',
      },
    },
  ],
  preferences: [
    {
      label: 'a preference at night',
      description: 'Counts as if the quality of some models were higher, at some hours.',
      body: {
        name: '<1:own-hardware-at-night>',
        when: 'time.hour >= <2:22>.0 || time.hour < <3:6>.0',
        prefer: '\'"<4:local>" in model.tags\'',
        worth: '<5:0.05>',
      },
    },
  ],
  budgets: [
    {
      label: 'a budget for each team',
      description: 'What each team may spend in a window, in Credits.',
      body: {
        name: '<1:team-month>',
        each: 'key.labels.<2:team>',
        match: 'key.labels.<2:team> != ""',
        limit_credits: '<3:50000>',
        window: '<4:month>',
        on_exhausted: '<5:downgrade>',
        alert_at: '[0.5, 0.8, 1.0]',
      },
    },
    {
      label: 'a budget for everyone together',
      description: 'What all may spend in a window, in Credits.',
      body: { name: '<1:everyone-in-a-day>', limit_credits: '<2:10000>', window: '<3:day>' },
    },
  ],
  rate_limits: [
    {
      label: 'a rate limit for each key',
      description: 'Requests and tokens in a minute.',
      body: {
        name: '<1:per-key>',
        each: '<2:key>',
        requests_per_minute: '<3:600>',
        tokens_per_minute: '<4:400000>',
      },
    },
  ],
  cases: [
    {
      label: 'a case: what is chosen',
      description: 'A request, and the model that must come of it.',
      body: {
        name: '<1:short chat is cheap>',
        given: '{ model: <2:auto>, task_type: <3:chat> }',
        expect: '{ model: <4:model-id>, cost_below_credits: <5:1> }',
      },
    },
    {
      label: 'a case: what is rejected',
      description: 'A request of a key, and the constraint that must reject a model.',
      body: {
        name: '<1:legal work never leaves the EU>',
        given: '{ model: auto, key: { labels: { <2:department>: <3:legal> } } }',
        expect: '{ rejected: { <4:model-id>: <5:legal-stays-in-the-eu> } }',
      },
    },
    {
      label: 'a case: what is refused',
      description: 'A request that no model may be left for.',
      body: {
        name: '<1:nothing answers within a millisecond>',
        given: '{ constraints: { max_latency_ms: <2:1> } }',
        expect: '{ refused: <3:no_eligible_model> }',
      },
    },
  ],
};

/** All snippets, with a provider for each preset of a plugin. */
export function snippetsOf(plugins: readonly Plugin[]): Snippets {
  const presets = plugins.flatMap((plugin) => (plugin.kind === 'provider' ? Object.keys(plugin.presets ?? {}) : []));
  const services = presets.map((preset) => ({
    label: `the service ${preset}`,
    description: `A whole provider: \`preset: ${preset}\` knows its address and the variable of its key.`,
    body: { [preset]: `{ preset: ${preset} }` },
  }));
  const own = {
    label: 'a server of your own',
    description: "Whatever speaks OpenAI's dialect, at an address.",
    body: {
      '<1:gpu-box>': { adapter: 'openai-compatible', base_url: '<2:http://10.0.0.5:8000/v1>' },
    },
  };
  const all = Object.entries({ ...SNIPPETS, providers: [own, ...services] });
  return Object.fromEntries(
    all.map(([path, snippets]) => [path, snippets.map((one) => ({ ...one, body: withPlaceholders(one.body) }))]),
  );
}

/** Converts placeholders to the form of editors. */
function withPlaceholders(body: unknown): unknown {
  if (typeof body === 'string') return body.replace(/<(\d+):([^>]*)>/g, (_, at, text) => `\${${at}:${text}}`);
  if (Array.isArray(body)) return body.map(withPlaceholders);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [withPlaceholders(key), withPlaceholders(value)]),
  );
}
