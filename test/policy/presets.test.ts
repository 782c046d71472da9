import { describe, expect, test } from 'bun:test';
import { capabilityNames, OF_EVERY_DIALECT } from '../../src/core/request/capability.ts';
import { loadShipped } from './shipped.ts';
import { brief, loadText, snapshotOf } from './support.ts';

const KEY = { GROQ_API_KEY: 'key-of-the-test' };

const policy = (provider: string, model = '') => `version: 1
providers: { it: ${provider} }
models:
  m:
    provider: it
    price: { input: 1, output: 2 }
    context_window: 8192
    max_output: 2048
    capabilities: [tools]
    quality: { default: 0.5, basis: guessed }
${model}`;
const providerOf = (text: string, env: Readonly<Record<string, string>> = KEY) =>
  snapshotOf(loadText(policy(text), env)).providers.get('it');

describe('a preset', () => {
  test('a preset supplies the address, the variable of the key, the settings and the adapter of a service', () => {
    expect(providerOf('{ preset: groq }')).toEqual({
      name: 'it',
      adapter: 'openai-compatible',
      settings: { max_tokens_field: 'max_completion_tokens', lacks: ['seed'] },
      baseUrl: 'https://groq.example/v1',
      allowPrivateNetwork: false,
      accounts: [{ apiKeyEnv: 'GROQ_API_KEY' }],
      passthrough: new Set(['reasoning_format']),
      cache: { ttlMs: 7_000, tokensMin: 8 },
      afterAbort: { bills: 'unknown' },
    });
  });

  test('a preset in the key `adapter` causes an error with a hint', () => {
    const { diagnostics } = loadText(policy('{ adapter: groq, api_key_env: GROQ_API_KEY }'), KEY);
    expect(diagnostics.map(brief)).toEqual(['2:29 unknown-reference']);
    expect(diagnostics[0]?.hint).toBe('`groq` is a preset of the adapter `openai-compatible`: write `preset: groq`');
  });

  test('a preset may be stated together with its adapter', () => {
    expect(providerOf('{ adapter: openai-compatible, preset: groq }')).toEqual(providerOf('{ preset: groq }')!);
  });

  test.each([
    ['base_url: https://other.example/v1', { baseUrl: 'https://other.example/v1' }],
    ['base_url_env: OTHER_URL', { baseUrl: 'http://127.0.0.1:1/v1' }],
    ['api_key_env: OTHER_KEY', { accounts: [{ apiKeyEnv: 'OTHER_KEY' }] as const }],
    ['passthrough: []', { passthrough: new Set<string>() }],
    ['cache_ttl_s: 300', { cache: { ttlMs: 300_000, tokensMin: 8 } }],
    ['cache_min_tokens: 1024', { cache: { ttlMs: 7_000, tokensMin: 1024 } }],
    ['allow_private_network: true', { allowPrivateNetwork: true }],
    [
      'settings: { max_tokens_field: max_tokens }',
      { settings: { max_tokens_field: 'max_tokens' as const, lacks: ['seed'] } },
    ],
    ['settings: { lacks: [] }', { settings: { max_tokens_field: 'max_completion_tokens' as const, lacks: [] } }],
  ])('a preset is overridden by what the policy states: %s', (key, expected) => {
    const env = { ...KEY, OTHER_KEY: 'key-of-the-test', OTHER_URL: 'http://127.0.0.1:1/v1' };
    expect(providerOf(`{ preset: groq, ${key} }`, env)).toEqual({ ...providerOf('{ preset: groq }')!, ...expected });
  });

  test('a provider with a preset is left out with its models while its variable is not set', () => {
    const { diagnostics } = loadText(policy('{ preset: groq }'));
    expect(diagnostics.map(brief)).toEqual(['2:1 nothing-to-serve']);
    expect(diagnostics[0]).toMatchObject({ hint: 'GROQ_API_KEY is not set' });
    expect(loadText(policy('{ preset: ollama }')).diagnostics[0]).toMatchObject({ hint: 'OLLAMA_BASE_URL is not set' });
  });

  test('a provider with a preset is reported with all the variables that are not set', () => {
    const own = '{ adapter: openai-compatible, api_key_env: OWN_KEY, base_url_env: OWN_URL }';
    expect(loadText(policy(own)).diagnostics[0]).toMatchObject({ hint: 'OWN_KEY and OWN_URL are not set' });
  });

  test('a preset of a local server has its address in a variable, and may be in a private network', () => {
    const env = { OLLAMA_BASE_URL: 'http://ollama:11434/v1/' };
    const expected = { baseUrl: 'http://ollama:11434/v1', allowPrivateNetwork: true, accounts: [{ apiKeyEnv: null }] };
    expect(providerOf('{ preset: ollama }', env)).toMatchObject(expected);
  });

  test.each([
    ['http://ollama:11434', 'http://ollama:11434/v1'],
    ['http://ollama:11434/', 'http://ollama:11434/v1'],
    ['http://proxy/ollama', 'http://proxy/ollama'],
  ])('a preset appends the path of its API to an address that is only a host: %s', (OLLAMA_BASE_URL, baseUrl) => {
    expect(providerOf('{ preset: ollama }', { OLLAMA_BASE_URL })).toMatchObject({ baseUrl });
  });

  test('a preset does not change an address that the policy states', () => {
    const env = { OTHER_URL: 'http://127.0.0.1:1' };
    const expected = { baseUrl: 'http://127.0.0.1:1' };
    expect(providerOf('{ preset: ollama, base_url_env: OTHER_URL }', env)).toMatchObject(expected);
  });
});

