/** A request with nearly every field, as JSON text in which tests replace values. */
export const FULL = {
  model: 'auto',
  messages: [
    { role: 'system', content: 'Be brief.', name: 'boss' },
    { role: 'user', content: [{ type: 'text', text: 'Say hello.' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', content: 'found', tool_call_id: 'call_1' },
  ],
  stream: false,
  max_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  frequency_penalty: 0,
  n: 1,
  stop: ['\n'],
  seed: 7,
  logit_bias: { '50256': -100 },
  tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } }],
  tool_choice: 'auto',
  response_format: { type: 'json_schema', json_schema: { name: 'thing', schema: { type: 'object' } } },
  user: 'somebody',
  metadata: { team: 'search' },
  route_strategy: { cost_weight: 1, quality_weight: 2 },
  constraints: { max_cost_credits: 100, required_languages: ['python'] },
  budget_limit: 50,
  agent_wallet: '0x00000000000000000000000000000000000000a1',
  something_else: { a: [1, 2, 3] },
};
export const QUERY = {
  model: 'auto',
  task_type: 'coding',
  estimated_input_tokens: 1000,
  constraints: { max_latency_ms: 60_000, required_languages: ['ts'] },
  route_strategy: { cost_weight: 1 },
  messages: [{ role: 'user', content: 'Say hello.' }],
};

/** JSON texts for places where the API expects something else. */
const ODD = [
  'null',
  'true',
  '-1',
  '0.5',
  '1e999',
  '-1e999',
  '1e308',
  '5e-324',
  '123456789012345678901234567890',
  '""',
  '"\\ud800"',
  '"\\udc00\\ud800 lone"',
  '"\\u0000\\r\\n\\u2028"',
  '"__proto__"',
  '"constructor"',
  '[]',
  '{}',
  '[[[[{}]]]]',
  '{"toString":1,"valueOf":1}',
  '{"__proto__":{"model":"auto","role":"user"},"constructor":{"prototype":{"polluted":1}}}',
  `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  `"${'x'.repeat(70_000)}"`,
] as const;
const MARK = 'to be replaced';

export function makeBody(random: () => number, of: object): string | Uint8Array<ArrayBuffer> {
  const below = (n: number) => Math.floor(random() * n);
  const text = JSON.stringify(of);
  const kind = random();
  if (kind < 0.1) return Uint8Array.from({ length: below(3_000) }, () => below(256));
  if (kind < 0.2) return text.slice(0, below(text.length));
  if (kind < 0.3) {
    const bytes = new TextEncoder().encode(text);
    for (let i = 0; i <= below(4); i++) bytes[below(bytes.length)] = below(256);
    return bytes;
  }
  let body: unknown = structuredClone(of);
  for (let i = 0; i <= below(3); i++) body = replaceOne(body, below);
  return JSON.stringify(body).replaceAll(JSON.stringify(MARK), () => ODD[below(ODD.length)]!);
}

/** Puts the mark in place of one value, or adds it under a name that has a meaning in JavaScript. */
function replaceOne(value: unknown, below: (n: number) => number): unknown {
  if (typeof value !== 'object' || value === null || below(4) === 0) return MARK;
  if (Array.isArray(value))
    return value.length === 0 ? [MARK] : value.with(below(value.length), replaceOne(value[below(value.length)], below));
  const names = Object.keys(value);
  const name = names[below(names.length)];
  const entries = Object.entries(value).map(([key, inner]) => [key, key === name ? replaceOne(inner, below) : inner]);
  const extra = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''][below(20)];
  return Object.fromEntries(extra === undefined ? entries : [...entries, [extra, MARK]]);
}
