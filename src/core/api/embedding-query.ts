import { type Static, Type } from '@sinclair/typebox';
import type { EmbeddingInput } from '../request/embedding.ts';

/** The most inputs of one request, as in OpenAI's API. */
const INPUTS_MAX = 2048;

const Text = Type.String({ minLength: 1 });
const Tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 4_294_967_295 }), { minItems: 1 });

/** Schema of the field `input`. */
export const Input = Type.Union(
  [
    Text,
    Type.Array(Text, { minItems: 1, maxItems: INPUTS_MAX }),
    Tokens,
    Type.Array(Tokens, { minItems: 1, maxItems: INPUTS_MAX }),
  ],
  {
    description: `A text, a list of at most ${INPUTS_MAX} texts, or the same as lists of tokens of the model’s own tokenizer.`,
  },
);

/** Schema of the field `dimensions`. */
export const Dimensions = Type.Integer({
  minimum: 1,
  maximum: 65_536,
  description: 'The length of each vector. Default: the model’s own length.',
});

/** Reads the texts of the field `input` of a checked body; none if the body leaves it out. */
export function inputsOf(input: Static<typeof Input> | undefined): readonly EmbeddingInput[] {
  if (input === undefined) return [];
  const isOne = typeof input === 'string' || typeof input[0] === 'number';
  const list: readonly unknown[] = isOne ? [input] : input;
  return list.map((one, index) => inputOf(one, isOne ? ['input'] : ['input', index]));
}

/** Every input that is not a text is a list of tokens. */
const inputOf = (value: unknown, at: EmbeddingInput['at']): EmbeddingInput =>
  typeof value === 'string'
    ? { type: 'text', text: value, at }
    : { type: 'tokens', tokens: Array.isArray(value) ? value : [], at };
