import { isObject, type Json, listOf, textOf } from '../../plugins/providers/json.ts';
import type { RecordedRequest } from './fake-upstream.ts';

/** Tokens of a prompt, as a fake upstream reports them. */
export interface PromptUsage {
  readonly prompt_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
}

/** The shortest prefix that services cache, tokens. */
const TOKENS_MIN = 1_024;
/** OpenAI and Google cache automatically, in steps of this many tokens. */
const STEP = 128;
/** How many blocks before a breakpoint Anthropic searches for an older entry. */
const LOOKBACK = 20;
const CHARS_PER_TOKEN = 4;

/** A piece of a prompt, in the order of caching: tools, instructions, messages. */
interface Segment {
  readonly text: string;
  /** Whether the piece ends with one of the caller's breakpoints. */
  readonly isMarked: boolean;
}

/**
 * The prompt cache of one endpoint, which stores beginnings of prompts. OpenAI and Google cache every prompt that is long enough; Anthropic
 * writes and reads only up to the breakpoints of `cache_control`, and bills what it writes. Sources:
 * developers.openai.com/api/docs/guides/prompt-caching, platform.claude.com/docs/en/build-with-claude/prompt-caching,
 * ai.google.dev/gemini-api/docs/caching. In this cache a token is four characters. A use of an entry begins its lifetime again.
 */
export class PromptCache {
  readonly #clock: () => number;
  readonly #ttlMs: number;
  /** When each beginning expires, ms on the clock, by its hash. */
  readonly #held = new Map<bigint, number>();

  /** @param ttlMs the lifetime of an entry after its last use; without it, nothing expires */
  constructor(clock: () => number = () => 0, ttlMs = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** Reads a prompt and stores what its service would cache. */
  usageOf({ path, body }: Pick<RecordedRequest, 'path' | 'body'>): PromptUsage {
    const segments = segmentsOf(body);
    const prompt = segments.map(({ text }) => text).join('');
    const byMarks = path.endsWith('/messages');
    const { cached, written } = byMarks ? this.#readMarked(segments) : this.#readBySteps(prompt);
    return {
      prompt_tokens: tokensOf(prompt.length),
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    };
  }

  #readBySteps(prompt: string): { cached: number; written: number } {
    let cached = 0;
    let [hash, from] = [0n, 0];
    // A prompt has at least one token that is never read from the cache.
    for (let tokens = TOKENS_MIN; tokens * CHARS_PER_TOKEN < prompt.length; tokens += STEP) {
      hash = Bun.hash.rapidhash(prompt.slice(from, tokens * CHARS_PER_TOKEN), hash);
      from = tokens * CHARS_PER_TOKEN;
      if (this.#has(hash)) cached = tokens;
      this.#hold(hash);
    }
    return { cached, written: 0 };
  }

  #readMarked(segments: readonly Segment[]): { cached: number; written: number } {
    const beginnings: string[] = [];
    for (const { text } of segments) beginnings.push((beginnings.at(-1) ?? '') + text);
    const marked = segments.flatMap(({ isMarked }, at) => (isMarked ? [at] : []));
    const found = marked
      .flatMap((at) => beginnings.slice(Math.max(0, at - LOOKBACK), at + 1))
      .filter((beginning) => this.#has(Bun.hash.rapidhash(beginning)));
    const cached = Math.max(0, ...found.map(({ length }) => tokensOf(length)));
    const kept = marked.map((at) => beginnings[at]!).filter(({ length }) => tokensOf(length) >= TOKENS_MIN);
    for (const beginning of kept) this.#hold(Bun.hash.rapidhash(beginning));
    const until = Math.max(cached, ...kept.map(({ length }) => tokensOf(length)));
    return { cached, written: until - cached };
  }

  #has(hash: bigint): boolean {
    return (this.#held.get(hash) ?? Number.NEGATIVE_INFINITY) > this.#clock();
  }

  #hold(hash: bigint): void {
    this.#held.set(hash, this.#clock() + this.#ttlMs);
  }
}

const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

/** Returns the prompt of a request in any dialect. */
function segmentsOf(body: Json): readonly Segment[] {
  const { tools, system, instructions, systemInstruction, messages, input, contents, prompt } = body;
  const conversation = [...piecesOf(messages), ...piecesOf(input), ...piecesOf(contents), ...piecesOf(prompt)];
  const pieces = [...listOf(tools), ...piecesOf(system), instructions, systemInstruction, ...conversation];
  const segments = pieces.filter((piece) => piece != null).map(segmentOf);
  // `cache_control` of the whole request means a breakpoint at its end.
  return body.cache_control == null ? segments : segments.with(-1, { ...segments.at(-1)!, isMarked: true });
}

/** Returns the blocks of a list of messages, or of one text. */
function piecesOf(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return [value];
  return listOf(value).flatMap((one) => {
    if (!isObject(one) || !Array.isArray(one.content)) return [one];
    return one.content.map((block: unknown) => ({ role: textOf(one.role), ...Object(block) }));
  });
}

function segmentOf(piece: unknown): Segment {
  const text = JSON.stringify(piece, (name, value: unknown) => (name === 'cache_control' ? undefined : value));
  return { text, isMarked: isObject(piece) && piece.cache_control != null };
}
