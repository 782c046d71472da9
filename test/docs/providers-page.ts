import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { type DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ModelTraits, PreparedProvider, ProviderPlugin, ProviderPreset } from '../../src/contract/provider.ts';
import { traitsOf } from '../../src/contract/traits.ts';
import { CAPABILITY_NAMES, type Capability } from '../../src/core/capability.ts';
import { EVERY_VARIABLE, SERVICES, shippedSnapshot } from '../policy/shipped.ts';
import { madeOf, neededBy, PROBES, type Probe, type Probed } from './provider-fields.ts';
import { markdownTable } from './table.ts';

const PATH = join(import.meta.dir, '../../docs/extend/providers.md');

/** `docs/extend/providers.md`, with the parts between its marks made anew from the plugins; a test holds the file to it. */
export function providersPage(): string {
  const text = readFileSync(PATH, 'utf8');
  return text.replace(
    /^(<!-- made: (\w+) -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, name: string, end: string) => `${begin}\n${partNamed(name)}\n\n${end}`,
  );
}

function partNamed(name: string): string {
  const make = Object.entries(PARTS).find(([key]) => key === name)?.[1];
  if (!make) throw new Error(`docs/extend/providers.md has a mark for ${name}, which nothing makes`);
  return make();
}

const PARTS = { presets, caches, capabilities, lacks, fields, history, failures } as const;

const snapshot = shippedSnapshot(EVERY_VARIABLE);

const code = (text: string) => `\`${text}\``;
const codes = (texts: Iterable<string>) => [...texts].map(code).join(', ');

function presets(): string {
  const rows = SERVICES.map(({ name, preset }) => [
    code(name),
    preset.baseUrl ? preset.baseUrl : `in ${code(preset.baseUrlEnv ?? '')}`,
    preset.apiKeyEnv ? code(preset.apiKeyEnv) : 'none',
    codes(preset.passthrough ?? []),
  ]);
  return markdownTable(['preset', 'address', 'key', 'also passes on'], rows);
}

/** How long services keep a prompt, where they say so. */
function caches(): string {
  return SERVICES.flatMap(({ name, preset: { cache } }) =>
    cache ? [`- ${code(name)}: ${cache.ttlS} s, from ${cache.tokensMin} tokens`] : [],
  ).join('\n');
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
  return markdownTable(['preset', 'no model supports', 'reasoning models lack too'], rows);
}

const inOrder = (names: ReadonlySet<Capability>) => CAPABILITY_NAMES.filter((name) => names.has(name));

function capabilities(): string {
  return CAPABILITY_NAMES.flatMap((name) => {
    const asked = PROBES.filter((probe) => neededBy(probe).includes(name)).map(({ asks }) => asks);
    return asked.length === 0 ? [] : [`- ${code(name)}: ${asked.join('; ')}`];
  }).join('\n');
}

/** One model of each adapter, as the shipped catalog describes it; and the dialect without anybody's particulars. */
function probed(): readonly (readonly [string, Probed])[] {
  const all = traits({ capabilities: CAPABILITY_NAMES.filter((name) => name !== 'reasoning') });
  return [
    ...['gpt-6.1-sol', 'claude-opus-5-5', 'gemini-3.8-flash'].map((id) => [code(id), modelNamed(id)] as const),
    ['`openai-compatible`, plain', { adapter: wire('openai-compatible', PLAIN), upstream: 'model', model: all }],
  ];
}

function modelNamed(id: string): Probed {
  const model = snapshot.models.find((one) => one.id === id);
  const [endpoint] = model?.endpoints ?? [];
  const provider = endpoint && snapshot.providers.get(endpoint.provider);
  if (!model || !endpoint || !provider) throw new Error(`the shipped catalog has no ${id}`);
  const { upstream } = endpoint;
  return { adapter: wire(provider.adapter, provider.settings), upstream, model: traitsOf(model) };
}

function wire(name: string, settings: Readonly<Record<string, unknown>>): Probed['adapter'] {
  const plugin = shipped.find((one): one is ProviderPlugin => one.kind === 'provider' && one.name === name);
  const adapter = plugin?.prepare(settings);
  if (adapter?.kind !== 'wire') throw new Error(`${name} is no adapter that speaks over the network`);
  return adapter;
}

/** Fields with the same outcome everywhere share a row. */
function fields(): string {
  const columns = probed();
  const outcomesOf = (probe: Probe) => columns.map(([, one]) => madeOf(probe, one));
  const alike = Map.groupBy(PROBES, (probe) => outcomesOf(probe).join());
  const rows = [...alike.values()].map((probes) => [
    probes.map(({ asks }) => asks).join('; '),
    ...probes.slice(0, 1).flatMap(outcomesOf),
  ]);
  return markdownTable(['field', ...columns.map(([title]) => title)], rows);
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

/** Of the dialects whose settings have no defaults for all that they need here. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'openai-compatible': PLAIN,
  openai: { service: 'openai', reasoning_summaries: 'auto' },
};

const STATUSES = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529];

function failures(): string {
  const adapters = ['openai-compatible', 'openai', 'anthropic', 'gemini'].map((name) =>
    wire(name, SETTINGS[name] ?? { prompt_cache: 'auto' }),
  );
  const byKind = Map.groupBy(STATUSES, (status) => {
    const kinds = new Set(adapters.map((adapter) => adapter.failure(status, new Headers(), '').kind));
    if (kinds.size > 1) throw new Error(`adapters take ${status} for different kinds: ${[...kinds].join(', ')}`);
    return [...kinds].join();
  });
  return [...byKind].map(([kind, statuses]) => `- ${code(kind)}: ${statuses.join(', ')}`).join('\n');
}
