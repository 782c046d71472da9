/**
 * Features that a request needs and an endpoint has, as bits: an endpoint is suitable if it has every bit that the request needs. To add a
 * feature, add it here and nowhere else. `of: 'model'`: the catalog states whether a model has the feature. `of: 'dialect'`: every provider
 * has the feature, unless its adapter or the model's `lacks` excludes it. `of: 'passthrough'`: a provider has the feature only if its
 * adapter says so.
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
  penalties: { bit: 1 << 10, of: 'dialect', means: 'accepts frequency_penalty and presence_penalty other than 0' },
  logit_bias: { bit: 1 << 11, of: 'dialect', means: 'takes a logit_bias' },
  // No request needs the bit `stop`: if the model lacks it, the gateway cuts the answer at the stop sequence.
  stop: { bit: 1 << 12, of: 'dialect', means: 'takes stop sequences' },
  high_temperature: { bit: 1 << 13, of: 'dialect', means: 'takes temperatures above 1' },
  forced_tools: {
    bit: 1 << 14,
    of: 'dialect',
    means: 'can be forced to call a tool (tool_choice)',
    lacking: 'does not accept a forced `tool_choice`',
  },
  forced_tools_with_thinking: {
    bit: 1 << 24,
    of: 'dialect',
    means: 'can be forced to call a tool in a request with thinking',
    lacking: 'does not accept a forced `tool_choice` together with thinking',
  },
  single_tool_calls: {
    bit: 1 << 15,
    of: 'dialect',
    means: 'can be limited to one tool call (parallel_tool_calls: false)',
  },
  json_with_tools: { bit: 1 << 16, of: 'dialect', means: 'accepts a response_format together with tools' },
  image_urls: { bit: 1 << 17, of: 'dialect', means: 'reads images by URL' },
  continuation: {
    bit: 1 << 19,
    of: 'dialect',
    means: 'continues an answer whose beginning is the last message',
  },
  file_ids: { bit: 1 << 18, of: 'dialect', means: 'reads files that were uploaded to its provider' },
  anthropic_messages: {
    bit: 1 << 20,
    of: 'passthrough',
    means: 'accepts requests that only Anthropic’s Messages API can express',
  },
  openai_responses: {
    bit: 1 << 21,
    of: 'passthrough',
    means: 'accepts requests that only OpenAI’s Responses API can express',
  },
  threads: {
    bit: 1 << 23,
    of: 'passthrough',
    means: 'continues a conversation whose history its service stores (thread)',
  },
  completions: {
    bit: 1 << 26,
    of: 'passthrough',
    means: 'continues a text without a conversation (`/v1/completions`)',
    lacking: 'does not declare `completions`',
  },
  suffix: {
    bit: 1 << 27,
    of: 'passthrough',
    means: 'fills the gap before a text (`suffix` of `/v1/completions`)',
    lacking: 'does not accept a `suffix`',
  },
} as const;

export type Capability = keyof typeof CAPABILITIES;

export const CAPABILITY_NAMES = Object.keys(CAPABILITIES) as Capability[];

/** Capabilities of which the catalog can state that a model has them. */
export const MODEL_CAPABILITIES = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'model');

/** Capabilities that a model in the catalog can state that it lacks. */
export const LACKED_CAPABILITIES = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of !== 'passthrough');

/** Bits that every provider has by default. */
export const OF_EVERY_DIALECT = capabilityBits(CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'dialect'));

const PASSTHROUGH = CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'passthrough');

/** The capability to accept requests of a dialect unchanged is named after the dialect, in snake case. */
const BIT_OF_DIALECT: ReadonlyMap<string, number> = new Map(
  PASSTHROUGH.map((name) => [name.replaceAll('_', '-'), CAPABILITIES[name].bit]),
);

/** Returns the bit that a request in a dialect needs in order to be passed through unchanged; 0 for a dialect that is always translated. */
export const passthroughBit = (dialect: string): number => BIT_OF_DIALECT.get(dialect) ?? 0;

/** Bits that a provider has only if its adapter says so. */
export const PASSTHROUGH_BITS = capabilityBits(PASSTHROUGH);

/** Returns the bits of a list of capabilities, implied capabilities included. */
export function capabilityBits(names: readonly Capability[]): number {
  const bits = lackingBits(names);
  return bits & CAPABILITIES.json_schema.bit ? bits | CAPABILITIES.json_mode.bit : bits;
}

/**
 * Returns the bits of exactly these capabilities. `lackingBits` does not include implied capabilities, because an endpoint that lacks a capability may have the capabilities that it implies.
 */
export function lackingBits(names: readonly Capability[]): number {
  return names.reduce((bits, name) => bits | CAPABILITIES[name].bit, 0);
}

/** Returns the names of the bits, in the order of the table. */
export function capabilityNames(bits: number): Capability[] {
  return CAPABILITY_NAMES.filter((name) => bits & CAPABILITIES[name].bit);
}

/**
 * An extra bit of a request's needs that is not in the table. The extra bit is set if a model that refuses the forced tool call can serve
 * the request with a JSON schema instead.
 */
export const SCHEMA_INSTEAD = 1 << 25;
/** Capabilities that a model needs for a forced tool call, unless it answers in a JSON schema instead. */
export const FORCED_CALLS = ['forced_tools', 'forced_tools_with_thinking'] as const satisfies readonly Capability[];
const REFUSED_CALLS = lackingBits(FORCED_CALLS);
/** Needs that do not count if the answer is a JSON schema instead of a forced tool call, because that answer is always exactly one call. */
export const IN_SCHEMA = REFUSED_CALLS | CAPABILITIES.single_tool_calls.bit;

/** Whether an endpoint with these capabilities gets a JSON schema in place of the request's forced tool call. */
export const getsSchemaInstead = (needs: number, capabilities: number): boolean =>
  (needs & SCHEMA_INSTEAD) !== 0 &&
  (needs & ~capabilities & REFUSED_CALLS) !== 0 &&
  (capabilities & CAPABILITIES.json_schema.bit) !== 0;

/** Returns the bits that a request needs and the endpoint lacks; 0 if the endpoint can serve the request. */
export function missingBits(needs: number, capabilities: number): number {
  const missing = needs & ~capabilities & ~SCHEMA_INSTEAD;
  return missing !== 0 && getsSchemaInstead(needs, capabilities) ? missing & ~IN_SCHEMA : missing;
}
