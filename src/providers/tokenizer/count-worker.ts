import cl100k from 'gpt-tokenizer/data/cl100k_base.tiktoken' with { type: 'file' };
import o200k from 'gpt-tokenizer/data/o200k_base.tiktoken' with { type: 'file' };
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import type { Tokenizer } from '../../core/request/tokenizer.ts';
import { messageOf } from '../../core/thrown.ts';
import { importedFile } from '../../host/program.ts';
import { countTokens, readRanks, type TokenVocabulary } from './byte-pairs.ts';

export interface CountRequest {
  readonly id: number;
  readonly name: Tokenizer;
  readonly texts: readonly string[];
  /** The deadline, in ms since 1970. */
  readonly until: number;
}

export interface CountAnswer {
  readonly id: number;
  /** The count; null after the deadline. */
  readonly tokens: number | null;
  readonly error?: string;
}

/**
 * Counts outside of the event loop's thread, because loading a vocabulary takes 200 ms and 40 MB. The count worker sends one answer for
 * each request.
 */
declare const self: {
  onmessage: ((event: { readonly data: CountRequest }) => void) | null;
  postMessage(answer: CountAnswer): void;
};

/** For each tokenizer, the file with its ranks and the pattern of its pieces. */
const TABLES: Readonly<Record<Tokenizer, { readonly file: string; readonly pieces: RegExp }>> = {
  o200k_base: { file: o200k, pieces: O200K_TOKEN_SPLIT_REGEX },
  cl100k_base: { file: cl100k, pieces: CL100K_TOKEN_SPLIT_REGEX },
};

const vocabularies = new Map<Tokenizer, Promise<TokenVocabulary>>();

/** The time slice of a job in ms. Smaller count jobs run first, and jobs of equal size take turns. */
const SLICE_MS = 5;

interface Job extends CountRequest {
  readonly counting: Iterator<void, number>;
  readonly size: number;
}
const jobs = new Set<Job>();

self.onmessage = async ({ data }) => {
  try {
    const vocabulary = vocabularies.get(data.name) ?? load(data.name);
    vocabularies.set(data.name, vocabulary);
    const size = data.texts.reduce((sum, { length }) => sum + length, 0);
    jobs.add({ ...data, counting: countAll(data.texts, await vocabulary), size });
    if (jobs.size === 1) runSlices();
  } catch (error) {
    postError(data.id, error);
  }
};

function runSlices(): void {
  const job = [...jobs].reduce((least, one) => (one.size < least.size ? one : least));
  try {
    const tokens = runSlice(job);
    if (tokens !== undefined) {
      jobs.delete(job);
      self.postMessage({ id: job.id, tokens });
    }
  } catch (error) {
    jobs.delete(job);
    postError(job.id, error);
  }
  // `setImmediate` lets new requests in before the next slices run.
  if (jobs.size > 0) setImmediate(runSlices);
}

/** Runs a slice of a count job. Returns the number of tokens, null after the deadline, or undefined if the job needs another slice. */
function runSlice({ counting, until }: Job): number | null | undefined {
  const end = Date.now() + SLICE_MS;
  for (let now = Date.now(); now < end; now = Date.now()) {
    if (now > until) return null;
    const { done, value } = counting.next();
    if (done) return value;
  }
  return undefined;
}

function postError(id: number, error: unknown): void {
  self.postMessage({ id, tokens: null, error: messageOf(error) });
}

async function load(name: Tokenizer): Promise<TokenVocabulary> {
  const { file, pieces } = TABLES[name];
  return { ranks: readRanks(await Bun.file(importedFile(file)).text()), pieces };
}

function* countAll(texts: readonly string[], vocabulary: TokenVocabulary): Generator<void, number> {
  let sum = 0;
  for (const text of texts) sum += yield* countTokens(text, vocabulary);
  return sum;
}
