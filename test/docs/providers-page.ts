import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { type DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ModelTraits, PreparedProvider, ProviderPlugin, ProviderPreset } from '../../src/contract/provider.ts';
import { traitsOf } from '../../src/contract/traits.ts';
import {
  CAPABILITIES,
  CAPABILITY_NAMES,
  type Capability,
  capabilityNames,
  OF_EVERY_DIALECT,
} from '../../src/core/capability.ts';
import { toCredits } from '../../src/core/credits.ts';
import { costOf, type Price } from '../../src/core/price.ts';
import { EVERY_VARIABLE, SERVICES, shippedSnapshot } from '../policy/shipped.ts';
import { madeOf, neededBy, PROBES, type Probed } from './provider-fields.ts';
import { markdownTable } from './table.ts';

const PATH = join(import.meta.dir, '../../docs/providers.md');

/** `docs/providers.md`, with the parts between its marks made anew from the plugins; a test holds the file to it. */
export function providersPage(): string {
  const text = readFileSync(PATH, 'utf8');
  return text.replace(
    /^(<!-- made: (\w+) -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, name: string, end: string) => `${begin}\n${partNamed(name)}\n\n${end}`,
  );
}

function partNamed(name: string): string {
  const make = Object.entries(PARTS).find(([key]) => key === name)?.[1];
  if (!make) throw new Error(`docs/providers.md has a mark for ${name}, which nothing makes`);
  return make();
}

const PARTS = { presets, capabilities, lacks, fields, history, invoices, failures, models } as const;

const snapshot = shippedSnapshot(EVERY_VARIABLE);

const code = (text: string) => `\`${text}\``;
const codes = (texts: Iterable<string>) => [...texts].map(code).join(', ');

function presets(): string {
  const rows = SERVICES.map(({ plugin, name, preset }) => [
    code(name),
    code(plugin.name),
    preset.baseUrl ? preset.baseUrl : `in ${code(preset.baseUrlEnv ?? '')}`,
    preset.apiKeyEnv ? code(preset.apiKeyEnv) : 'none',
    cacheOf(preset),
    codes(preset.passthrough ?? []),
  ]);
  return markdownTable(['preset', 'adapter', 'address', 'key', 'keeps a prompt', 'passes on besides'], rows);
}

function cacheOf({ cache }: ProviderPreset): string {
  return cache ? `${cache.ttlS} s, from ${cache.tokensMin} tokens on` : '';
}

/** The settings of a service, as a policy that names its preset and nothing else has them. */
function prepared(plugin: ProviderPlugin, preset: ProviderPreset): PreparedProvider {
  const defaults = plugin.name === 'openai-compatible' ? PLAIN : { prompt_cache: 'auto' };
  return plugin.prepare({ ...defaults, ...preset.settings });
}

/** Names of a model that does not reason and of one that does, where the adapter goes by names. */
const NAMES: Readonly<Record<string, readonly [string, string]>> = {
  openai: ['gpt-4.1', 'gpt-6.1-sol'],
  'azure-openai': ['gpt-4.1', 'gpt-6.1-sol'],
  anthropic: ['claude-haiku-4-5', 'claude-opus-5-5'],
  gemini: ['gemini-3.8-flash', 'gemini-3.8-flash'],
};

const traits = (model: Partial<ModelTraits>): ModelTraits => ({
  capabilities: [],
  lacks: [],
  acceptsTemperature: true,
  ttftMs: 1,
  outputTokensPerSecond: 1,
  ...model,
});

function lacks(): string {
  const rows = SERVICES.map(({ plugin, name, preset }) => {
    const adapter = prepared(plugin, preset);
    const [plain, reasoning] = NAMES[name] ?? ['model', 'model'];
    const ofAny = new Set(adapter.lacks?.(traits({}), plain));
    const reasons = adapter.lacks?.(traits({ capabilities: ['reasoning'] }), reasoning) ?? [];
    const besides = new Set(reasons.filter((one) => !ofAny.has(one)));
    return [code(name), codes(inOrder(ofAny)), codes(inOrder(besides))];
  });
  return markdownTable(['preset', 'none of its models can be asked for', 'nor those that reason for'], rows);
}

const inOrder = (names: ReadonlySet<Capability>) => CAPABILITY_NAMES.filter((name) => names.has(name));

function capabilities(): string {
  const rows = CAPABILITY_NAMES.map((name) => {
    const { of, means } = CAPABILITIES[name];
    const asked = PROBES.filter((probe) => neededBy(probe).includes(name)).map(({ asks }) => asks);
    return [code(name), of === 'model' ? 'the model' : 'the dialect', means, asked.join('; ')];
  });
  return markdownTable(['capability', 'of', 'means', 'needed by'], rows);
}

/** One model of each adapter, as the shipped catalog describes it; and the dialect without anybody's particulars. */
function probed(): readonly (readonly [string, Probed])[] {
  const all = traits({ capabilities: CAPABILITY_NAMES.filter((name) => name !== 'reasoning') });
  return [
    ...['gpt-6.1-sol', 'claude-opus-5-5', 'gemini-3.8-flash'].map((id) => [code(id), modelNamed(id)] as const),
    ['`openai-compatible`, plain', { adapter: wire('openai-compatible', PLAIN), upstream: 'model', model: all }],
  ];
}

