import {
  type EmbeddingCall,
  type EmbeddingInput,
  estimateTokens,
  type Pause,
  plainUsage,
  type StreamPart,
} from 'signalbox/plugin';

/** Embeds texts in this process. Texts that share words or parts of words have similar vectors. The vectors are deterministic. */
export function* embed({ inputs, dimensions, model }: EmbeddingCall): Generator<StreamPart | Pause> {
  yield { type: 'pause', ms: model.ttftMs };
  let tokens = 0;
  for (const [index, input] of inputs.entries()) {
    tokens += input.type === 'text' ? estimateTokens(input.text) : input.tokens.length;
    yield { type: 'embedding', choice: 0, index, vector: vectorOf(featuresOf(input), dimensions) };
  }
  yield { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
  yield { type: 'usage', usage: plainUsage(tokens, 0) };
}

/** The number of letters in a part of a word. */
const PART = 3;

function featuresOf(input: EmbeddingInput): readonly string[] {
  if (input.type === 'tokens') return input.tokens.map((token) => `#${token}`);
  const words = input.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [input.text];
  return words.flatMap((word) => [word, ...piecesOf(word)]);
}

const piecesOf = (word: string): string[] =>
  Array.from({ length: Math.max(0, word.length - PART) }, (_, at) => word.slice(at, at + PART));

/** Adds each feature at its own index and with its own sign, then scales the vector to length 1. */
function vectorOf(features: readonly string[], dimensions: number): readonly number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const feature of features) {
    const hash = hashOf(feature);
    vector[(hash >>> 1) % dimensions]! += hash & 1 ? 1 : -1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((number) => number / length);
}

/** Returns an FNV-1a hash. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
