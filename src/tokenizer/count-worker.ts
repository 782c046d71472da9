import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import type { Tokenizer } from '../core/tokenizer.ts';
import { countTokens, readRanks, type Vocabulary } from './byte-pairs.ts';

export interface CountRequest {
  readonly id: number;
  readonly name: Tokenizer;
  readonly texts: readonly string[];
  /** When nobody waits any more, ms since 1970. */
  readonly until: number;
}

export interface CountAnswer {
  readonly id: number;
  /** Null: not known in time. */
  readonly tokens: number | null;
  readonly error?: string;
}

/** Counts beside the event loop: reading a vocabulary takes 200 ms, and 40 MB. One message in, one out. */
declare const self: {
  onmessage: ((event: { readonly data: CountRequest }) => void) | null;
  postMessage(answer: CountAnswer): void;
};

const PIECES: Readonly<Record<Tokenizer, RegExp>> = {
  o200k_base: O200K_TOKEN_SPLIT_REGEX,
  cl100k_base: CL100K_TOKEN_SPLIT_REGEX,
};

const vocabularies = new Map<Tokenizer, Promise<Vocabulary>>();

self.onmessage = async ({ data: { id, name, texts, until } }) => {
  try {
    const vocabulary = vocabularies.get(name) ?? load(name);
    vocabularies.set(name, vocabulary);
    self.postMessage({ id, tokens: total(texts, await vocabulary, () => Date.now() > until) });
  } catch (error) {
    self.postMessage({ id, tokens: null, error: error instanceof Error ? error.message : String(error) });
  }
};

async function load(name: Tokenizer): Promise<Vocabulary> {
  const file = Bun.file(new URL(import.meta.resolve(`gpt-tokenizer/data/${name}.tiktoken`)));
  return { ranks: readRanks(await file.text()), pieces: PIECES[name] };
}

function total(texts: readonly string[], vocabulary: Vocabulary, isLate: () => boolean): number | null {
  let sum = 0;
  for (const text of texts) {
    const tokens = isLate() ? null : countTokens(text, vocabulary, isLate);
    if (tokens === null) return null;
    sum += tokens;
  }
  return sum;
}
