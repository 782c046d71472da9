import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { type EmbeddingInput, inputTokens } from '../../core/request/embedding.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { Recording } from '../exchange/kept-answer.ts';
import { batchLine, endLine } from '../exchange/replayed-answer.ts';
import { WrappedAnswer } from '../exchange/wrapped-answer.ts';
import type { CachedAnswer, KeptEntry } from './answer-cache.ts';

/** An answer that a step only watches: nothing in it changes. */
export abstract class WatchedAnswer extends WrappedAnswer {
  readonly #isCuttable: boolean;

  constructor(source: RunningAnswer) {
    super(source);
    this.#isCuttable = source.mayBeCut ?? true;
  }

  override get mayBeCut(): boolean {
    return this.#isCuttable;
  }
}

/** The answer of a model, as the model wrote it, for the cache. */
export class RecordedAnswer extends WatchedAnswer {
  readonly #inputs: readonly EmbeddingInput[] | null;
  readonly #recording = new Recording();
  readonly #vectors: string[] = [];
  /** Whether a limit or a filter ended a choice of the answer, or the model refused to answer. */
  #isCut = false;

  /** @param inputs of a request for embeddings, each of which becomes an entry; null for another request */
  constructor(source: RunningAnswer, inputs: readonly EmbeddingInput[] | null) {
    super(source);
    this.#inputs = inputs;
  }

  protected see(parts: readonly StreamPart[]): readonly StreamPart[] {
    if (this.#inputs === null) this.#recording.add(parts);
    for (const part of parts) {
      if (part.type === 'finish') this.#isCut ||= part.reason === 'length' || part.reason === 'content_filter';
      else if (part.type === 'refusal') this.#isCut = true;
      else if (part.type === 'embedding') this.#vectors[part.index] = batchLine([{ ...part, index: 0 }]);
    }
    return parts;
  }

  /** @returns the entries of the complete answer, one for each name; empty if it cannot be stored */
  entries(): readonly KeptEntry[] {
    const { decision, error, receipt } = this;
    if (this.#isCut || error || !receipt) return [];
    const end = endLine(this, null);
    if (this.#inputs === null) {
      const text = this.#recording.text();
      return text === null ? [] : [{ decision, text: text + end }];
    }
    const tokens = sharesOf(this.#inputs, receipt.usage.inputTokens);
    if (this.#inputs.some((_, at) => this.#vectors[at] === undefined)) return [];
    return tokens.map((share, at) => ({ decision, text: this.#vectors[at]! + end, tokens: share }));
  }
}

/** Divides the tokens of a request among its inputs, by their expected tokens. The sum of the shares is exact. */
function sharesOf(inputs: readonly EmbeddingInput[], total: number): number[] {
  const weights = inputs.map(inputTokens);
  const sum = weights.reduce((all, one) => all + one, 0);
  let weight = 0;
  let given = 0;
  return weights.map((one) => {
    weight += one;
    const until = Math.round((total * weight) / sum);
    const share = until - given;
    given = until;
    return share;
  });
}

/** An answer with a listener for its end. The listener is called before the reader gets the end, unless the answer failed. */
export class EndingAnswer extends WatchedAnswer {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #onEnd: () => Awaitable<void>;

  constructor(source: RunningAnswer, headers: Readonly<Record<string, string>>, onEnd: () => Awaitable<void>) {
    super(source);
    this.#headers = headers;
    this.#onEnd = onEnd;
  }

  override get funded(): RunningAnswer['funded'] {
    const { funded } = this.source;
    const headers = { ...funded.headers, ...this.#headers };
    return { headers, errorOf: (error, isKept) => funded.errorOf(error, isKept) };
  }

  protected see(parts: readonly StreamPart[]): readonly StreamPart[] {
    return parts;
  }

  protected override end(): Awaitable<readonly StreamPart[]> {
    if (!this.receipt || this.error) return super.end();
    return whenReady(this.#onEnd(), () => super.end());
  }
}

/** Reads the answer of one input of a request for embeddings, as a vector of this input. */
function vectorOf({ source }: CachedAnswer, index: number): NextParts {
  const parts = source.read();
  if (parts === null || parts instanceof Promise) return parts;
  return parts.map((part) => (part.type === 'embedding' ? { ...part, index } : part));
}

/** Returns a reader of the vectors of a request for embeddings, one after the other. */
export function vectorsOf(answers: readonly CachedAnswer[]): () => NextParts {
  let at = 0;
  return () => {
    for (let answer = answers[at]; answer; answer = answers[++at]) {
      const parts = vectorOf(answer, at);
      if (parts !== null) return parts;
    }
    return null;
  };
}

/** The vectors of a request for embeddings of which the cache had some. */
export class MergedVectors extends WatchedAnswer {
  /** By index of the input; null for an input that the model answers. */
  readonly #kept: readonly (CachedAnswer | null)[];
  /** The index of the next input. */
  #next = 0;
  /** The parts of the model that the reader has not yet read, the next one last. */
  #waiting: StreamPart[] = [];

  constructor(source: RunningAnswer, kept: readonly (CachedAnswer | null)[]) {
    super(source);
    this.#kept = kept;
  }

  override read(): NextParts {
    for (let kept = this.#kept[this.#next]; kept && !this.error; kept = this.#kept[++this.#next]) {
      const parts = vectorOf(kept, this.#next);
      if (parts !== null) return parts;
    }
    const part = this.#waiting.pop();
    if (part) return [part.type === 'embedding' ? { ...part, index: this.#next++ } : part];
    const parts = super.read();
    if (parts === null || parts instanceof Promise || parts.length === 0) return parts;
    this.#waiting = parts.toReversed();
    return this.read();
  }

  override abandon(reason: SignalboxError | 'caller-gone'): void {
    super.abandon(reason);
    this.#waiting = [];
  }

  protected see(parts: readonly StreamPart[]): readonly StreamPart[] {
    return parts;
  }
}

/** An answer of the cache, whose memory is held until its end. */
export class HeldAnswer extends WatchedAnswer {
  readonly #leave: () => void;

  /** @param leave releases the memory of the answer; it may be called again */
  constructor(source: RunningAnswer, leave: () => void) {
    super(source);
    this.#leave = leave;
  }

  override async open(): Promise<void> {
    try {
      await super.open();
    } catch (cause) {
      this.#leave();
      throw cause;
    }
  }

  override read(): NextParts {
    const parts = super.read();
    if (parts === null) this.#leave();
    return parts;
  }

  override abandon(reason: SignalboxError | 'caller-gone'): void {
    super.abandon(reason);
    this.#leave();
  }

  protected see(parts: readonly StreamPart[]): readonly StreamPart[] {
    return parts;
  }
}
