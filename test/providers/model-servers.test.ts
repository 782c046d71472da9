import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { chatCompletions } from '../../plugins/providers/openai-compatible/dialect.ts';
import { PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ModelServerAdapter, ServedFacts } from '../../src/contract/model-server.ts';
import { foundList, MODELS_MAX, type ServerMemory } from '../../src/policy/runtime/discovery/found-list.ts';
import { effort } from '../deep/effort.ts';
import { type FakeModel, FakeModelServer, type ServerKind } from '../support/model-servers.ts';

const { runs, seed } = effort('model-servers', 200, 5_000);

const KINDS = {
  ollama: 'ollama',
  'llama-cpp': 'llama_cpp',
  'lm-studio': 'lm_studio',
  vllm: 'vllm',
  python: 'openai',
} as const;
const readerOf = (kind: ServerKind): ModelServerAdapter =>
  chatCompletions({ ...PLAIN, server: KINDS[kind] }).modelServer!;

const NOTHING: ServerMemory = { since: new Map(), contexts: new Map(), details: new Map() };

/** Reads the models of a fake server as Signalbox reads a server. */
function found(kind: ServerKind, models: readonly FakeModel[], memory = NOTHING) {
  const fake = new FakeModelServer(kind, models);
  try {
    const reader = readerOf(kind);
    const pathOf = ({ path, below }: { readonly path: string; readonly below: string }) =>
      below === 'base_url' ? `/v1${path}` : path;
    const bodies = reader.requests.map((one) => JSON.stringify(fake.body(pathOf(one))) ?? null);
    const list = reader.read(bodies)!;
    const details = new Map<string, ServedFacts>(memory.details);
    for (const { digest, upstream } of list.models) {
      const body = digest && fake.body('/api/show', upstream);
      if (digest && body && reader.detail) details.set(digest, reader.detail.read(JSON.stringify(body)));
    }
    return foundList('box', list, { ...memory, details }, 1_000);
  } finally {
    void fake.stop();
  }
}

describe('each program tells what it serves', () => {
  test('Ollama: the context in use counts before `num_ctx`, and capabilities are as stated', () => {
    const { server } = found('ollama', [
      { name: 'smol:latest', inUse: 2_048, numCtx: 8_192, capabilities: ['completion', 'tools', 'insert'] },
      {
        name: 'qwen:8b',
        numCtx: 6_000,
        size: '8.0B',
        parameters: 8_030_000_000,
        capabilities: ['completion', 'thinking', 'vision'],
      },
      { name: 'plain:1b', capabilities: ['completion'] },
      { name: 'embed:latest', capabilities: ['embedding'], dimensions: 768, numCtx: 2_048 },
    ]);
    expect(server.models).toEqual([
      ...[
        {
          upstream: 'embed:latest',
          name: 'embed',
          contextWindow: 2_048,
          isContextGuessed: false,
          operation: 'embed',
          dimensions: 768,
          capabilities: [],
        },
        {
          upstream: 'plain:1b',
          name: 'plain:1b',
          contextWindow: 4_096,
          isContextGuessed: true,
          operation: 'chat',
          dimensions: null,
          capabilities: ['json_schema'],
          inserts: false,
        },
        {
          upstream: 'qwen:8b',
          name: 'qwen:8b',
          contextWindow: 6_000,
          isContextGuessed: false,
          operation: 'chat',
          dimensions: null,
          capabilities: ['reasoning', 'vision'],
          inserts: false,
          parameters: 8_000_000_000,
        },
        {
          upstream: 'smol:latest',
          name: 'smol',
          contextWindow: 2_048,
          isContextGuessed: false,
          operation: 'chat',
          dimensions: null,
          capabilities: ['json_schema', 'tools'],
          inserts: true,
        },
      ].map((one) => ({ parameters: 134_520_000, since: 1_000, ...one })),
    ] as never);
    expect(server.names).toEqual(['embed:latest', 'plain:1b', 'qwen:8b', 'smol:latest']);
  });

  test('Ollama: a model that another machine runs is left out, but its name is known', () => {
    const { server } = found('ollama', [
      { name: 'gpt-oss:120b-cloud' },
      { name: 'far:1b', remoteHost: 'https://ollama.com:443' },
      { name: 'near:1b' },
    ]);
    expect(server.models.map(({ name }) => name)).toEqual(['near:1b']);
    expect(server.names).toContain('far:1b');
  });

  test('llama.cpp: a path becomes the name of its file, and a list of one model proves nothing about other names', () => {
    const { server } = found('llama-cpp', [
      { name: '/models/SmolLM2.Q4_1.gguf', inUse: 2_048, capabilities: ['tools'] },
    ]);
    expect(server).toMatchObject({
      names: null,
      models: [
        { name: 'SmolLM2.Q4_1', contextWindow: 2_048, parameters: 134_515_008, capabilities: ['json_schema', 'tools'] },
      ],
    });
  });

  test('LM Studio: the loaded context counts; for a model that is not loaded it is a low guess', () => {
    const { server } = found('lm-studio', [
      { name: 'qwen/loaded', inUse: 16_384, contextMax: 32_768, capabilities: ['tool_use'] },
      { name: 'qwen/resting', contextMax: 32_768 },
      { name: 'nomic', dimensions: 768 },
    ]);
    expect(server.models).toMatchObject([
      { name: 'qwen/loaded', contextWindow: 16_384, isContextGuessed: false, capabilities: ['json_schema', 'tools'] },
      { name: 'qwen/resting', contextWindow: 4_096, isContextGuessed: true },
    ]);
  });

  test('vLLM and other servers: the list states the context, or it is a low guess', () => {
    expect(found('vllm', [{ name: 'Qwen/Qwen2.5-7B', inUse: 32_768 }]).server).toMatchObject({
      names: ['Qwen/Qwen2.5-7B'],
      models: [{ name: 'Qwen/Qwen2.5-7B', contextWindow: 32_768, isContextGuessed: false, parameters: null }],
    });
    expect(found('python', [{ name: 'smol' }]).server).toMatchObject({
      names: null,
      models: [{ name: 'smol', contextWindow: 4_096, isContextGuessed: true, capabilities: [] }],
    });
  });

  test('the context that weights used last stays while they are not loaded, and a loaded model that states another context is believed', () => {
    const digest = 'a'.repeat(64);
    const contextAfter = (before: ReadonlyMap<string, number>, model: object) =>
      found('ollama', [{ name: 'b:1b', digest, ...model }], { ...NOTHING, contexts: before });
    const { contexts: small } = found('ollama', [{ name: 'a:1b', inUse: 2_048, digest }]);
    const resting = contextAfter(small, {});
    expect(resting.server.models[0]?.contextWindow).toBe(2_048);
    for (const inUse of [8_192, 1_024]) {
      expect(contextAfter(resting.contexts, { inUse }).server.models[0]?.contextWindow).toBe(inUse);
    }
  });

  test('names of the same weights have the smallest context that any of them uses', () => {
    const digest = 'a'.repeat(64);
    const models = [
      { name: 'a:1b', inUse: 8_192, digest },
      { name: 'b:1b', inUse: 2_048, digest },
      { name: 'c:1b', inUse: 4_096, digest },
    ];
    const { server, contexts } = found('ollama', models);
    expect(server.models.map((one) => one.contextWindow)).toEqual([2_048, 2_048, 2_048]);
    expect([...contexts.values()]).toEqual([2_048]);
  });
});

