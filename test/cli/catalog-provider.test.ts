import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { KEY, serveModelLists } from '../support/model-lists.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests `signalbox catalog update PROVIDER` with an imitation of each service's list of models. */
const lists = serveModelLists();
const at = (path: string) => `${lists.url}/${path}`;
const POLICY = `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  openai: { preset: openai, base_url: "${at('openai/v1')}" }
  anthropic: { preset: anthropic, base_url: "${at('anthropic/v1')}" }
  gemini: { preset: gemini, base_url: "${at('gemini/v1beta')}" }
  openrouter: { preset: openrouter, base_url: "${at('openrouter/api/v1')}" }
  azure-openai: { preset: azure-openai }
  ollama: { preset: ollama }
  vllm: { preset: vllm }
  page: { adapter: openai-compatible, base_url: "${at('page/v1')}" }
  moved: { adapter: openai-compatible, base_url: "${at('moved/v1')}" }
  unheard: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1" }
models:
  mine:
    provider: openai
    upstream: gpt-mine
    price: { input: 1, output: 2, as_of: 2026-11-20, basis: own }
    context_window: 128000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  gpt-4-gone:
    provider: openai
    price: { input: 1, output: 2, as_of: 2026-11-20, basis: own }
    context_window: 128000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  claude-dated-1:
    provider: anthropic
    price: { input: 1, output: 2, as_of: 2026-11-20, basis: own }
    context_window: 128000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  gpt-4.1-mini:
    provider: openrouter
    upstream: openai/gpt-5.1
    price: { input: 1, output: 2, as_of: 2026-11-20, basis: own }
    context_window: 128000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
`;
const ENV = {
  ...{ OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: KEY, OPENROUTER_API_KEY: KEY },
  ...{ OLLAMA_BASE_URL: at('v1'), VLLM_BASE_URL: at('vllm/v1') },
};
const folder = writePolicy({ 'policy.yaml': POLICY });
const scratch = temporaryFolder();
afterAll(async () => {
  await lists.stop();
  for (const one of [folder, scratch]) rmSync(one, { recursive: true, force: true });
});

const NOW = Date.parse('2026-11-23T12:00:00Z');
const sync = (provider: string, env: Readonly<Record<string, string>> = ENV, ...more: string[]) =>
  runHere(['catalog', 'update', provider, '--policies', folder, ...more], env, '', () => NOW);

async function patchOf(provider: string): Promise<string> {
  const { code, out, err } = await sync(provider);
  expect([code, err]).toEqual([0, '']);
  return out;
}

