import { setImmediate } from 'node:timers/promises';
import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import { OPERATION_PARTS, type ProviderCall } from '../contract/provider.ts';
import { statedUsd } from '../core/money/stated-cost.ts';
import { isPlausible, plainUsage } from '../core/money/usage.ts';
import { batchesOf, type EmbeddingInput, type EmbeddingModel, inputTokens } from '../core/request/embedding.ts';
import { type OpenCall, targetWith } from './operation-part.ts';
import type { NextParts, UpstreamCall, UpstreamTarget } from './upstream-call.ts';

type Batch = readonly EmbeddingInput[];

/** Embeds all inputs of a request at one endpoint. Each call uses an adapter that embeds one batch. */
export function openEmbeddings(
  target: UpstreamTarget,
  call: ProviderCall,
  model: EmbeddingModel,
  open: OpenCall,
): UpstreamCall {
  const { inputs, dimensions = model.dimensions } = call.request;
  const isShortened = dimensions !== model.dimensions;
  return new BatchedCall(batchesOf(inputs ?? [], model, dimensions), dimensions, (batch) =>
    open(targetWith(target, OPERATION_PARTS.embed, { ...call, inputs: batch, dimensions, isShortened }), call),
  );
}

/** The maximum number of batches that run at the same time. */
export const BATCHES_MAX = 4;
/** The number of vector elements that are passed on at once. */
const NUMBERS_AT_ONCE = 65_536;

/**
 * Combines batches of embeddings into one answer. The first batch runs alone, so that an endpoint that rejects everything is called once.
 * After a failure no further batch starts, but running batches are read to their end, because the provider bills them.
 *
 * Usage is reported when a batch ends, with the expected cost of the running batches. The vectors come after the last batch, so until then
 * another endpoint can take over the whole request. Answers with vectors are large, so other requests get a turn after each answer.
 */
class BatchedCall implements UpstreamCall {
  readonly #batches: readonly Batch[];
  readonly #dimensions: number;
  readonly #open: (batch: Batch) => UpstreamCall;
  readonly #begun: BatchCall[] = [];
  readonly #running = new Set<BatchCall>();
  readonly #answer = this.#parts();
  /** The call that the decision record names: the last call that ended, or the first call before any call has ended. */
  #named: UpstreamCall;
  #isOver = false;
  readonly dropped: readonly string[];

  /**
   * @param batches at least one
   * @param dimensions the length that each vector must have
   * @param open starts the call of a batch
   */
  constructor(batches: readonly Batch[], dimensions: number, open: (batch: Batch) => UpstreamCall) {
    this.#batches = batches;
    this.#dimensions = dimensions;
    this.#open = open;
    this.#named = this.#begin().call;
    this.dropped = this.#named.dropped;
  }

  get sent(): boolean {
    return this.#begun.some(({ call }) => call.sent);
  }

  get requestId(): string | null {
    return this.#named.requestId;
  }

  read(): NextParts {
    return this.#isOver ? null : (this.#answer.next().value ?? null);
  }

  abort(): void {
    this.#isOver = true;
    for (const { call } of this.#running) call.abort();
  }

  #begin(): BatchCall {
    const inputs = this.#batches[this.#begun.length]!;
    const one = new BatchCall(inputs, this.#dimensions, this.#open(inputs));
    this.#begun.push(one);
    this.#running.add(one);
    return one;
  }

  /**
   * Yields the usage so far when a batch ends, then the vectors or the failure. Between the batches, `#parts` yields promises to wait for.
   */
  *#parts(): Generator<readonly StreamPart[] | Promise<void>, null> {
    let failure: ProviderFailure | null = null;
    let tokens = 0;
    let cost: string | undefined = '0';
    let isReported = false;
    for (;;) {
      const [one, fault] = yield* this.#nextEnd();
      this.#running.delete(one);
      if (failure === null) this.#named = one.call;
      failure ??= fault;
      if (fault) one.call.abort();
      // The provider may have billed a batch that failed.
      const isBilled = fault === null || one.tokens !== null;
      if (isBilled) {
        tokens += one.tokens ?? one.expected;
        cost = cost && one.cost && statedUsd([cost, one.cost]);
      }
      isReported ||= one.tokens !== null;
      const most = failure === null ? this.#batches.length : 0;
      while (this.#running.size < BATCHES_MAX && this.#begun.length < most) this.#begin();
      const usage = isReported ? this.#usage(tokens, this.#running.size > 0 ? undefined : cost) : [];
      if (this.#running.size > 0) {
        if (isBilled && isReported) yield usage;
        yield setImmediate();
      } else {
        if (failure) yield [...usage, { type: 'failure', failure }];
        else yield* this.#slices(usage);
        return null;
      }
    }
  }

  /** Returns a batch that has ended, with its failure. */
  *#nextEnd(): Generator<Promise<void>, readonly [BatchCall, ProviderFailure | null]> {
    for (;;) {
      const waits: Promise<void>[] = [];
      for (const one of this.#running) {
        const end = one.read();
        if (!(end instanceof Promise)) return [one, end];
        waits.push(end);
      }
      yield waits.length === 1 ? waits[0]! : Promise.race(waits);
    }
  }

