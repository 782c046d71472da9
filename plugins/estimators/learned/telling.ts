import type { TellingWord } from 'signalbox/plugin';
import type { Scanner } from './text.ts';
import type { Weights } from './weights.ts';

/** Weights with how far they are trusted. */
interface Trusted {
  readonly weights: Weights | null;
  readonly trust: number;
}

/** A word is shown up to here. */
const WORD_CHARS_MAX = 40;

/** Of a text, the words and pairs of words that add most, either way; those that add nothing are left out. */
export function tellingWords(scanner: Scanner, text: string, most: number, all: readonly Trusted[]): TellingWord[] {
  scanner.scan(text);
  const words = new Map<number, string>();
  const meet = (bucket: number, word: () => string): void => {
    if (!words.has(bucket)) words.set(bucket, word());
  };
  const wordAt = (token: number): string => {
    const from = scanner.starts[token]!;
    const to = scanner.ends[token]!;
    return to - from > WORD_CHARS_MAX ? `${text.slice(from, from + WORD_CHARS_MAX)}…` : text.slice(from, to);
  };
  for (let token = 0; token < scanner.kept; token++) {
    meet(scanner.bucketOf(token), () => wordAt(token));
    if (token > 0) meet(scanner.bucketOfPair(token), () => `${wordAt(token - 1)} ${wordAt(token)}`);
  }
  const share = 1 / Math.sqrt(words.size);
  const addedBy = (bucket: number): number =>
    all.reduce((sum, { weights, trust }) => sum + trust * share * (weights?.cells[2 * bucket] ?? 0), 0);
  return [...words]
    .map(([bucket, word]) => ({ word, adds: addedBy(bucket) }))
    .filter(({ adds }) => adds !== 0)
    .sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds) || (a.word < b.word ? -1 : 1))
    .slice(0, most);
}
