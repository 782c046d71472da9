import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/** The presets of the shipped policy, by their names at models.dev. Azure is missing, because its operators choose the names themselves. */
const PRESETS: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  moonshotai: 'moonshotai',
  zai: 'zai',
  groq: 'groq',
  cerebras: 'cerebras',
  togetherai: 'together',
  'fireworks-ai': 'fireworks',
  openrouter: 'openrouter',
};

const Rates = {
  input: Type.Number(),
  output: Type.Number(),
  cache_read: Type.Optional(Type.Number()),
  cache_write: Type.Optional(Type.Number()),
  reasoning: Type.Optional(Type.Number()),
  input_audio: Type.Optional(Type.Number()),
};
const Rate = Type.Object(Rates);
const Tier = Type.Object({ ...Rates, tier: Type.Object({ size: Type.Number() }) });

/** The keys of a model that are read, after inheritance. */
const Entry = Type.Object({
  release_date: Type.Optional(Type.String()),
  status: Type.Optional(Type.String()),
  reasoning: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Boolean()),
  tool_call: Type.Optional(Type.Boolean()),
  structured_output: Type.Optional(Type.Boolean()),
  cost: Type.Object({ ...Rates, tiers: Type.Optional(Type.Array(Tier)) }),
  limit: Type.Object({ context: Type.Integer(), output: Type.Integer() }),
  modalities: Type.Object({ input: Type.Array(Type.String()), output: Type.Array(Type.String()) }),
});
type Entry = Static<typeof Entry>;

/** A TOML file of models.dev. */
export interface TomlFile {
  /** The path, such as `providers/openai/models/gpt-4o.toml`. */
  readonly path: string;
  readonly data: unknown;
}

type Row = Readonly<Record<string, unknown>>;

/** Maps a preset and a model to the keys of a policy's model, sorted. */
type Rows = Record<string, Record<string, Row>>;

/** Returns the rows of all presets, and separately the rows of names that vendors move from model to model. */
export function rowsOf(files: readonly TomlFile[]): { readonly models: Rows; readonly moving: Rows } {
  const vendors = new Map(files.flatMap(({ path, data }) => (nameOf(path, 'models/') ? [[path, data] as const] : [])));
  const rows = Object.entries(PRESETS).flatMap(([provider, preset]) =>
    files.flatMap(({ path, data }) => {
      const id = nameOf(path, `providers/${provider}/models/`);
      const row = id && rowOf(id, preset, inherited(data, vendors));
      return id && row ? [{ preset, id, row }] : [];
    }),
  );
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  const isMoving = (preset: string, id: string) => ALIASES[preset]?.includes(id) ?? false;
  const byPreset = (presets: readonly string[], areMoving: boolean): Rows =>
    Object.fromEntries(
      presets.map((preset) => {
        const own = rows.filter((one) => one.preset === preset && isMoving(preset, one.id) === areMoving);
        return [preset, Object.fromEntries(own.map(({ id, row }) => [id, row]))] as const;
      }),
    );
  return { models: byPreset(Object.values(PRESETS), false), moving: byPreset(Object.keys(ALIASES), true) };
}

const nameOf = (path: string, folder: string): string | null =>
  path.startsWith(folder) && path.endsWith('.toml') ? path.slice(folder.length, -5) : null;

