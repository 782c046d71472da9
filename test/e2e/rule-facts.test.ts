import { expect, test } from 'bun:test';
import type { RequestFacts } from '../../src/core/tables/facts/request.ts';
import { adviceOf } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A condition for each fact of a request, which is true for `RICH` and false for `PLAIN`. */
const CONDITIONS: Readonly<Record<keyof RequestFacts, string>> = {
  operation: 'request.operation == "chat"',
  model: 'request.model == "auto"',
  task: 'request.task == "coding"',
  difficulty: 'request.difficulty == "usual" && request.stream',
  input_tokens: 'request.input_tokens == 700.0',
  max_tokens: 'request.max_tokens == 77.0',
  stream: 'request.stream',
  tools: 'request.tools',
  images: 'request.images == 1.0',
  output_tokens: 'request.output_tokens == 55.0',
  needs: '"vision" in request.needs && "tools" in request.needs',
  languages: '"typescript" in request.languages',
  natural_language: 'request.natural_language == "de"',
  budget_limit: 'request.budget_limit == 12.5',
  service_tier: 'request.service_tier == "flex"',
  user: 'request.user == "ada"',
  metadata: 'request.metadata.plan == "gold"',
};

const RICH = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Schreibe bitte eine Funktion in Rust, die das Datum im Bild liest und zurückgibt.' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
      ],
    },
  ],
  task_type: 'coding',
  estimated_input_tokens: 700,
  estimated_output_tokens: 55,
  max_tokens: 77,
  stream: true,
  tools: [{ type: 'function', function: { name: 'f' } }],
  user: 'ada',
  metadata: { plan: 'gold' },
  budget_limit: 12.5,
  service_tier: 'flex',
  constraints: { required_languages: ['typescript'] },
};
const PLAIN = { operation: 'embed', input: 'a text', model: 'vectors' };

const upstream = useUpstream();
const rules = Object.entries(CONDITIONS).map(
  ([name, when]) => `  - { name: ${name}, when: '${when}', prefer: 'model.id == "seeing"', worth: 0.001 }\n`,
);
const box = useSignalbox(() => ({
  policy: testPolicy(
    { up: upstream.url },
    { seeing: { endpoints: ['up'], capabilities: ['tools', 'vision'], more: '    image_tokens_max: 900\n' } },
    `  vectors:
    endpoints: [{ provider: up }]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8192
    operations: [embed]
    embedding: { dimensions: 3 }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }
preferences:\n${rules.join('')}`,
  ).replace('output: 4,', 'output: 4, service_tiers: { flex: { input: 1, output: 4 } },'),
}));

/** Returns the names of the rules that apply to a request. */
async function appliedTo(query: object): Promise<readonly string[]> {
  const { decision_id: id } = await adviceOf(await box.post('/v1/route', query));
  const certificate = (await (await box.get(`/v1/decisions/${id}`)).json()) as {
    readonly preferences: readonly { readonly name: string }[];
  };
  return certificate.preferences.map(({ name }) => name);
}

test('a rule can read every fact of a request', async () => {
  expect(await appliedTo(RICH)).toEqual(Object.keys(CONDITIONS));
  expect(await appliedTo(PLAIN)).toEqual([]);
});

test('only rules that read a field which is larger than conditions may read apply because of it', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`key${at}`, 'text']));
  expect(await appliedTo({ ...PLAIN, metadata })).toEqual(['metadata']);
  expect(await appliedTo({ ...PLAIN, user: 'u'.repeat(1_025) })).toEqual(['user']);
});
