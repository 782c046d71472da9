import { describe, expect, test } from 'bun:test';
import { capabilityNames, OF_EVERY_DIALECT } from '../../src/core/request/capability.ts';
import { brief, load, loadText, SMALL, snapshotOf } from './support.ts';

const model = (lines: string) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  m:
    provider: sim
    context_window: 100000
    max_output: 8000
${lines}`;
const priced = (price: string) => {
  const snapshot = snapshotOf(loadText(model(`    price: ${price}\n    quality: { default: 0.5 }\n`)));
  return snapshot.models[0]?.endpoints[0].price;
};

describe('prices', () => {
  test('prices are read exactly from the text', () => {
    expect(priced('{ input: 0.1, cached_input: 0.0375, output: 1e1 }')).toMatchObject({
      lines: [
        {
          overInputTokens: 0,
          input: 200,
          output: 20_000,
          rates: { cached_input: 75, cache_write: 200, audio_output: 20_000 },
        },
      ],
      divisor: 2,
    });
  });

  test('prices keep more digits than a double has', () => {
    const price = priced('{ input: 0.1000000000001, output: 0.3 }');
    expect(price).toMatchObject({ divisor: 10_000_000_000 });
    expect(price?.lines[0].input).toBe(1_000_000_000_001);
  });

  test('prices have tiers and a fee for each request', () => {
    const tiers = '[{ over_input_tokens: 200000, input: 2, output: 8 }]';
    expect(priced(`{ input: 1, output: 4, per_request: 0.005, tiers: ${tiers} }`)).toMatchObject({
      lines: [
        { overInputTokens: 0, input: 1000, output: 4000, request: 5_000_000 },
        { overInputTokens: 200_000, input: 2000, output: 8000, request: 5_000_000 },
      ],
      divisor: 1,
    });
  });
});

describe('models', () => {
  test('models have the documented defaults', () => {
    const text = model(
      '    price: { input: 1, output: 2 }\n    reasoning_tokens: 500\n    quality: { default: 0.5 }\n',
    );
    expect(snapshotOf(loadText(text)).models[0]).toMatchObject({
      id: 'm',
      endpoints: [{ provider: 'sim', upstream: 'm', regions: [] }],
      defaultMaxOutput: 4096,
      acceptsTemperature: true,
      imageTokensMax: null,
      audioTokensPerSecondMax: null,
      // 1 s, plus 500 tokens at 50 tokens per second.
      latency: { ttftMs: 8_367, outputTokensPerSecond: 75 },
      deadlines: { connectMs: 5_000, firstTokenMs: 33_468, idleMs: 30_000, totalMs: 300_000 },
      created: 0,
    });
  });

  test('models keep the stated values', () => {
    const text = model(`    upstream: other
    regions: [eu]
    price: { input: 1, output: 2 }
    default_max_output: 1000
    capabilities: [json_schema, tools]
    languages: [JS, c++]
    temperature: false
    latency: { ttft_ms: 6000, output_tokens_per_second: 80, basis: measured }
    quality: { default: 0.5, coding: 0.7, basis: guessed }
    deadlines: { connect_ms: 3000, total_ms: 60000 }
    released: 2026-01-02
tasks:
  coding: { expected_output_tokens: 10, default_input_tokens: 20 }
`);
    const snapshot = snapshotOf(loadText(text));
    const [found] = snapshot.models;
    expect(found).toMatchObject({
      endpoints: [{ upstream: 'other', regions: ['eu'] }],
      defaultMaxOutput: 1000,
      acceptsTemperature: false,
      deadlines: { connectMs: 3_000, firstTokenMs: 24_000, totalMs: 60_000 },
      created: Date.UTC(2026, 0, 2) / 1000,
    });
    expect(capabilityNames((found?.capabilities ?? 0) & ~OF_EVERY_DIALECT)).toEqual([
      'tools',
      'json_schema',
      'json_mode',
    ]);
    expect([...(found?.languages ?? [])]).toEqual(['javascript', 'cpp']);
    expect(snapshot.tasks.slice(0, 2).map((task) => task.name)).toEqual(['general', 'coding']);
    expect([...(found?.quality ?? [])].slice(0, 3)).toEqual([0.5, 0.7, 0.44]);
  });

  test('models declare a language, lack it, or leave it unknown', () => {
    const one = (id: string, more: string) =>
      `  ${id}:\n    provider: sim\n    price: { input: 1, output: 2 }\n    context_window: 1000\n    max_output: 100\n    quality: { default: 0.5 }\n${more}`;
    const text = `version: 1
providers: { sim: { adapter: simulated } }
unstated_languages: admit
models:
${one('a', '    languages: [Rust, terraform]\n    lacks_languages: [COBOL]\n')}${one('b', '')}`;
    const { languages, models } = snapshotOf(loadText(text));
    expect(models.map(({ lacksLanguages }) => [...lacksLanguages])).toEqual([['cobol'], []]);
    const found = [...languages.byName].map(([name, { qualifies, isDeclared }]) => [name, qualifies[0], isDeclared]);
    expect(found).toEqual([
      ['rust', 0b01, true],
      ['hcl', 0b01, true],
      ['cobol', 0b10, false],
    ]);
  });

  test('models have only the endpoints that can be served, each with its own price', () => {
    const text = `version: 1
providers:
  near: { adapter: openai-compatible, base_url_env: NEAR, allow_private_network: true }
  far: { adapter: openai-compatible, base_url: 'https://far.example/v1/' }