/** Merges an entry with the entry of its `base_model`. */
function inherited(data: unknown, vendors: ReadonlyMap<string, unknown>): unknown {
  if (!isMap(data) || typeof data.base_model !== 'string') return data;
  const base = vendors.get(`models/${data.base_model}.toml`);
  if (base === undefined) throw new Error(`there is no models/${data.base_model}.toml, which an entry inherits`);
  const merged = merge(base, data);
  for (const path of Array.isArray(data.base_model_omit) ? data.base_model_omit : []) omit(merged, String(path));
  return merged;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(base: unknown, over: unknown): unknown {
  if (!isMap(base) || !isMap(over)) return over;
  return { ...base, ...Object.fromEntries(Object.entries(over).map(([key, value]) => [key, merge(base[key], value)])) };
}

function omit(from: unknown, path: string): void {
  const [step = '', ...rest] = path.split('.');
  if (!isMap(from)) return;
  if (rest.length === 0) delete from[step];
  else omit(from[step], rest.join('.'));
}

/** Names whose bill or model differs from the row: variants and routers of OpenRouter, and names that their owners move to other models. */
const MOVING = /[:~]|^openrouter\/|(?:^|[-/])(?:latest|router)(?:[-/]|$)|^[^A-Za-z0-9]/i;
/**
 * For each preset, vendors' names that move without such a word in them. models.dev has listed three models under each of these names, at
 * different prices. The importer lists the rows of such a name separately, so that an operator can check them, and wildcards ignore these
 * rows.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = { deepseek: ['deepseek-chat', 'deepseek-reasoner'] };
/** Models that do more than converse and bill searches or calls of other models in addition to tokens, and classifiers. */
const MORE_THAN_TOKENS = /sonar|search-preview|deep-research|multi-agent|fusion|prompt-guard|content-safety/;
const FULL_DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The list does not mention `n` and `logprobs`. OpenAI's own models before GPT-5 accept both. OpenAI's reasoning models and
 * `gpt-5-chat-latest` accept no `logprobs` (UKGovernmentBEIS/inspect_ai#2739, CopilotKit/CopilotKit#7191).
 */
const BEFORE_GPT_5 = /^gpt-(?:3\.5|4)/;
const CHOICES = ['choices', 'logprobs'] as const;

/**
 * Returns the row of a model; null for a model that is not listed because it has no price, is not for text conversations or is deprecated.
 */
function rowOf(id: string, preset: string, entry: unknown): Row | null {
  if (MOVING.test(id) || MORE_THAN_TOKENS.test(id) || !/^[A-Za-z0-9._:/@-]{1,128}$/.test(id)) return null;
  if (!Value.Check(Entry, entry) || entry.status === 'deprecated') return null;
  const { cost, limit, modalities, release_date: released = '' } = entry;
  const isConversation = modalities.input.includes('text') && modalities.output.join() === 'text';
  // A price of 0 is a temporary offer. Only the operator can declare that a model is free.
  const isBilled = cost.input > 0 && cost.output > 0 && (cost.reasoning ?? 0) <= cost.output;
  if (!isConversation || !isBilled || limit.context < 1 || limit.output < 1) return null;
  const tiers = [...(cost.tiers ?? [])].sort((a, b) => a.tier.size - b.tier.size);
  return {
    price: {
      ...lineOf(cost),
      ...(tiers.length > 0 && {
        tiers: tiers.map((tier) => ({ over_input_tokens: tier.tier.size, ...lineOf(tier) })),
      }),
    },
    context_window: limit.context,
    max_output: Math.min(limit.output, limit.context),
    capabilities: [...capabilitiesOf(entry), ...(preset === 'openai' && BEFORE_GPT_5.test(id) ? CHOICES : [])],
    ...(entry.temperature === false && { temperature: false }),
    ...(FULL_DAY.test(released) && { released }),
  };
}

/** A rate of 0 for the cache is left out, so that the rate of the input applies. For old models 0 means that there is no cache. */
const lineOf = ({ input, output, cache_read: read = 0, cache_write: write = 0 }: Static<typeof Rate>): Row => ({
  input,
  ...(read > 0 && { cached_input: read }),
  ...(write > 0 && { cache_write: write }),
  output,
});

function capabilitiesOf({ cost, modalities, ...entry }: Entry): string[] {
  const reads = (kind: string) => modalities.input.includes(kind);
  const has = {
    tools: entry.tool_call,
    vision: reads('image'),
    json_schema: entry.structured_output,
    reasoning: entry.reasoning,
    // Audio without a price in the list may cost more than text.
    audio_input: reads('audio') && cost.input_audio !== undefined && cost.input_audio <= cost.input,
    file_input: reads('pdf'),
  };
  return Object.entries(has).flatMap(([name, is]) => (is ? [name] : []));
}