describe('the former address of a service', () => {
  const addressOf = (provider: string, env: Readonly<Record<string, string>> = {}) => {
    const text = policy(provider).replace('    capabilities: [tools]\n', '');
    const keyed = { DEEPSEEK_API_KEY: 'key-of-the-test', ...env };
    return snapshotOf(loadShipped([{ path: 'p.yaml', text }], keyed)).providers.get('it')?.baseUrl;
  };
  const CURRENT = 'https://api.deepseek.com';

  test('is replaced by the current address, so that chats and completions both find their paths', () => {
    expect(addressOf('{ preset: deepseek }')).toBe(CURRENT);
    for (const stated of [CURRENT, `${CURRENT}/`, `${CURRENT}/v1`, `${CURRENT}/v1/`]) {
      expect(addressOf(`{ preset: deepseek, base_url: "${stated}" }`)).toBe(CURRENT);
      expect(addressOf('{ preset: deepseek, base_url_env: AT }', { AT: stated })).toBe(CURRENT);
    }
  });

  test.each([
    'https://proxy.example/deepseek/v1',
    'https://api.deepseek.com/v1/other',
    'https://api.deepseek.com/beta',
  ])('is not seen in another address: %s', (stated) => {
    expect(addressOf(`{ preset: deepseek, base_url: "${stated}" }`)).toBe(stated);
  });

  test('stays for an adapter without the preset', () => {
    const adapter = `{ adapter: openai-compatible, base_url: "${CURRENT}/v1", api_key_env: DEEPSEEK_API_KEY }`;
    expect(addressOf(adapter)).toBe(`${CURRENT}/v1`);
  });
});

describe('an adapter that has a preset of the same name', () => {
  const env = { ANTHROPIC_API_KEY: 'key-of-the-test', OWN_URL: 'http://127.0.0.1:1/v1' };
  const found = (provider: string) => {
    const text = policy(provider).replace('    capabilities: [tools]\n', '');
    return snapshotOf(loadShipped([{ path: 'p.yaml', text }], env)).providers.get('it');
  };

  test('an adapter that has a preset of the same name uses that preset if the policy states no address', () => {
    expect(found('{ adapter: anthropic }')).toMatchObject({ accounts: [{ apiKeyEnv: 'ANTHROPIC_API_KEY' }] });
    expect(found('{ adapter: anthropic }')).toEqual(found('{ preset: anthropic }')!);
  });

  // The key of the service must not be sent to another server.
  test.each([
    ['base_url: https://own.example/v1', 'https://own.example/v1'],
    ['base_url_env: OWN_URL', 'http://127.0.0.1:1/v1'],
  ])(
    'an adapter that has a preset of the same name uses nothing of the preset at another address, and in particular not its key: %s',
    (address, baseUrl) => {
      expect(found(`{ adapter: anthropic, ${address} }`)).toMatchObject({
        ...{ baseUrl, accounts: [{ apiKeyEnv: null }], passthrough: new Set() },
        cache: { ttlMs: 300_000, tokensMin: 1_024 },
      });
    },
  );
});

describe('a model', () => {
  const capabilities = (provider: string, more = '') => {
    const { models } = snapshotOf(loadText(policy(provider, more), KEY));
    const all = capabilityNames(OF_EVERY_DIALECT);
    const [{ capabilities: bits, endpoints }] = models as [(typeof models)[0]];
    expect(endpoints[0].capabilities).toBe(bits);
    return {
      declared: capabilityNames(bits & ~OF_EVERY_DIALECT),
      lacks: all.filter((one) => !capabilityNames(bits).includes(one)),
    };
  };

  test('a model has all capabilities that its provider’s dialect can express', () => {
    expect(capabilities('{ adapter: simulated }')).toEqual({ declared: ['tools'], lacks: [] });
    expect(capabilities('{ preset: groq }')).toEqual({ declared: ['tools'], lacks: ['seed'] });
  });

  test('a model lacks the capabilities of its dialect that the policy lists in `lacks`', () => {
    expect(capabilities('{ preset: groq }', '    lacks: [stop, tools]\n')).toEqual({
      declared: [],
      lacks: ['seed', 'stop'],
    });
  });

  test('a model whose adapter fails is reported once for each provider', () => {
    const second =
      '  n:\n    provider: it\n    upstream: untold\n    price: { input: 1, output: 2 }\n    context_window: 8\n    max_output: 8\n    quality: { default: 0.5 }\n';
    const { diagnostics, snapshot } = loadText(policy('{ preset: groq }', `    upstream: untold\n${second}`), KEY);
    expect(diagnostics.map(brief)).toEqual(['2:14 plugin-failed']);
    expect(diagnostics[0]!.message).toBe(
      'the adapter of provider `it` fails to list the capabilities of its models: not for these tests',
    );
    expect(snapshot).toBeNull();
  });
});