function modelNamed(id: string): Probed & { readonly price: Price } {
  const model = snapshot.models.find((one) => one.id === id);
  const [endpoint] = model?.endpoints ?? [];
  const provider = endpoint && snapshot.providers.get(endpoint.provider);
  if (!model || !endpoint || !provider) throw new Error(`the shipped catalog has no ${id}`);
  const { upstream, price } = endpoint;
  return { adapter: wire(provider.adapter, provider.settings), upstream, price, model: traitsOf(model) };
}

function wire(name: string, settings: Readonly<Record<string, unknown>>): Probed['adapter'] {
  const plugin = shipped.find((one): one is ProviderPlugin => one.kind === 'provider' && one.name === name);
  const adapter = plugin?.prepare(settings);
  if (adapter?.kind !== 'wire') throw new Error(`${name} is no adapter that speaks over the network`);
  return adapter;
}

function fields(): string {
  const columns = probed();
  const rows = PROBES.map((probe) => [probe.asks, ...columns.map(([, one]) => madeOf(probe, one))]);
  return markdownTable(['asked', ...columns.map(([title]) => title)], rows);
}

function models(): string {
  const rows = snapshot.models.flatMap(({ id, endpoints }) =>
    endpoints.map(({ provider, capabilities: bits }) => [
      code(id),
      code(provider),
      codes(capabilityNames(bits & ~OF_EVERY_DIALECT)),
      codes(capabilityNames(OF_EVERY_DIALECT & ~bits)),
    ]),
  );
  return markdownTable(['model', 'at', 'can be asked for', 'not for'], rows);
}

/** What becomes of the reasoning of earlier answers, by the setting of the name. */
const HISTORIES: Readonly<Record<DialectSettings['reasoning_history'], string>> = {
  reasoning_content: 'as `reasoning_content`',
  reasoning: 'as `reasoning`',
  demanded: 'as `reasoning_content`, blank where there is none: a turn without it is refused',
  reasoning_details: 'as `reasoning_details`, signed and encrypted ones too',
  left_out: 'not at all',
};

function history(): string {
  const spoken = SERVICES.filter(({ plugin }) => plugin.name === 'openai-compatible');
  const rows = Object.entries(HISTORIES).map(([setting, text]) => [
    text,
    codes(
      spoken
        .filter(({ preset }) => (preset.settings?.reasoning_history ?? PLAIN.reasoning_history) === setting)
        .map(({ name }) => name),
    ),
  ]);
  return markdownTable(['earlier reasoning goes back', 'to'], rows);
}

/** A conversation of 11,000 tokens and what was answered, as each provider reports it. */
const REPORTS: Readonly<Record<string, object>> = {
  'claude-sonnet-5-5': {
    input_tokens: 1_000,
    cache_read_input_tokens: 8_000,
    cache_creation_input_tokens: 2_000,
    output_tokens: 500,
  },
  'gpt-6.1-sol': {
    prompt_tokens: 11_000,
    prompt_tokens_details: { cached_tokens: 8_000, cache_write_tokens: 2_000 },
    completion_tokens: 500,
    completion_tokens_details: { reasoning_tokens: 300 },
  },
  'gemini-3.8-flash': {
    promptTokenCount: 11_000,
    cachedContentTokenCount: 8_000,
    candidatesTokenCount: 200,
    thoughtsTokenCount: 300,
  },
};

function invoices(): string {
  const rows = Object.entries(REPORTS).map(([id, report]) => {
    const { adapter, price } = modelNamed(id);
    // Every dialect has it somewhere here, and looks at no other place.
    const reply = { usage: report, usageMetadata: report, choices: [], candidates: [], content: [] };
    const usage = adapter.reply(JSON.stringify(reply)).find((part) => part.type === 'usage')?.usage;
    if (!usage) throw new Error(`no usage is read of ${id}`);
    const { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens } = usage;
    const [line] = price.lines;
    const items = [
      [inputTokens - cached - written, line.input],
      [cached, line.cachedInput],
      [written, line.cacheWrite],
      [outputTokens, line.output],
    ].filter(([tokens]) => tokens !== 0);
    const sum = items.map(([tokens = 0, rate = 0]) => `${grouped(tokens)} × ${usd(rate / price.divisor)}`).join(' + ');
    return [code(id), code(JSON.stringify(report)), sum, `${toCredits(costOf(price, usage))} Credits`];
  });
  return markdownTable(['model', 'reported', 'tokens × USD per 1M', 'makes'], rows);
}

const grouped = (tokens: number) => tokens.toLocaleString('en-US');
/** USD per 1M tokens, of microcredits for a token. */
const usd = (rate: number) => (rate / 1_000).toFixed(3).replace(/0$/, '');

/** Of the dialects whose settings have no defaults for all that they need here. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'openai-compatible': PLAIN,
  openai: { service: 'openai', reasoning_summaries: 'auto' },
};

const STATUSES = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529];

function failures(): string {
  const columns = ['openai-compatible', 'openai', 'anthropic', 'gemini'].map(
    (name) => [code(name), wire(name, SETTINGS[name] ?? { prompt_cache: 'auto' })] as const,
  );
  const rows = STATUSES.map((status) => [
    String(status),
    ...columns.map(([, adapter]) => code(adapter.failure(status, new Headers(), '').kind)),
  ]);
  return markdownTable(['status', ...columns.map(([title]) => title)], rows);
}