const name = fc.oneof(
  fc.constantFrom(
    'a',
    'a:latest',
    'a:1b',
    '/x/a.gguf',
    '..',
    'a..b',
    '__proto__',
    'constructor',
    ' ',
    'x'.repeat(2_000),
  ),
  fc.string({ maxLength: 200 }),
);
const loose = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  name,
  fc.double(),
  fc.constantFrom(-1, 0, 1e308, 2 ** 53, 1.5, '4096'),
);
const record = fc
  .tuple(
    fc.record(
      { name, id: name, model: name, digest: fc.oneof(fc.constant('f'.repeat(64)), loose) },
      { requiredKeys: [] },
    ),
    fc.dictionary(
      fc.constantFrom(
        'context_length',
        'max_model_len',
        'meta',
        'details',
        'capabilities',
        'state',
        'type',
        'loaded_context_length',
        'max_context_length',
        'remote_host',
        'n_ctx',
      ),
      loose,
    ),
  )
  .map(([names, rest]) => ({ ...rest, ...names }));
const body = fc.oneof(
  fc.constant(null),
  fc.string(),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc
    .record({
      models: fc.array(record),
      data: fc.array(record),
      model_info: loose,
      parameters: loose,
      modalities: loose,
    })
    .map((value) => JSON.stringify(value)),
  fc.constantFrom('['.repeat(100_000), `{"models":[${'{},'.repeat(200_000)}{}]}`),
);

test('no answer, however hostile, makes a reader throw or a model that a policy cannot have', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(KINDS)) as fc.Arbitrary<ServerKind>,
      fc.array(body, { minLength: 2, maxLength: 2 }),
      body,
      (kind, bodies, shown) => {
        const reader = readerOf(kind);
        const list = reader.read(bodies);
        const detail = reader.detail?.read(shown ?? '');
        if (!list) return;
        const details = new Map(
          list.models.flatMap(({ digest }) => (digest && detail ? [[digest, detail] as const] : [])),
        );
        const { server } = foundList('box', list, { ...NOTHING, details }, 1);
        expect(server.models.length).toBeLessThanOrEqual(MODELS_MAX);
        for (const model of server.models) {
          expect(`box/${model.name}`).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/);
          expect(Number.isSafeInteger(model.contextWindow) && model.contextWindow > 0).toBe(true);
          expect(model.operation === 'embed').toBe(model.dimensions !== null);
        }
        expect(new Set(server.models.map((model) => model.name)).size).toBe(server.models.length);
      },
    ),
    { numRuns: runs, seed },
  );
});

test('a list of more than 500 models is cut, and then proves nothing about other names', () => {
  const models = Array.from({ length: 501 }, (_, at) => ({ name: `m${at}` }));
  const { server, leftOut } = found('vllm', models);
  expect({ kept: server.models.length, names: server.names, leftOut }).toEqual({ kept: 500, names: null, leftOut: 1 });
});