describe('catalog update writes a list of models as a patch to review:', () => {
  test('OpenAI’s models get figures from the table, and unknown models become questions', async () => {
    const out = await patchOf('openai');
    expect(out).toContain(
      '# Models of openai on 2026-11-23: 1 model of its list in the policy, 2 to add, 2 with questions.',
    );
    // The policy already uses this name for another model.
    expect(out).toMatch(
      / {2}openai\/gpt-4\.1-mini:\n {4}provider: openai\n {4}upstream: gpt-4\.1-mini\n {4}price:\n {6}input: 0\.4\n {6}cached_input: 0\.1\n {6}output: 1\.6\n {6}service_tiers: \{ priority: \{ input: 0\.7, cached_input: 0\.175, output: 2\.8 \} \}\n {6}as_of: [\d-]{10}\n {6}basis: aggregator\n {4}context_window: 1047576\n/,
    );
    // A name with a date still gets its figures. If the list also has the name without the date, it is not new.
    expect(out).toContain('  gpt-4o-mini-2024-07-18:\n    provider: openai\n    price:\n      input: 0.15\n');
    expect(out).toContain('# - versions of other models in the list: gpt-4.1-mini-2025-04-14\n');
    expect(out).toContain('# - price: ft:gpt-4o:acme::1, gpt-nova-9\n');
    expect(out).toContain(
      '  # gpt-nova-9:\n  #   provider: openai\n  #   price: { input: ?, output: ? }\n  #   context_window: ?\n',
    );
    expect(out).toMatch(
      /No longer listed by openai, so requests for these models may fail:\n# - gpt-4-gone \(policy\.yaml:\d+\)\n/,
    );
    expect(out).toContain('# - embeddings: text-embedding-3-small\n# - audio: tts-1\n');
    expect(out).toContain('# - the name is not allowed in a policy: bad');
    expect(out).not.toMatch(/^# name/m);
    expect(out).not.toContain('  gpt-mine:');
    expect(out).not.toContain(KEY);
  });

  test('Anthropic’s own limits and capabilities replace those of the table, on both pages of the list', async () => {
    const out = await patchOf('anthropic');
    expect(lists.requests).toContain('GET /anthropic/v1/models?limit=1000&after_id=claude-sonnet-4-5');
    expect(out).toContain(
      '  # claude-new-9:\n  #   provider: anthropic\n  #   price: { input: ?, output: ? }\n  #   context_window: 500000\n  #   max_output: 64000\n  #   capabilities: [tools, vision, json_schema, reasoning]\n  #   quality: { default: 0.5 }\n  #   released: 2026-11-01\n',
    );
    expect(out).toMatch(
      / {2}claude-sonnet-4-5:\n {4}provider: anthropic\n {4}price:\n {6}input: 3\n {6}cached_input: 0\.3\n {6}cache_write: 3\.75\n[^#]* {4}context_window: 200000\n/,
    );
    expect(out).toContain('# - retired: claude-old-1\n');
    expect(out).toContain(
      '# - versions of models in the policy; separate entries would bypass its rules: claude-dated-1-20260901\n',
    );
    expect(out).not.toMatch(/No longer listed|^ *claude-dated-1/m);
  });

  test('Gemini’s names lose their prefix, and tiers of a price are kept', async () => {
    const out = await patchOf('gemini');
    expect(lists.requests).toContain('GET /gemini/v1beta/models?pageSize=1000&pageToken=p%202');
    expect(out).toContain(
      '  gemini-2.5-pro:\n    provider: gemini\n    price:\n      input: 1.25\n      cached_input: 0.125\n      output: 10\n      tiers:\n        - { over_input_tokens: 200000, input: 2.5, cached_input: 0.25, output: 15 }\n',
    );
    expect(out).toContain('# - embedContent: gemini-embedding-001\n');
  });

  test('OpenRouter’s prices are exact and dated today; routers and image models are left out', async () => {
    const out = await patchOf('openrouter');
    expect(out).toContain(
      '  anthropic/claude-opus-4.7-fast:\n    provider: openrouter\n    price: { input: 30, output: 150, cached_input: 3, cache_write: 37.5, as_of: 2026-11-23, basis: vendor-list }\n    context_window: 1000000\n    max_output: 128000\n    capabilities: [tools, vision, json_schema, reasoning, file_input]\n',
    );
    expect(out).toContain(
      '  meta-llama/llama-3.3-70b-instruct:\n    provider: openrouter\n    price: { input: 0.1, output: 0.32, as_of: 2026-11-23, basis: vendor-list }\n',
    );
    expect(out).toContain('  qwen/qwen3-coder:free:\n');
    expect(out).toContain('# - gpt-4.1-mini (policy.yaml:34): input 1, now 1.25; output 2, now 10\n');
    expect(out).toContain('# - text and image: openrouter/auto\n');
    expect(out).toContain('# - image and text: google/gemini-2.5-flash-image\n');
    expect(out).toContain('# - billed for more than tokens, such as searches and tools: perplexity/sonar-pro\n');
  });

  test('models on your own server are free, and become questions if the server does not state their sizes', async () => {
    expect(await patchOf('vllm')).toContain(
      '  Qwen/Qwen3-8B:\n    provider: vllm\n    price: { input: 0, output: 0, as_of: 2026-11-23, basis: own }\n    context_window: 40960\n    max_output: 10240\n',
    );
    const ollama = await patchOf('ollama');
    expect(ollama).toContain(
      '  # qwen3:8b:\n  #   provider: ollama\n  #   price: { input: 0, output: 0, as_of: 2026-11-23, basis: own }\n  #   context_window: ?\n',
    );
    // Ollama runs this model in its cloud, for money.
    expect(ollama).toContain('  # gpt-oss:120b-cloud:\n  #   provider: ollama\n  #   price: { input: ?, output: ? }\n');
    expect(ollama).toContain('# - embeddings: nomic-embed-text:latest\n');
  });

  test.each(['openai', 'anthropic', 'gemini', 'openrouter', 'vllm', 'ollama'])(
    '%s: the written file is valid in the policy folder',
    async (provider) => {
      const reviewed = writePolicy({ 'policy.yaml': POLICY, 'patch.yaml': await patchOf(provider) });
      const { code, out } = await runHere(['policy', 'check', reviewed], ENV, '', () => NOW);
      expect([code, out]).toEqual([0, expect.stringContaining('2 files')]);
      rmSync(reviewed, { recursive: true, force: true });
    },
  );
});

describe('nothing changes silently:', () => {
  test('--write writes a new file; it never overwrites a file and never writes into the policy folder', async () => {
    const before = readFileSync(join(folder, 'policy.yaml'), 'utf8');
    const out = join(scratch, 'renewed');
    const file = join(out, 'openrouter.yaml');
    const written = await sync('openrouter', ENV, '--write', out);
    expect(written).toEqual({
      code: 0,
      out: `${file}: 3 models to add, 0 with questions. Review it, then save it in ${folder}.\n`,
      err: '',
    });
    expect(readFileSync(file, 'utf8')).toBe(await patchOf('openrouter'));
    expect((await sync('openrouter', ENV, '--write', out)).err).toBe(
      `signalbox: ${file} already exists. Name another folder.\n`,
    );
    expect((await sync('openrouter', ENV, '--write', folder)).err).toBe(
      `signalbox: ${folder} is the policy folder, so a running server would apply the files at once. Name another folder.\n`,
    );
    expect(readdirSync(folder)).toEqual(['policy.yaml']);
    expect(readFileSync(join(folder, 'policy.yaml'), 'utf8')).toBe(before);
  });
});

describe('catalog update explains why it cannot read a list:', () => {
  const without = (name: string) => Object.fromEntries(Object.entries(ENV).filter(([key]) => key !== name));
  const CASES: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['openai', without('OPENAI_API_KEY'), '`openai` cannot be used: OPENAI_API_KEY is not set.'],
    [
      'openai',
      { ...ENV, OPENAI_API_KEY: 'sk-wrong-key-9876543210' },
      `\`openai\` at ${at('openai/v1')} refuses the key in OPENAI_API_KEY: 401: Incorrect API key provided: Bearer [secret].`,
    ],
    [
      'anthropic',
      { ...ENV, ANTHROPIC_API_KEY: 'wrong' },
      `\`anthropic\` at ${at('anthropic/v1')} refuses the key in ANTHROPIC_API_KEY: 401: invalid x-api-key.`,
    ],
    [
      'gemini',
      { ...ENV, GEMINI_API_KEY: 'wrong' },
      `\`gemini\` at ${at('gemini/v1beta')} refuses the key in GEMINI_API_KEY: 400: API key not valid.`,
    ],
    ['page', ENV, `\`page\` at ${at('page/v1')} returned no list of models: 200: the answer is not a list of models.`],
    ['moved', ENV, `\`moved\` at ${at('moved/v1')} returned no list of models: 302: redirects are not followed.`],
    ['unheard', ENV, '`unheard` at http://127.0.0.1:9/v1 returned no list of models: no connection (ECONNREFUSED).'],
    [
      'azure-openai',
      { ...ENV, AZURE_OPENAI_API_KEY: KEY, AZURE_OPENAI_BASE_URL: at('openai/v1') },
      '`azure-openai` has no list of models that Signalbox can read.',
    ],
    ['opnai', ENV, `${folder} has no provider \`opnai\`: did you mean \`openai\`?`],
  ];
  test.each(CASES)('%s', async (provider, env, message) => {
    expect(await sync(provider, env)).toEqual({ code: 1, out: '', err: `signalbox: ${message}\n` });
  });

  test('catalog update refuses a policy with mistakes and a command without a provider', async () => {
    const wrong = writePolicy({ 'policy.yaml': `${POLICY}  broken: { provider: nobody }\n` });
    const { code, err } = await runHere(['catalog', 'update', 'openai', '--policies', wrong], ENV);
    expect([code, err]).toEqual([
      1,
      `signalbox: ${wrong}: the policy has mistakes. Run ./signalbox policy check ${wrong} to see them.\n`,
    ]);
    rmSync(wrong, { recursive: true, force: true });
    expect((await runHere(['catalog', 'update'], ENV)).err).toContain('catalog update needs a list');
    expect((await runHere(['catalog', 'pull'], ENV)).err).toContain('update');
  });
});
