import { testPolicy } from '../support/policies.ts';

export type Random = () => number;

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
const chance = (random: Random, share: number): boolean => random() < share;

/** The variable that the provider `second` needs. If the variable is not set, the policy leaves the provider out. */
export const SECOND_KEY = 'SECOND_UPSTREAM_KEY';
export const SECOND_URL = 'SECOND_UPSTREAM_URL';

/** Makes a random valid policy, with different models, prices, qualities, rules, selectors and budgets each time. */
export function anyPolicy(random: Random, firstUrl: string, comment: string): string {
  // At least two models, because one of the selectors excludes a model.
  const ids = ['m0', 'm1', ...['m2', 'm3', 'm4', 'm5'].filter(() => chance(random, 0.7))];
  const made = ids.map((id) => [id, anyModel(random)] as const);
  // Without the second provider some model must still be served.
  const isServed = made.some(([, { endpoints }]) => endpoints.includes('first'));
  const models = { ...Object.fromEntries(made), ...(!isServed && { m0: { ...made[0]![1], endpoints: ['first'] } }) };
  const rules = [
    `constraints:`,
    `  - { name: cheap, when: request.max_tokens == 7.0, max_cost_credits: ${pick(random, [0.05, 1, 5])} }`,
    `  - { name: not-everywhere, when: request.metadata.area == "eu", require: endpoint.provider == "first" }`,
    `preferences:`,
    `  - { name: liked, when: request.user == "ada", prefer: model.id == "m0", worth: ${random().toFixed(3)} }`,
    `  - { name: disliked, prefer: model.quality.general < 0.5, worth: -${(random() / 10).toFixed(4)} }`,
  ];
  const margin = random() / 2;
  const more = [
    `# ${comment}`,
    ...(chance(random, 0.7) ? rules : []),
    `selectors:`,
    `  auto: { strategy: auto, options: { margin: ${margin}, strong_margin: ${margin / 2}, second_worth: ${pick(random, [0, 0.1, 5])} } }`,
    `  auto-fast: { strategy: auto-fast, options: { margin: ${margin + random() / 2}, strong_margin: ${margin / 2} } }`,
    `  auto-cheap: { strategy: auto-cheap, options: { margin: 1, strong_margin: ${margin} } }`,
    `  narrow: { strategy: auto-cheap, options: { margin: 1, strong_margin: ${margin} }, models: { require: model.id != "${pick(random, ids.slice(1))}" } }`,
    ...(chance(random, 0.5) ? [`baseline: ${pick(random, ids)}`] : []),
    `budgets: [{ name: all, limit_credits: ${pick(random, [90, 900, 1_000_000])}, window: total, on_exhausted: downgrade }]`,
    `strong_from: ${pick(random, [0, 0.5, 0.88, 1])}`,
    ...(chance(random, 0.5) ? ['unstated_latency: slow'] : []),
    `gateway: { retries_max: 0, alternatives: ${pick(random, [0, 1, 3, 3, 10])} }`,
    '',
  ].join('\n');
  const text = testPolicy({ first: firstUrl, second: 'http://second' }, models, more);
  return text
    .replace('unstated_quality: default', `unstated_quality: ${pick(random, ['default', 'lower_end'])}`)
    .replace(
      /base_url: "http:\/\/second", api_key_env: \w+/,
      `base_url_env: ${SECOND_URL}, api_key_env: ${SECOND_KEY}`,
    );
}

function anyModel(random: Random) {
  const price = { input: Number((random() * 5).toFixed(3)), output: Number((random() * 20).toFixed(3)) };
  const more = [
    ...(chance(random, 0.3) ? ['    reasoning_tokens: 500'] : []),
    ...(chance(random, 0.3) ? ['    tokenizer: o200k_base'] : []),
    '',
  ].join('\n');
  const endpoints = pick(random, [['first'], ['first'], ['second'], ['first', 'second'], ['second', 'first']]);
  return { endpoints, price, quality: Number(random().toFixed(6)), more };
}

const QUESTIONS = [
  'Prove that every finite group of odd order is solvable.',
  'Say hello.',
  'Antworte in einem Wort: Was ist die Hauptstadt von Frankreich?',
  'Write a poem of about 300 words on the sea.',
  'What does this do?\n```python\ndef f(x):\n  return x * 2\n```',
  'Solve 3x + 4 = 19 and show every step; \\frac{1}{2} is a hint.',
  'Classify this review as positive or negative: "It broke after a day."',
  'Translate into French: The weather is fine, and the train is late again.',
];

/** Makes a random chat request, which often continues a conversation. */
export function anyChat(random: Random): object {
  const question = pick(random, QUESTIONS).repeat(pick(random, [1, 1, 1, 20, 150]));
  const turns = [
    { role: 'user', content: question },
    { role: 'assistant', content: 'The quick brown fox.' },
    { role: 'user', content: pick(random, QUESTIONS) },
  ];
  return {
    model: anyTarget(random),
    messages: chance(random, 0.3) ? turns : turns.slice(0, 1),
    stream: chance(random, 0.5),
    ...anyWishes(random),
    ...(chance(random, 0.2) && { max_tokens: pick(random, [7, 300]) }),
    ...(chance(random, 0.2) && { budget_limit: pick(random, [0.5, 2, 40]) }),
    ...(chance(random, 0.3) && { user: 'ada' }),
    ...(chance(random, 0.3) && { metadata: { area: 'eu' } }),
    ...(chance(random, 0.1) && { temperature: 0.5, invented: 1 }),
  };
}

/** Makes a random route query. */
export function anyQuery(random: Random): object {
  return {
    model: anyTarget(random),
    ...anyWishes(random),
    ...(chance(random, 0.5)
      ? { messages: [{ role: 'user', content: pick(random, QUESTIONS) }] }
      : { task_type: pick(random, ['general', 'coding', 'unheard-of']) }),
    ...(chance(random, 0.3) && { estimated_output_tokens: Math.floor(random() * 900) + 1 }),
  };
}

const anyTarget = (random: Random) =>
  pick(random, ['auto', 'auto', 'auto-fast', 'auto-fast', 'auto-cheap', 'narrow', 'm0']);

function anyWishes(random: Random): object {
  const constraints = pick(random, [
    { max_latency_ms: 3_000 },
    { max_cost_credits: 8 },
    { required_languages: ['python'] },
  ]);
  return {
    ...(chance(random, 0.2) && { constraints }),
    ...(chance(random, 0.2) && { route_strategy: { cost_weight: random(), quality_weight: random() } }),
  };
}
