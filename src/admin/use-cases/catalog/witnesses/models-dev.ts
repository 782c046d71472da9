import { type Static, Type } from '@sinclair/typebox';
import { isObject, listOf } from '../../../../core/json/object.ts';
import { SchemaCheck } from '../../../../core/schema/check.ts';
import {
  lineOf,
  type ModelCapability,
  NOT_TEXT,
  SERVICES,
  statedCapabilities,
  type WitnessContent,
  type WitnessModel,
  withTiers,
} from './witness.ts';

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
const check = new SchemaCheck(Entry);

/** A TOML file of models.dev. */
export interface TomlFile {
  /** The path, such as `providers/openai/models/gpt-4o.toml`. */
  readonly path: string;
  readonly data: unknown;
}

/** The folders of models.dev that are read. */
export const FOLDERS: readonly string[] = ['models/', ...SERVICES.map((one) => `providers/${one.modelsDev}/models/`)];

/** Reads the models of all services. Throws Error if an entry inherits from a file that is not there. */
export function readModelsDev(files: readonly TomlFile[]): WitnessContent {
  const vendors = new Map(files.flatMap(({ path, data }) => (nameOf(path, 'models/') ? [[path, data] as const] : [])));
  const models = SERVICES.map(({ preset, modelsDev }) => {
    const rows = files.flatMap(({ path, data }) => {
      const id = nameOf(path, `providers/${modelsDev}/models/`);
      const model = id && modelOf(id, preset, inherited(data, vendors));
      return id && model ? [[id, model] as const] : [];
    });
    return [preset, new Map(rows)] as const;
  });
  return { models: new Map(models) };
}

const nameOf = (path: string, folder: string): string | null =>
  path.startsWith(folder) && path.endsWith('.toml') ? path.slice(folder.length, -5) : null;

/** Merges an entry with the entry of its `base_model`. */
function inherited(data: unknown, vendors: ReadonlyMap<string, unknown>): unknown {
  if (!isObject(data) || typeof data.base_model !== 'string') return data;
  const base = vendors.get(`models/${data.base_model}.toml`);
  if (base === undefined) throw new Error(`there is no models/${data.base_model}.toml, which an entry inherits`);
  return listOf(data.base_model_omit).reduce(
    (merged, path) => without(merged, String(path).split('.')),
    merge(base, data),
  );
}

function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  return { ...base, ...Object.fromEntries(Object.entries(over).map(([key, value]) => [key, merge(base[key], value)])) };
}

/** Returns a copy of a value without the member at a path. */
function without(value: unknown, [step = '', ...rest]: readonly string[]): unknown {
  if (!isObject(value)) return value;
  const { [step]: inner, ...others } = value;
  return rest.length === 0 || inner === undefined ? others : { ...others, [step]: without(inner, rest) };
}

const FULL_DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The list does not mention `n` and `logprobs`. OpenAI's own models before GPT-5 accept both. OpenAI's reasoning models and
 * `gpt-5-chat-latest` accept no `logprobs` (UKGovernmentBEIS/inspect_ai#2739, CopilotKit/CopilotKit#7191).
 */
const BEFORE_GPT_5 = /^gpt-(?:3\.5|4)/;
const CHOICES: readonly ModelCapability[] = ['choices', 'logprobs'];

/** Returns a model; null for an entry without a price or limits. */
function modelOf(id: string, preset: string, entry: unknown): WitnessModel | null {
  if (!check.accepts(entry)) return null;
  const { cost, limit, modalities, release_date: released = '', status } = entry;
  const unfit = unfitReason(entry);
  return {
    price: withTiers(
      rates(cost),
      (cost.tiers ?? []).map(({ tier, ...line }) => ({ over_input_tokens: tier.size, ...rates(line) })),
    ),
    context_window: limit.context,
    max_output: Math.min(limit.output, limit.context),
    ...(modalities.output.join() === 'text' && {
      capabilities: [...capabilitiesOf(entry), ...(preset === 'openai' && BEFORE_GPT_5.test(id) ? CHOICES : [])],
    }),
    ...(entry.temperature === false && { temperature: false }),
    ...(FULL_DAY.test(released) && { released }),
    ...(status === 'deprecated' && { deprecated: true }),
    isSourced: true,
    ...(unfit !== null && { unfit }),
  };
}

function unfitReason({ cost, limit, modalities }: Entry): string | null {
  if (!modalities.input.includes('text') || modalities.output.join() !== 'text') return NOT_TEXT;
  // A price of 0 is a temporary offer. Only the operator can declare that a model is free.
  if (cost.input <= 0 || cost.output <= 0) return 'no price';
  if ((cost.reasoning ?? 0) > cost.output) return 'reasoning costs more than output';
  return limit.context < 1 || limit.output < 1 ? 'no limits' : null;
}

const rates = ({ input, output, cache_read = 0, cache_write = 0 }: Static<typeof Rate>) =>
  lineOf({ input, cached_input: cache_read, cache_write, output });

function capabilitiesOf({ cost, modalities, ...entry }: Entry): readonly ModelCapability[] {
  const reads = (kind: string) => modalities.input.includes(kind);
  return statedCapabilities([
    ['tools', entry.tool_call],
    ['vision', reads('image')],
    ['json_schema', entry.structured_output],
    ['reasoning', entry.reasoning],
    // Audio without a price in the list may cost more than text.
    ['audio_input', reads('audio') && cost.input_audio !== undefined && cost.input_audio <= cost.input],
    ['file_input', reads('pdf')],
  ]);
}
