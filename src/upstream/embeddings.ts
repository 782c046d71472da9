import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { EmbeddingCall, InProcessAdapter, ProviderCall, WireAdapter } from '../contract/provider.ts';
import {
  batchesOf,
  type EmbeddingInput,
  type EmbeddingModel,
  type EmbeddingQuery,
  inputTokens,
} from '../core/embedding.ts';
import { isPlausible, plainUsage } from '../core/usage.ts';
import type { NextParts, UpstreamCall, UpstreamTarget } from './upstream-call.ts';

/** Makes a call to an adapter of one answer; see `openCall`. */
export type OpenCall = (target: UpstreamTarget, call: ProviderCall) => UpstreamCall;

/** Embeds all inputs of a request at one endpoint. Each call is opened with an adapter that embeds its batch. */
export function openEmbeddings(
  target: UpstreamTarget,
  call: ProviderCall,
  { inputs, dimensions: asked }: EmbeddingQuery,
  model: EmbeddingModel,
  open: OpenCall,
): UpstreamCall {
  const dimensions = asked ?? model.dimensions;
  const isShortened = dimensions !== model.dimensions;
  return new BatchedCall(batchesOf(inputs, model, dimensions), dimensions, (batch) =>
    open(embeddingTarget(target, { ...call, inputs: batch, dimensions, isShortened }), call),
  );
}

/** The target whose adapter answers any call with a batch of embeddings. */
function embeddingTarget({ adapter, ...target }: UpstreamTarget, call: EmbeddingCall): UpstreamTarget {
  if (adapter.kind === 'in-process') {
    const own: InProcessAdapter = { kind: 'in-process', answer: () => adapter.embed?.(call) ?? [UNABLE] };
    return { ...target, adapter: own };
  }
  const { embeddings } = adapter;
  const own: WireAdapter = {
    ...adapter,
    request: () => embeddings?.request(call) ?? UNABLE.failure,
    reply: (body) => embeddings?.reply(body) ?? [UNABLE],
  };
  return { ...target, adapter: own };
}

/** No policy with such a model compiles. */
const UNABLE = {
  type: 'failure',
  failure: { kind: 'server', message: 'the adapter has no embeddings' },
} as const satisfies StreamPart;

/**
 * Batches of embeddings as one answer. They are asked for one after the other, so that none is billed after another has
 * failed. Usage is reported after each of them, the vectors after the last: until then another endpoint may do it all.
 */
class BatchedCall implements UpstreamCall {
  /** After the first. */
  readonly #batches: readonly (readonly EmbeddingInput[])[];
  readonly #dimensions: number;
  readonly #open: (batch: readonly EmbeddingInput[]) => UpstreamCall;
  readonly #vectors: (readonly number[])[] = [];
  #call: UpstreamCall;
  #batch: EmbeddingBatch;
  /** Index of the next of the other batches. */
  #at = 0;
  #isSent = false;
  #isOver = false;
  /** Tokens of the batches that are done: as reported, else as counted here. */
  #tokens = 0;
  #isReported = false;

  /**
   * @param batches never empty
   * @param dimensions the length that each vector must have
   * @param open begins the call of a batch
   */
  constructor(
    batches: readonly (readonly EmbeddingInput[])[],
    dimensions: number,
    open: (batch: readonly EmbeddingInput[]) => UpstreamCall,
  ) {
    const [first, ...others] = batches;
    this.#batches = others;
    this.#dimensions = dimensions;
    this.#open = open;
    this.#batch = new EmbeddingBatch(first!, dimensions);
    this.#call = open(first!);
  }

  get dropped(): readonly string[] {
    return this.#call.dropped;
  }

  get sent(): boolean {
    return this.#isSent || this.#call.sent;
  }

  get requestId(): string | null {
    return this.#call.requestId;
  }

  read(): NextParts {
    while (!this.#isOver) {
      const parts = this.#call.read();
      if (parts instanceof Promise) return parts;
      const failure = parts === null ? this.#batch.fault() : this.#batch.add(parts);
      if (failure) return this.#fail(failure);
      const done = parts === null ? this.#finishBatch() : [];
      if (done.length > 0) return done;
    }
    return null;
  }

  abort(): void {
    this.#isOver = true;
    this.#call.abort();
  }

  /** Opens the next batch. Returns the usage until now; after the last batch, the whole answer. */
  #finishBatch(): readonly StreamPart[] {
    for (const vector of this.#batch.vectors) this.#vectors.push(vector);
    const usage = this.#addUsage();
    const next = this.#batches[this.#at++];
    if (next) {
      this.#isSent ||= this.#call.sent;
      this.#batch = new EmbeddingBatch(next, this.#dimensions);
      this.#call = this.#open(next);
      return usage;
    }
    this.#isOver = true;
    const embeddings = this.#vectors.map((vector, index) => ({ type: 'embedding', choice: 0, index, vector }) as const);
    return [...embeddings, { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' }, ...usage];
  }

  /** Ends the call. A batch that failed may have been billed. */
  #fail(failure: ProviderFailure): readonly StreamPart[] {
    const usage = this.#batch.tokens === null ? [] : this.#addUsage();
    this.abort();
    return [...usage, { type: 'failure', failure }];
  }

  #addUsage(): readonly StreamPart[] {
    const { tokens, expected } = this.#batch;
    this.#isReported ||= tokens !== null;
    this.#tokens += tokens ?? expected;
    return this.#isReported ? [{ type: 'usage', usage: plainUsage(this.#tokens, 0) }] : [];
  }
}

/** The answer to one batch. */
class EmbeddingBatch {
  readonly vectors: (readonly number[])[] = [];
  /** Input tokens as reported; null for no report that can be true. */
  tokens: number | null = null;
  readonly #inputs: readonly EmbeddingInput[];
  readonly #dimensions: number;
  #taken = 0;

  constructor(inputs: readonly EmbeddingInput[], dimensions: number) {
    this.#inputs = inputs;
    this.#dimensions = dimensions;
  }

  get expected(): number {
    return this.#inputs.reduce((sum, input) => sum + inputTokens(input), 0);
  }

  /** Takes parts of the answer. Returns the failure that ends it. */
  add(parts: readonly StreamPart[]): ProviderFailure | null {
    for (const part of parts) {
      if (part.type === 'failure') return part.failure;
      if (part.type === 'usage' && isPlausible(part.usage) && part.usage.inputTokens > 0)
        this.tokens = part.usage.inputTokens;
      if (part.type !== 'embedding') continue;
      const fault = this.#take(part.index, part.vector);
      if (fault) return fault;
    }
    return null;
  }

  /** The failure of an answer that has ended; null for a whole one. */
  fault(): ProviderFailure | null {
    const missing = this.#inputs.length - this.#taken;
    return missing === 0 ? null : malformed(`the answer lacks ${missing} of ${this.#inputs.length} vectors`);
  }

  #take(index: number, vector: readonly number[]): ProviderFailure | null {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#inputs.length))
      return malformed('the answer has a vector of no text');
    if (this.vectors[index]) return malformed('the answer has two vectors of one text');
    if (vector.length !== this.#dimensions)
      return malformed(`a vector has ${vector.length} numbers in place of ${this.#dimensions}`);
    if (!vector.every(Number.isFinite)) return malformed('a vector has a value that is no number');
    this.vectors[index] = vector;
    this.#taken++;
    return null;
  }
}

const malformed = (message: string): ProviderFailure => ({ kind: 'malformed', message });
