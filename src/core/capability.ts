/**
 * Features that a model has and a request needs, as bits: an endpoint of a model is fit when it has every bit that the
 * request needs. This table is the only place to add one. Those of `model` are for the catalog to state; those of
 * `dialect` every provider is taken to have unless its adapter, or the model's `lacks`, says otherwise. Those of `passthrough`
 * a provider has where its adapter says so.
 */
export const CAPABILITIES = {
  tools: { bit: 1 << 0, of: 'model', means: 'calls tools' },
  vision: { bit: 1 << 1, of: 'model', means: 'reads images' },
  json_schema: { bit: 1 << 2, of: 'model', means: 'answers in a given JSON schema' },
  json_mode: { bit: 1 << 3, of: 'model', means: 'answers in JSON; implied by json_schema' },
  reasoning: { bit: 1 << 4, of: 'model', means: 'reasons before it answers' },
  audio_input: { bit: 1 << 5, of: 'model', means: 'listens to audio' },
  file_input: { bit: 1 << 6, of: 'model', means: 'reads files such as PDF' },
  choices: { bit: 1 << 7, of: 'model', means: 'gives several choices (n > 1)' },
  logprobs: { bit: 1 << 8, of: 'model', means: 'reports token probabilities' },
  token_input: { bit: 1 << 22, of: 'model', means: 'embeds lists of tokens' },
  seed: { bit: 1 << 9, of: 'dialect', means: 'takes a seed' },
  penalties: { bit: 1 << 10, of: 'dialect', means: 'takes frequency_penalty and presence_penalty other than 0' },
  logit_bias: { bit: 1 << 11, of: 'dialect', means: 'takes a logit_bias' },
  // No request needs it: where it is lacking, the gateway cuts the answer.
  stop: { bit: 1 << 12, of: 'dialect', means: 'takes stop sequences' },
  high_temperature: { bit: 1 << 13, of: 'dialect', means: 'takes temperatures above 1' },
  forced_tools: {
    bit: 1 << 14,
    of: 'dialect',
    means: 'can be made to call a tool (tool_choice)',
    lacking: 'does not accept a forced `tool_choice`',
  },
  forced_tools_with_thinking: {
    bit: 1 << 24,
    of: 'dialect',
    means: 'can be made to call a tool by a request that asks for thinking',
    lacking: 'does not accept a forced `tool_choice` together with thinking',
  },
  single_tool_calls: {
    bit: 1 << 15,
    of: 'dialect',
    means: 'can be kept to one tool call (parallel_tool_calls: false)',
  },
  json_with_tools: { bit: 1 << 16, of: 'dialect', means: 'takes a response_format beside tools' },
  image_urls: { bit: 1 << 17, of: 'dialect', means: 'reads images by their address' },
  continuation: {
    bit: 1 << 19,
    of: 'dialect',
    means: 'goes on from the beginning of an answer that ends the messages',
  },
  file_ids: { bit: 1 << 18, of: 'dialect', means: 'reads files that were uploaded to its provider' },
  anthropic_messages: { bit: 1 << 20, of: 'passthrough', means: 'takes what only Anthropic’s Messages can say' },
  openai_responses: { bit: 1 << 21, of: 'passthrough', means: 'takes what only OpenAI’s Responses can say' },
  threads: { bit: 1 << 23, of: 'passthrough', means: 'goes on with a history that its service keeps (thread)' },
} as const;

export type Capability = keyof typeof CAPABILITIES;

export const CAPABILITY_NAMES = Object.keys(CAPABILITIES) as Capability[];

/** Those that a model of the catalog states. */
export const MODEL_CAPABILITIES = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'model');

/** Those that a model of the catalog may lack. */
export const LACKED_CAPABILITIES = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of !== 'passthrough');

/** Bits of what every provider is taken to have. */
export const OF_EVERY_DIALECT = capabilityBits(CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'dialect'));

const PASSTHROUGH = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'passthrough');

/** A capability to take the requests of a dialect unchanged has the name of the dialect, in snake case. */
const BIT_OF_DIALECT: ReadonlyMap<string, number> = new Map(
  PASSTHROUGH.map((name) => [name.replaceAll('_', '-'), CAPABILITIES[name].bit]),
);

/** The bit that a request in a dialect needs to go out as it came; 0 for a dialect that is always translated. */
export const passthroughBit = (dialect: string): number => BIT_OF_DIALECT.get(dialect) ?? 0;

/** Bits of all that a provider has only where its adapter says so. */
export const PASSTHROUGH_BITS = capabilityBits(PASSTHROUGH);

/** The bits of a list of capabilities, implied ones included. */
export function capabilityBits(names: readonly Capability[]): number {
  const bits = lackingBits(names);
  return bits & CAPABILITIES.json_schema.bit ? bits | CAPABILITIES.json_mode.bit : bits;
}

/** The bits of exactly these, without what they imply: who lacks one may have the others. */
export function lackingBits(names: readonly Capability[]): number {
  return names.reduce((bits, name) => bits | CAPABILITIES[name].bit, 0);
}

/** The names behind bits, in the table's order. */
export function capabilityNames(bits: number): Capability[] {
  return CAPABILITY_NAMES.filter((name) => bits & CAPABILITIES[name].bit);
}

/**
 * A bit of needs that is not in the table: a model that refuses the forced call of the request, and answers in a JSON schema,
 * serves the request with that schema.
 */
export const SCHEMA_INSTEAD = 1 << 25;
/** What a model may lack to serve a forced call. */
export const FORCED_CALLS = ['forced_tools', 'forced_tools_with_thinking'] as const satisfies readonly Capability[];
const REFUSED_CALLS = lackingBits(FORCED_CALLS);
/** What an answer in a schema does not need. Such an answer is one call. */
export const IN_SCHEMA = REFUSED_CALLS | CAPABILITIES.single_tool_calls.bit;

/** Whether a request with these needs goes to an endpoint with these capabilities with a schema in place of its forced call. */
export const getsSchemaInstead = (needs: number, capabilities: number): boolean =>
  (needs & SCHEMA_INSTEAD) !== 0 &&
  (needs & ~capabilities & REFUSED_CALLS) !== 0 &&
  (capabilities & CAPABILITIES.json_schema.bit) !== 0;

/** The bits of what a request needs and does not get; 0 where it can be served. */
export function missingBits(needs: number, capabilities: number): number {
  const missing = needs & ~capabilities & ~SCHEMA_INSTEAD;
  return missing !== 0 && getsSchemaInstead(needs, capabilities) ? missing & ~IN_SCHEMA : missing;
}