  /**
   * Returns the whole answer. The first part of the answer repeats the usage, so that a reader who disconnects during the vectors has the
   * usage.
   */
  #slices(usage: readonly StreamPart[]): readonly (readonly StreamPart[])[] {
    const vectors = this.#begun.flatMap((one) => one.vectors);
    const parts = vectors.map((vector, index) => ({ type: 'embedding', choice: 0, index, vector }) as const);
    const atOnce = Math.max(1, Math.floor(NUMBERS_AT_ONCE / this.#dimensions));
    const slices: StreamPart[][] = [];
    for (let at = 0; at < parts.length; at += atOnce) slices.push(parts.slice(at, at + atOnce));
    slices[0]!.unshift(...usage);
    slices.at(-1)!.push({ type: 'finish', choice: 0, reason: 'stop', raw: 'stop' }, ...usage);
    return slices;
  }

  /**
   * @param tokens of the finished batches, as the provider reported them or as Signalbox counted them
   * @param cost that the provider states for all batches, in USD; undefined if it does not state the cost of each
   */
  #usage(tokens: number, cost: string | undefined): readonly StreamPart[] {
    const expected = [...this.#running].reduce((sum, one) => sum + one.expected, 0);
    return [{ type: 'usage', usage: plainUsage(tokens + expected, 0), cost }];
  }
}

/** The call for one batch of inputs, with its answer. */
class BatchCall {
  readonly call: UpstreamCall;
  readonly vectors: (readonly number[])[] = [];
  /** The input tokens that the provider reported; null if it reported none, or an impossible number. */
  tokens: number | null = null;
  /** The cost that the provider stated, in USD; undefined if it stated none. */
  cost: string | undefined = undefined;
  readonly #inputs: Batch;
  readonly #dimensions: number;
  #taken = 0;
  /** The promise to wait for while no data of the batch has arrived. */
  #wait: Promise<void> | null = null;

  constructor(inputs: Batch, dimensions: number, call: UpstreamCall) {
    this.call = call;
    this.#inputs = inputs;
    this.#dimensions = dimensions;
  }

  /**
   * Reads the data that has arrived. Returns the failure that ended the batch, null if the batch ended well, or a promise if the batch is
   * not over.
   */
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

  /** Adds parts of the answer. Returns the failure that ends the batch, if any. */
  #add(parts: readonly StreamPart[]): ProviderFailure | null {
    for (const part of parts) {
      if (part.type === 'failure') return part.failure;
      if (part.type === 'usage') {
        this.cost = part.cost;
        if (part.usage && isPlausible(part.usage) && part.usage.inputTokens > 0) this.tokens = part.usage.inputTokens;
      }
      if (part.type !== 'embedding') continue;
      const fault = this.#take(part.index, part.vector);
      if (fault) return fault;
    }
    return null;
  }

  /** Returns the failure of an answer that has ended; null if the answer is complete. */
  #fault(): ProviderFailure | null {
    const missing = this.#inputs.length - this.#taken;
    return missing === 0 ? null : malformed(`the answer lacks ${missing} of ${this.#inputs.length} vectors`);
  }

  #take(index: number, vector: readonly number[]): ProviderFailure | null {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#inputs.length))
      return malformed('the answer has a vector for a text that was not requested');
    if (this.vectors[index]) return malformed('the answer has two vectors for the same text');
    if (vector.length !== this.#dimensions)
      return malformed(`a vector has ${vector.length} numbers instead of ${this.#dimensions}`);
    if (!vector.every(Number.isFinite)) return malformed('a vector has a value that is not a number');
    this.vectors[index] = vector;
    this.#taken++;
    return null;
  }
}

const malformed = (message: string): ProviderFailure => ({ kind: 'malformed', message });
