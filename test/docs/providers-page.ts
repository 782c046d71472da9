import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { type DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ModelTraits, PreparedProvider, ProviderPlugin, ProviderPreset } from '../../src/contract/provider.ts';
import { traitsOf } from '../../src/contract/traits.ts';
import { CAPABILITY_NAMES, type Capability } from '../../src/core/request/capability.ts';
import { EVERY_VARIABLE, SERVICES, shippedSnapshot } from '../policy/shipped.ts';
import { WIRE_ADAPTERS } from '../support/wire-adapters.ts';
import { madeOf, neededBy, PROBES, type Probe, type Probed } from './provider-fields.ts';
import { markdownTable } from './table.ts';

/** Generates the parts between the marks of the pages about providers from the plugins. A test compares the result with the files. */
const pageAt = (path: string) => (): string =>
  readFileSync(join(import.meta.dir, '../..', path), 'utf8').replace(
    /^(<!-- made: (\w+) -->\n)[\s\S]*?^(<!-- end -->)$/gm,
    (_, begin: string, name: string, end: string) => `${begin}\n${partNamed(path, name)}\n\n${end}`,
  );

/** The pages by path. */
export const PROVIDER_PAGES = {
  'docs/extend/fields.md': pageAt('docs/extend/fields.md'),
  'docs/extend/services.md': pageAt('docs/extend/services.md'),
} as const;

function partNamed(path: string, name: string): string {
  const make = Object.entries(PARTS).find(([key]) => key === name)?.[1];
  if (!make) throw new Error(`${path} has the mark \`made: ${name}\`, but no function generates this part`);
  return make();
}

const PARTS = { services, caches, capabilities, fields, history, failures } as const;

const snapshot = shippedSnapshot(EVERY_VARIABLE);

const code = (text: string) => `\`${text}\``;
const codes = (text: string | undefined) => (text === undefined ? [] : [code(text)]);
const list = (texts: Iterable<string>) => [...texts].map(code).join(', ');

function services(): string {
  return SERVICES.map(({ plugin, name, preset }) => {
    const { always, reasoning } = lacksOf(plugin, name, preset);
    const passed = preset.passthrough ?? [];
    const sentences = [
      [preset.baseUrl ?? `address in ${code(preset.baseUrlEnv ?? '')}`, ...codes(preset.apiKeyEnv)].join(', '),
      ...(passed.length > 0 ? [`Passes on ${list(passed)}`] : []),
      ...(always.length > 0 ? [`Lacks ${list(always)}`] : []),
      ...(reasoning.length > 0 ? [`Reasoning models also lack ${list(reasoning)}`] : []),
    ];
    return `- ${code(name)}: ${sentences.join('. ')}.`;
  }).join('\n');
}

/** Returns how long services keep a prompt in their cache, if they state it. */
function caches(): string {
  return SERVICES.flatMap(({ name, preset: { cache } }) =>
    cache ? [`- ${code(name)}: ${cache.ttlS} s, from ${cache.tokensMin} tokens`] : [],
  ).join('\n');
}

/** The default service of the adapters that serve several. */
const PLAIN_SERVICE: Readonly<Record<string, string>> = { anthropic: 'anthropic', openai: 'openai', gemini: 'gemini' };

/** The settings of a service for a policy that names only its preset. */
function prepared(plugin: ProviderPlugin, preset: ProviderPreset): PreparedProvider {
  const defaults =
    plugin.name === 'openai-compatible' ? PLAIN : { service: PLAIN_SERVICE[plugin.name], prompt_cache: 'auto' };
  return plugin.prepare({ ...defaults, ...preset.settings });
}

/** Names of a model that does not reason and of one that does, if the adapter depends on names. */
const NAMES: Readonly<Record<string, readonly [string, string]>> = {
  openai: ['gpt-4.1', 'gpt-6.1-sol'],
  'azure-openai': ['gpt-4.1', 'gpt-6.1-sol'],
  anthropic: ['claude-haiku-4-5', 'claude-sonnet-5-5'],
  'azure-anthropic': ['claude-haiku-4-5', 'claude-sonnet-5-5'],
  'bedrock-openai': ['openai.gpt-4.1', 'openai.gpt-6.1-sol'],
  'bedrock-anthropic': ['global.anthropic.claude-haiku-4-5-v1', 'global.anthropic.claude-sonnet-5-5'],
  'vertex-gemini': ['gemini-3.8-flash', 'gemini-3.8-flash'],
  'vertex-anthropic': ['claude-haiku-4-5@20251001', 'claude-sonnet-5-5'],
  'aws-anthropic': ['claude-haiku-4-5', 'claude-sonnet-5-5'],
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

/** The capabilities that no model of a service has, and those that its reasoning models lack in addition. */
function lacksOf(plugin: ProviderPlugin, name: string, preset: ProviderPreset) {
  const adapter = prepared(plugin, preset);
  const [plain, reasoner] = NAMES[name] ?? ['model', 'model'];
  const ofAny = new Set(adapter.lacks?.(traits({}), plain));
  const ofReasoning = adapter.lacks?.(traits({ capabilities: ['reasoning'] }), reasoner) ?? [];
  return { always: inOrder(ofAny), reasoning: inOrder(new Set(ofReasoning.filter((one) => !ofAny.has(one)))) };
}

const inOrder = (names: ReadonlySet<Capability>) => CAPABILITY_NAMES.filter((name) => names.has(name));

function capabilities(): string {
  return CAPABILITY_NAMES.flatMap((name) => {
    const asked = PROBES.filter((probe) => neededBy(probe).includes(name)).map(({ asks }) => asks);
    const isNamesake = asked.length === 1 && asked[0] === code(name);
    return asked.length === 0 || isNamesake ? [] : [`- ${code(name)}: ${asked.join('; ')}`];
  }).join('\n');
}

/** A model of each adapter, as the shipped catalog describes it; and the dialect without the specifics of any service. */
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

/** Fields with the same outcome for all adapters share a row. */
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

/** The treatment of reasoning in earlier answers, for each value of the setting. */
const HISTORIES: Readonly<Record<DialectSettings['reasoning_history'], string>> = {
  reasoning_content: 'as `reasoning_content`',
  reasoning: 'as `reasoning`',
  demanded: 'as `reasoning_content`, empty if there is none',
  reasoning_details: 'as `reasoning_details`',
  left_out: 'not at all',
};

function history(): string {
  const spoken = SERVICES.filter(({ plugin }) => plugin.name === 'openai-compatible');
  const lines = Object.entries(HISTORIES).map(([setting, text]) => {
    const alike = spoken.filter(
      ({ preset }) => (preset.settings?.reasoning_history ?? PLAIN.reasoning_history) === setting,
    );
    return `- ${text}: ${list(alike.map(({ name }) => name))}`;
  });
  return lines.join('\n');
}

const STATUSES = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529];

function failures(): string {
  const byKind = Map.groupBy(STATUSES, (status) => {
    const kinds = new Set(WIRE_ADAPTERS.map(({ adapter }) => adapter.failure(status, new Headers(), '').kind));
    if (kinds.size > 1) throw new Error(`adapters take ${status} for different kinds: ${[...kinds].join(', ')}`);
    return [...kinds].join();
  });
  return [...byKind].map(([kind, statuses]) => `- ${code(kind)}: ${statuses.join(', ')}`).join('\n');
}
