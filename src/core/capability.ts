/**
 * What a model can do and a request can need, as bits: a model is fit when it has every bit
 * that the request needs. This table is the only place to add one.
 */
export const CAPABILITIES = {
  tools: { bit: 1 << 0, means: 'calls tools' },
  vision: { bit: 1 << 1, means: 'reads images' },
  json_schema: { bit: 1 << 2, means: 'answers in a given JSON schema' },
  json_mode: { bit: 1 << 3, means: 'answers in JSON; implied by json_schema' },
  reasoning: { bit: 1 << 4, means: 'reasons before it answers' },
  audio_input: { bit: 1 << 5, means: 'listens to audio' },
  file_input: { bit: 1 << 6, means: 'reads files such as PDF' },
  choices: { bit: 1 << 7, means: 'gives several choices (n > 1)' },
  logprobs: { bit: 1 << 8, means: 'reports token probabilities' },
} as const;

export type Capability = keyof typeof CAPABILITIES;

export const CAPABILITY_NAMES = Object.keys(CAPABILITIES) as Capability[];

/** The bits of a list of capabilities, implied ones included. */
export function capabilityBits(names: readonly Capability[]): number {
  let bits = 0;
  for (const name of names) bits |= CAPABILITIES[name].bit;
  if (bits & CAPABILITIES.json_schema.bit) bits |= CAPABILITIES.json_mode.bit;
  return bits;
}

/** The names behind bits, in the table's order. */
export function capabilityNames(bits: number): Capability[] {
  return CAPABILITY_NAMES.filter((name) => bits & CAPABILITIES[name].bit);
}
