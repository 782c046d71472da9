import { setImmediate } from 'node:timers/promises';
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

type Batch = readonly EmbeddingInput[];

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

/** Batches under way at once. */
const BATCHES_MAX = 4;
/** Numbers of the vectors that are passed on at once. */
const NUMBERS_AT_ONCE = 65_536;

/**
 * Batches of embeddings as one answer. The first goes alone: an endpoint that refuses all is asked once. After a failure no
 * further one is begun, and those under way are read to their end, as they are billed. Usage is reported as batches end, with
 * what those under way are expected to cost; the vectors come after the last: until then another endpoint may do it all. Answers
 * are large: other requests get a turn after each.
 */
class BatchedCall implements UpstreamCall {
  readonly #batches: readonly Batch[];
  readonly #dimensions: number;
  readonly #open: (batch: Batch) => UpstreamCall;
  readonly #running = new Set<BatchCall>();
  readonly #vectors: (readonly (readonly number[])[])[] = [];
  /** Index of the next batch. */
  #at = 0;
  /** The call that a record names: the last one that ended, before that the first. */
  #named: UpstreamCall;
  #isSent = false;
  #isOver = false;
  /** The others' turn, until it is waited for. */
  #turn: Promise<void> | null = null;
  /** What is left of the whole answer. */
  #answer: (readonly StreamPart[])[] = [];
  #failure: ProviderFailure | null = null;
  /** Tokens of the batches that are done: as reported, else as counted here. */
  #tokens = 0;
  #isReported = false;
  readonly dropped: readonly string[];

  /**
   * @param batches never empty
   * @param dimensions the length that each vector must have
   * @param open begins the call of a batch
   */
  constructor(batches: readonly Batch[], dimensions: number, open: (batch: Batch) => UpstreamCall) {
    this.#batches = batches;
    this.#dimensions = dimensions;
    this.#open = open;
    this.#named = this.#begin().call;
    this.dropped = this.#named.dropped;
  }

  get sent(): boolean {
    return this.#isSent || [...this.#running].some(({ call }) => call.sent);
  }

  get requestId(): string | null {
    return this.#named.requestId;
  }

  read(): NextParts {
    while (!this.#isOver) {
      const turn = this.#turn;
      this.#turn = null;
      if (turn) return turn;
      const ended = this.#nextEnd();
      if (ended instanceof Promise) return ended;
      this.#turn = setImmediate();
      if (ended.length > 0) return ended;
    }
    return this.#answer.shift() ?? null;
  }

  /** Ends a batch that has come, and returns the usage until now; a promise where none has come. */
  #nextEnd(): readonly StreamPart[] | Promise<void> {
    const waits: Promise<void>[] = [];
    for (const one of this.#running) {
      const end = one.read();
      if (!(end instanceof Promise)) return this.#end(one, end);
      waits.push(end);
    }
    return waits.length === 1 ? waits[0]! : Promise.race(waits);
  }

  abort(): void {
    this.#isOver = true;
    this.#answer = [];
    for (const { call } of this.#running) call.abort();
  }

  #begin(): BatchCall {
    const inputs = this.#batches[this.#at]!;
    const one = new BatchCall(this.#at++, inputs, this.#dimensions, this.#open(inputs));
    this.#running.add(one);
    return one;
  }

  /** Ends a batch. Returns the usage until now; after the last one, the failure of the answer. */
  #end(one: BatchCall, failure: ProviderFailure | null): readonly StreamPart[] {
    const { call, tokens } = one;
    this.#running.delete(one);
    this.#named = this.#failure ? this.#named : call;
    this.#isSent ||= call.sent;
    this.#failure ??= failure;
    // A batch that failed may have been billed.
    if (failure === null || tokens !== null) {
      this.#isReported ||= tokens !== null;
      this.#tokens += tokens ?? one.expected;
    }
    if (failure) call.abort();
    else this.#vectors[one.index] = one.vectors;
    if (this.#failure === null) {
      while (this.#running.size < BATCHES_MAX && this.#at < this.#batches.length) this.#begin();
    }
    const isLast = this.#running.size === 0;
    const usage = failure !== null && tokens === null && !isLast ? [] : this.#usage();
    if (!isLast) return usage;
    this.#isOver = true;
    if (this.#failure) return [...usage, { type: 'failure', failure: this.#failure }];
    this.#answer = this.#slices(usage);
    return [];
  }

  /** The whole answer. Its usage comes first, too: a reader who leaves amid the vectors has it. */
  #slices(usage: readonly StreamPart[]): (readonly StreamPart[])[] {
    const parts = this.#vectors
      .flat()
      .map((vector, index) => ({ type: 'embedding', choice: 0, index, vector }) as const);
    const atOnce = Math.max(1, Math.floor(NUMBERS_AT_ONCE / this.#dimensions));
    const slices: StreamPart[][] = [];
    for (let at = 0; at < parts.length; at += atOnce) slices.push(parts.slice(at, at + atOnce));
    slices[0]!.unshift(...usage);
    slices.at(-1)!.push({ type: 'finish', choice: 0, reason: 'stop', raw: 'stop' }, ...usage);
    return slices;
  }

  #usage(): readonly StreamPart[] {
    if (!this.#isReported) return [];
    let tokens = this.#tokens;
    for (const { expected } of this.#running) tokens += expected;
    return [{ type: 'usage', usage: plainUsage(tokens, 0) }];
  }
}

/** The call of one batch, with the answer to it. */
class BatchCall {
  readonly index: number;
  readonly call: UpstreamCall;
  readonly vectors: (readonly number[])[] = [];
  /** Input tokens as reported; null for no report that can be true. */
  tokens: number | null = null;
  readonly #inputs: Batch;
  readonly #dimensions: number;
  #taken = 0;
  /** While nothing has come. */
  #wait: Promise<void> | null = null;

  constructor(index: number, inputs: Batch, dimensions: number, call: UpstreamCall) {
    this.index = index;
    this.call = call;
    this.#inputs = inputs;
    this.#dimensions = dimensions;
  }

  /** Reads what has come. Returns the failure that ended the batch, null for a good end, or a promise while it goes on. */
  read(): ProviderFailure | null | Promise<void> {
    while (this.#wait === null) {
      const parts = this.call.read();
      if (parts instanceof Promise) {
        this.#wait = parts.then(() => {
          this.#wait = null;
        });
      } else {
        const failure = parts === null ? this.#fault() : this.#add(parts);
        if (parts === null || failure) return failure;
      }
    }
    return this.#wait;
  }

  get expected(): number {
    return this.#inputs.reduce((sum, input) => sum + inputTokens(input), 0);
  }

  /** Takes parts of the answer. Returns the failure that ends it. */
  #add(parts: readonly StreamPart[]): ProviderFailure | null {
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
  #fault(): ProviderFailure | null {
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
