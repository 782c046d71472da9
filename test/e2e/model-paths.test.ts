import { expect, test } from 'bun:test';
import { useEmbeddings } from '../support/embedding-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';
import { WIRE_ADAPTERS } from '../support/wire-adapters.ts';

/** The provider's name of a model, which some adapters put into a path. */
const PLAIN = 'plain-1';
/** A name that a caller requests through a wildcard, and a name that a policy lists: a price of its own allows `:` and `@`. */
const ASKED = 'deep/er-1.5';
const LISTED = 'ft:a/b@c.d-1';

/** The providers that the shipped adapters call. */
const services: Readonly<Record<string, FakeUpstream>> = Object.fromEntries(
  WIRE_ADAPTERS.map(({ name, dialect }) => [name, useUpstream({ dialect })]),
);
const embedding = WIRE_ADAPTERS.filter(({ adapter }) => adapter.embeddings).map(
  ({ name, dialect }) => [name, useEmbeddings(dialect === 'gemini' ? 'gemini' : 'openai')] as const,
);

const box = useSignalbox(() => {
  const adapters = Object.entries(services);
  const upstreams = [
    ...adapters.map(([name, { url }]) => [name, { url, adapter: name }] as const),
    ...embedding.map(([name, { url }]) => [`${name}-embed`, { url, adapter: name }] as const),
  ];
  const listed = adapters.map(([name]) => [`${name}-listed`, { endpoints: [name] }] as const);
  const wildcards = adapters.map(
    ([name]) =>
      `  "${name}/*": { provider: ${name}, unknown_price: { as: { input: 1, output: 4, basis: own, as_of: 2026-11-01 } } }`,
  );
  const embedders = embedding.flatMap(([name]) =>
    [PLAIN, LISTED].map(
      (upstream) => `  "${name}-embed-${upstream}":
    endpoints: [{ provider: ${name}-embed, upstream: "${upstream}" }]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 100
    operations: [embed]
    embedding: { dimensions: 8 }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }`,
    ),
  );
  const policy = testPolicy(Object.fromEntries(upstreams), Object.fromEntries(listed))
    .replace('models:\n', `models:\n${[...wildcards, ...embedders].join('\n')}\n`)
    .replaceAll(/upstream: [\w-]+-listed-upstream/g, `upstream: "${LISTED}"`);
  return { policy };
});

const messages = [{ role: 'user', content: 'Hello' }];
const FORMS: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'a chat': ['/v1/chat/completions', { messages, max_tokens: 99 }],
  'a stream': ['/v1/chat/completions', { messages, max_tokens: 99, stream: true }],
  'a message': ['/v1/messages', { messages, max_tokens: 99 }],
  'a count': ['/v1/messages/count_tokens', { messages }],
};

test.each(Object.keys(services).flatMap((name) => Object.keys(FORMS).map((form) => [name, form] as const)))(
  '%s gets the name of a model in the path of %s as one segment, whatever characters it has',
  async (adapter, form) => {
    const { requests } = services[adapter]!;
    const [route, body] = FORMS[form]!;
    const calls = async (model: string) => {
      const before = requests.length;
      const response = await box.post(route, { model, ...body });
      const text = await response.text();
      return {
        status: response.status,
        basis: /"basis":"\w+"/.exec(text)?.[0],
        paths: requests.slice(before).map(({ path }) => path),
      };
    };
    const plain = await calls(`${adapter}/${PLAIN}`);
    expect(plain.status).toBe(200);
    const pathOf = (name: string) => plain.paths.map((path) => path.replace(PLAIN, encodeURIComponent(name)));
    expect(await calls(`${adapter}/${ASKED}`)).toEqual({ ...plain, paths: pathOf(ASKED) });
    expect(await calls(`${adapter}-listed`)).toEqual({ ...plain, paths: pathOf(LISTED) });
    // Only the paths of Gemini contain a name.
    expect(pathOf(LISTED).join().includes(encodeURIComponent(LISTED))).toBe(adapter === 'gemini');
    if (adapter === 'gemini') expect(plain.basis).toBe(form === 'a count' ? '"basis":"provider"' : undefined);
  },
);

test.each(embedding)(
  '%s gets the name of an embedding model in the path as one segment',
  async (adapter, { received }) => {
    const paths: string[] = [];
    for (const upstream of [PLAIN, LISTED]) {
      const response = await box.post('/v1/embeddings', { model: `${adapter}-embed-${upstream}`, input: 'Hello' });
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      paths.push(received.at(-1)!.path);
    }
    expect(paths[1]).toBe(paths[0]!.replace(PLAIN, encodeURIComponent(LISTED)));
  },
);
