import { describe, expect, test } from 'bun:test';
import { errorsIn, imported } from './support.ts';

/** Tests entries other than chat models: embedding models and wildcards. */
const unpriced = (params: string, more = '') =>
  `model_list:\n  - model_name: one\n    litellm_params: { ${params} }\n${more}`;
const fileOf = (text: string, name: string) => imported(text).files.find((file) => file.name === name)?.text ?? '';
const outcomeOf = (text: string, path: string) => imported(text).report.keys.find((key) => key.path === path);

describe('embedding models', () => {
  test('known embedding models are imported with the facts of the shipped policy', async () => {
    const text = unpriced('model: openai/text-embedding-3-small');
    expect(imported(text).report.questions.size).toBe(0);
    expect(
      fileOf(text, 'models.yaml'),
    ).toContain(`    price: { input: 0.02, output: 0, as_of: 2025-10-30, basis: vendor-list }
    context_window: 8192
    operations: [embed]
    capabilities: [token_input]
    embedding: { dimensions: 1536, shortest: 256, batch_inputs: 2048, batch_tokens: 300000 }
`);
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });

  test('other embedding models are imported with the facts of the configuration, and the length of their vectors is a question', async () => {
    const params = 'model: hosted_vllm/bge-m3, api_base: "http://gpu:8000/v1", api_key: none';
    const info = (more: string) => `    model_info: { mode: embedding, max_input_tokens: 8192${more} }\n`;
    const text = unpriced(params, info(', output_vector_size: 1024'));
    expect(fileOf(text, 'models.yaml')).toContain(
      '    context_window: 8192\n    operations: [embed]\n    embedding: { dimensions: 1024 }\n',
    );
    expect(outcomeOf(text, 'model_list[0].model_info.output_vector_size')).toMatchObject({ outcome: 'mapped' });
    expect(await errorsIn(imported(text).files)).toEqual([]);
    expect([...imported(unpriced(params, info(''))).report.questions]).toEqual([
      ['one', ['how many numbers its vectors have (`embedding.dimensions`)']],
    ]);
  });

  test('embedding models get no fallbacks and no other models under their name, but keep their aliases', async () => {
    const entry = (model: string) => `  - { model_name: one, litellm_params: { model: ${model} } }\n`;
    const text = `model_list:\n${entry('openai/text-embedding-3-small')}${entry('openai/gpt-4o')}${entry('openai/gpt-4o').replace('one', 'two')}router_settings: { fallbacks: [{ one: [two] }, { two: [one] }], default_fallbacks: [two], model_group_alias: { vectors: one } }\n`;
    expect(imported(text).report.models).toEqual(['one', 'two']);
    expect(outcomeOf(text, 'router_settings.fallbacks[0].one[0]')?.outcome).toBe('left_out');
    expect(outcomeOf(text, 'router_settings.fallbacks[1].two[0]')?.outcome).toBe('left_out');
    expect(fileOf(text, 'models.yaml')).toContain('  one:\n    aliases: [vectors]\n');
    expect(fileOf(text, 'models.yaml')).not.toContain('fallbacks');
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });
});

describe('wildcards', () => {
  test('entries with a wildcard become wildcards: of a provider, of a part of its names, of deployments', async () => {
    const entry = (name: string, params: string) => `  - { model_name: "${name}", litellm_params: { ${params} } }\n`;
    const text = `model_list:\n${entry('openai/*', 'model: openai/*')}${entry('claude-*', 'model: anthropic/claude-*')}${entry('eu/*', 'model: azure/*')}${entry('ollama/*', 'model: ollama/*')}router_settings: { fallbacks: [{ openai/gpt-4o: [claude-x] }] }\n`;
    const models = fileOf(text, 'models.yaml');
    expect(models).toContain('  openai/*:\n    provider: openai\n    unknown_price: refuse\n');
    expect(models).toContain('  claude-*:\n    provider: anthropic\n    unknown_price: refuse\n');
    expect(models).toContain('unknown_price: { as: { input: 0, output: 0, as_of: 2026-11-20, basis: own } }');
    expect([...imported(text).report.questions.keys()]).toEqual(['eu/*']);
    expect(outcomeOf(text, 'router_settings.fallbacks[0].openai/gpt-4o[0]')?.note).toContain('its own entry');
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });

  test('the entry `*` becomes a wildcard for each provider, and a `*` elsewhere is left out', async () => {
    const text = 'model_list:\n  - { model_name: "*", litellm_params: { model: "*" } }\n';
    expect(imported(text).report.models).toEqual(
      expect.arrayContaining(['openai/*', 'openrouter/*', 'gpt-*', 'claude-*']),
    );
    expect(await errorsIn(imported(text).files)).toEqual([]);
    const odd = imported(text.replace('name: "*"', 'name: "*-mini"').replace('model: "*"', 'model: "openai/*-mini"'));
    expect(odd.report.skipped).toEqual([
      { name: '*-mini', why: 'a wildcard must have exactly one `*`, at the end of model_name and of model' },
    ]);
  });
});

describe('what newer versions of LiteLLM can configure', () => {
  const ROUTERS = ['complexity_router', 'quality_router', 'adaptive_router', 'a-semantic-router'];

  test.each(ROUTERS)(
    'the entry of the router %s is left out, and the report has the selector to write',
    async (router) => {
      const text = `model_list:
  - { model_name: small, litellm_params: { model: openai/gpt-4o } }
  - { model_name: smart, litellm_params: { model: auto_router/${router}, auto_router_default_model: small } }
`;
      const { report, files } = imported(text);
      expect(report.problems).toEqual([]);
      expect(outcomeOf(text, 'model_list[1].model_name')?.note).toContain('selectors: { NAME: { strategy: auto } }');
      expect(await errorsIn(files)).toEqual([]);
    },
  );

  test('settings that Signalbox has in another form, or always, are reported with what to write', () => {
    const text = `model_list:
  - model_name: small
    litellm_params: { model: openai/gpt-4o, itpm: 1000, otpm: 500, rpd: 10000 }
    model_info: { access_windows: [{ start: "08:00", end: "18:00" }], blocked: false }
router_settings:
  fallback_on_unsupported_params: true
  routing_groups: [{ group_name: g, models: [small], routing_strategy: least-busy }]
litellm_settings: { default_soft_budget: 5, budget_rollover: true, store_audit_logs: true, banned_keywords_list: [x] }
general_settings: { disable_budget_reservation: true, user_header_name: x-user, max_request_size_mb: 3 }
policies: { a: {} }
prompts: []
`;
    const { keys } = imported(text).report;
    const unknown = /does not know|Signalbox adds none|does not use this fact/;
    expect(keys.filter(({ note }) => unknown.test(note ?? '')).map(({ path }) => path)).toEqual([]);
    expect(keys.find(({ path }) => path === 'litellm_settings.default_soft_budget')?.note).toContain('alert_at');
  });
});
