import { Type } from '@sinclair/typebox';
import type { StreamPart } from '../../contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../../core/decision/answer.ts';
import { Platform } from '../../core/decision/platform.ts';
import { modelId } from '../../core/decision/shared-fields.ts';
import { always, count, list, named, shape } from '../../core/define/fields.ts';
import type { AnswerWriter } from '../surface.ts';

/** The answer with all vectors. */
export const EmbeddingList = named('EmbeddingList', 'The vectors of the inputs, in OpenAI’s form.', {
  object: always('list'),
  data: list(
    Type.Object({
      object: always('embedding'),
      index: count('The index of the input.', 0),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()], {
        description:
          'The vector as a list of numbers; with `encoding_format: base64`, the bytes of the numbers as base64 text.',
        examples: [[0.0123, -0.0456, 0.0789]],
      }),
    }),
    'One vector for each input, in the same order.',
  ),
  model: modelId('The model that answered.', 'text-embedding-3-small'),
  usage: shape('The tokens that are charged.', {
    prompt_tokens: count('Tokens of all inputs.', 8),
    total_tokens: count('The same.', 8),
  }),
  platform: Platform,
});

/** The text of the answer up to its first vector. */
const HEAD = '{"object":"list","data":[';

/** The format of the numbers in a vector. */
export type EncodingFormat = 'float' | 'base64';

/**
 * Writes the vectors of an answer as one list. The writer writes each vector when it arrives, because the whole list is large. The vectors
 * of an answer arrive in the order of the inputs.
 */
export class EmbeddingsWriter implements AnswerWriter {
  readonly #identity: AnswerIdentity;
  readonly #format: EncodingFormat;
  #hasBegun = false;

  constructor(identity: AnswerIdentity, format: EncodingFormat) {
    this.#identity = identity;
    this.#format = format;
  }

  write(parts: readonly StreamPart[]): string {
    let text = '';
    for (const part of parts) {
      if (part.type !== 'embedding') continue;
      const { index, vector } = part;
      const embedding = this.#format === 'base64' ? base64Of(vector) : vector;
      text += `${this.#hasBegun ? ',' : HEAD}${JSON.stringify({ object: 'embedding', index, embedding })}`;
      this.#hasBegun = true;
    }
    return text;
  }

  end({ usage, platform }: Receipt): string {
    const { inputTokens } = usage;
    const rest = {
      model: this.#identity.model,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
      platform,
    };
    return `${this.#hasBegun ? '' : HEAD}],${JSON.stringify(rest).slice(1)}`;
  }
}

const FLOAT_BYTES = 4;

/** Returns the numbers as little-endian 32-bit floats in base64. */
function base64Of(vector: readonly number[]): string {
  const bytes = new Uint8Array(vector.length * FLOAT_BYTES);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < vector.length; at++) view.setFloat32(at * FLOAT_BYTES, vector[at]!, true);
  return bytes.toBase64();
}