models:
  m:
    endpoints:
      - { provider: near, price: { input: 0, output: 0 } }
      - { provider: far, upstream: m-2 }
    price: { input: 1, output: 2 }
    context_window: 1000
    max_output: 100
    quality: { default: 0.5 }
`;
    const alone = snapshotOf(loadText(text));
    expect(alone.models[0]?.endpoints.map((endpoint) => endpoint.upstream)).toEqual(['m-2']);
    expect(alone.providers.get('far')?.baseUrl).toBe('https://far.example/v1');
    expect(alone.providers.get('far')?.settings).toMatchObject({ max_tokens_field: 'max_tokens' });
    const both = snapshotOf(loadText(text, { NEAR: 'http://10.0.0.1' }));
    expect(both.models[0]?.endpoints.map((endpoint) => endpoint.price.lines[0].input)).toEqual([0, 1000]);
    expect(both.revision).not.toBe(alone.revision);
    const allowed = [...both.providers.values()].map(({ allowPrivateNetwork }) => allowPrivateNetwork);
    expect(allowed).toEqual([true, false]);
  });
});

describe('the rest', () => {
  test('a small policy is complete, because all other settings have defaults', () => {
    const snapshot = snapshotOf(loadText(SMALL));
    expect(snapshot).toMatchObject({
      usdPerCredit: '0.001',
      gateway: { bodyBytesMax: 10_485_760, messagesMax: 2048, toolsMax: 256, commitAfterMs: 15_000, alternatives: 3 },
      defaultWeights: { cost: 0.3, quality: 0.7 },
      baseline: null,
      metrics: { keyLabel: null },
      records: { days: 30, trailDays: null, metadata: [], content: null, reportedRuns: null },
      constraints: [],
      preferences: [],
      budgets: [],
      ledger: { contentionWaitMs: 20_000, wholeHoldShare: 0.05, onCrash: 'charge' },
      cases: [],
      leftOut: [],
    });
    const { ladder, ...auto } = snapshot.selectors.get('auto')!;
    expect(ladder?.order).toEqual([0]);
    expect(auto).toEqual({
      name: 'auto',
      vectorSpace: null,
      strategy: 'auto',
      options: { margin: 0.03, strong_margin: 0.01, second_worth: 0.1, step_cost: 3 },
      allows: null,
    });
    expect([...snapshot.selectors.keys()]).toEqual(['auto', 'auto-fast', 'auto-cheap']);
  });

  test('the policy has the built-in tasks, each with its own sizes', () => {
    const text = `${SMALL}tasks:
  general: { expected_output_tokens: 7, default_input_tokens: 8, min_useful_output: 9 }
`;
    const { tasks, taskIndex } = snapshotOf(loadText(text));
    expect(tasks.length).toBe(12);
    expect(tasks[0]).toMatchObject({ name: 'general', expectedOutputTokens: 7 });
    const vision = { name: 'vision', expectedOutputTokens: 300, defaultInputTokens: 300, minUsefulOutput: 64 };
    expect(tasks[taskIndex.get('vision') ?? -1]).toEqual(vision);
  });

  test('the revision changes with the content of the files and with the environment, not with the order of the files or the folder', () => {
    const more = {
      path: 'q.yaml',
      text: 'version: 1\ntasks:\n  chat: { expected_output_tokens: 9, default_input_tokens: 9 }\n',
    };
    const first = { path: 'p.yaml', text: SMALL };
    const one = snapshotOf(load([first, more]));
    const other = snapshotOf(load([more, first]));
    expect(one.tasks.find((task) => task.name === 'chat')?.expectedOutputTokens).toBe(9);
    expect(other).toEqual(one);
    expect(one.revision).not.toContain('p.yaml');
    expect(snapshotOf(load([first])).revision).not.toBe(one.revision);
  });

  test('the snapshot and its revision never contain a secret', () => {
    const text = SMALL.replace('adapter: simulated', 'adapter: simulated, api_key_env: SIM_KEY');
    const snapshot = snapshotOf(loadText(text, { SIM_KEY: 'the-secret' }));
    expect(JSON.stringify([snapshot, [...snapshot.providers]])).not.toContain('the-secret');
  });

  test('the snapshot is deeply frozen', () => {
    const snapshot = snapshotOf(loadText(SMALL));
    const mutable: string[] = [];
    const walk = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
      if (!Object.isFrozen(value)) mutable.push(path);
      if (value instanceof Map) {
        expect(() => value.set('x', 1)).toThrow();
        expect(() => value.delete('x')).toThrow();
        for (const [key, item] of value) walk(item, `${path}.${key}`);
      }
      if (value instanceof Set) expect(() => value.add('x')).toThrow();
      for (const [key, item] of Object.entries(value)) walk(item, `${path}.${key}`);
    };
    walk(snapshot, 'snapshot');
    expect(mutable).toEqual([]);
  });

  test('a policy that has only warnings loads', () => {
    const text = SMALL.replace('simulated }', 'simulated, api_key_env: K, passthrough: ["*"] }').replace(
      'input: 0.10, output: 0.40',
      'input: 0, output: 0',
    );
    const result = loadText(text, { K: 'key-of-the-test' });
    expect(result.snapshot).not.toBeNull();
    expect(result.diagnostics.map(brief)).toEqual(['3:59 passthrough-all', '7:12 free-model']);
  });
});
