import fc from 'fast-check';

const MODEL = {
  provider: 'first',
  price: { input: 1, output: 2, as_of: '2026-11-01', basis: 'own' },
  context_window: 32_768,
  max_output: 256,
  latency: { ttft_ms: 100, output_tokens_per_second: 50, basis: 'guessed' },
};

/** Edits by their meaning: edits that give rights or send data to other places, in any form, and all other edits. */
export type Data = Readonly<Record<string, unknown>>;
type Edit = (policy: Data) => Data;

export const BASE: Data = {
  version: 1,
  providers: {
    first: { adapter: 'openai-compatible', base_url: 'https://first.example/v1', api_key_env: 'FIRST_KEY' },
    spare: { adapter: 'simulated', serve: 'when_alone' },
  },
  models: { one: { ...MODEL, quality: { default: 0.5, basis: 'guessed' } } },
  gateway: { queue_ms: 500 },
  alerts: { webhooks: { ops: { url_env: 'OPS_URL', secret_env: 'OPS_SECRET' } }, rules: [] },
};

const at =
  (path: readonly string[], value: unknown): Edit =>
  (policy) => {
    const [key = '', ...rest] = path;
    if (rest.length > 0) return { ...policy, [key]: at(rest, value)((policy[key] ?? {}) as Data) };
    const { [key]: _, ...others } = policy;
    return value === undefined ? others : { ...others, [key]: value };
  };

export const GUARDED: Readonly<Record<string, Edit>> = {
  plugin: at(['plugins'], ['./evil.ts']),
  address: at(['providers', 'first', 'base_url'], 'https://evil.example/v1'),
  addressByVariable: (policy) =>
    at(['providers', 'first', 'base_url'], undefined)(at(['providers', 'first', 'base_url_env'], 'EVIL')(policy)),
  adapter: at(['providers', 'first', 'adapter'], 'anthropic'),
  preset: at(['providers', 'first', 'preset'], 'groq'),
  key: at(['providers', 'first', 'api_key_env'], 'AWS_SECRET'),
  noKey: at(['providers', 'first', 'api_key_env'], undefined),
  privateNetwork: at(['providers', 'first', 'allow_private_network'], true),
  settings: at(['providers', 'first', 'settings'], { path: '/evil' }),
  provider: at(['providers', 'evil'], { adapter: 'openai-compatible', base_url: 'https://evil.example' }),
  otherCase: at(['providers', 'First'], { adapter: 'simulated' }),
  inherited: at(['providers', 'constructor'], { adapter: 'simulated' }),
  payments: at(['payments'], { x402: { enabled: false } }),
  signIn: at(['sign_in'], { issuer: 'https://evil.example', client_id: 'a', roles: [] }),
  tokens: at(['tokens'], [{ name: 'evil', issuer: 'https://evil.example', audience: 'a', when: 'claims.a == "b"' }]),
  publicUrl: at(['public_url'], 'https://evil.example'),
  webhook: at(['alerts', 'webhooks', 'evil'], { url_env: 'EVIL', format: 'slack' }),
  webhookAddress: at(['alerts', 'webhooks', 'ops', 'url_env'], 'EVIL'),
  webhookGone: at(['alerts', 'webhooks'], {}),
  proxies: at(['gateway', 'trusted_proxies'], ['0.0.0.0/1']),
  origins: at(['gateway', 'cors'], { origins: ['https://evil.example'] }),
  content: at(['records'], { content: {} }),
  evidence: at(['records', 'trail_retention_days'], 30),
  metrics: at(['metrics'], { key_label: 'team' }),
  console: at(['console'], { enabled: false }),
};

export const ORDINARY: Readonly<Record<string, Edit>> = {
  price: at(['models', 'one', 'price', 'input'], 3),
  model: at(['models', 'two'], { ...MODEL, quality: { default: 0.4, basis: 'guessed' } }),
  rule: at(['constraints'], [{ name: 'none', when: 'key.id == "nobody"', require: 'model.id != "one"' }]),
  budget: at(['budgets'], [{ name: 'all', limit_credits: 10, window: 'day' }]),
  queue: at(['gateway', 'queue_ms'], 900),
  alertRule: at(['alerts', 'rules'], [{ name: 'b', on: 'policy_refused', to: ['ops'] }]),
  cache: at(['providers', 'first', 'cache_ttl_s'], 60),
  left: at(['providers', 'spare'], undefined),
  teams: at(['teams'], [{ name: 'search' }]),
  worth: at(['strong_from'], 0.5),
};

/** A form of a policy: sections and members in several files, in any order, as flow or block YAML, with comments. */
export interface Form {
  readonly order: readonly number[];
  readonly isSplit: boolean;
  readonly isFlow: boolean;
  readonly comment: string;
}
export const forms: fc.Arbitrary<Form> = fc.record({
  order: fc.array(fc.nat(1_000), { minLength: 7, maxLength: 7 }),
  isSplit: fc.boolean(),
  isFlow: fc.boolean(),
  comment: fc.constantFrom('', '# nothing to see here\n', '# base_url: https://first.example/v1\n'),
});

export function written(policy: Data, { order, isSplit, isFlow, comment }: Form) {
  let at = 0;
  const shuffled = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value).map(([key, one]) => ({ place: order[at++ % order.length]!, key, one }));
    return Object.fromEntries(entries.sort((a, b) => a.place - b.place).map(({ key, one }) => [key, shuffled(one)]));
  };
  const texts = Object.entries(shuffled(policy) as Data).map(([key, value]) =>
    isFlow ? `"${key}": ${JSON.stringify(value)}\n` : `${key}:${blockOf(value, 1)}\n`,
  );
  const files = isSplit ? texts : [texts.join('')];
  return files.map((text, index) => ({ path: `part-${index}.yaml`, text: comment + text }));
}

function blockOf(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ` ${JSON.stringify(value)}`;
  const entries = Object.entries(value);
  if (entries.length === 0) return ' {}';
  return entries.map(([key, one]) => `\n${'  '.repeat(depth)}${key}:${blockOf(one, depth + 1)}`).join('');
}

export const PLAIN: Form = { order: [0], isSplit: false, isFlow: false, comment: '' };
export const names = (of: Readonly<Record<string, Edit>>, least: number) =>
  fc.uniqueArray(fc.constantFrom(...Object.keys(of)), { minLength: least, maxLength: 3 });

/** Returns a policy after edits, all of one kind or of both kinds. */
export const editedBy = (ordinary: readonly string[], guarded: readonly string[]): Data =>
  [...ordinary.map((name) => ORDINARY[name]!), ...guarded.map((name) => GUARDED[name]!)].reduce<Data>(
    (policy, edit) => edit(policy),
    BASE,
  );
