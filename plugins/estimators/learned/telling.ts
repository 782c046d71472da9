import type { TellingWord } from 'signalbox/plugin';
import type { Scanner } from './scanner.ts';
import type { WordWeights } from './weights.ts';

/** Weights with the trust in them, 0..1. */
interface TrustedWeights {
  readonly weights: WordWeights | null;
  readonly trust: number;
}

/** The maximum length of a displayed word. */
const WORD_CHARS_MAX = 40;

/** The words and word pairs of a text with the largest effect in either direction; those without effect are omitted. */
export function tellingWords(
  scanner: Scanner,
  text: string,
  most: number,
  all: readonly TrustedWeights[],
): TellingWord[] {
  scanner.scan(text);
  const words = new Map<number, string>();
  const add = (bucket: number, word: () => string): void => {
    if (!words.has(bucket)) words.set(bucket, word());
  };
  const wordAt = (token: number): string => {
    const from = scanner.starts[token]!;
    const to = scanner.ends[token]!;
    return to - from > WORD_CHARS_MAX ? `${text.slice(from, from + WORD_CHARS_MAX)}…` : text.slice(from, to);
  };
  for (let token = 0; token < scanner.keptTokens; token++) {
    add(scanner.bucketOf(token), () => wordAt(token));
    if (token > 0) add(scanner.bucketOfPair(token), () => `${wordAt(token - 1)} ${wordAt(token)}`);
  }
  const share = 1 / Math.sqrt(words.size);
  const addedBy = (bucket: number): number =>
    all.reduce((sum, { weights, trust }) => sum + trust * share * (weights?.mean(bucket) ?? 0), 0);
  return [...words]
    .map(([bucket, word]) => ({ word, adds: addedBy(bucket) }))
    .filter(({ adds }) => adds !== 0)
    .sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds) || (a.word < b.word ? -1 : 1))
    .slice(0, most);
}
