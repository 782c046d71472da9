import type { StreamPart } from '../../contract/parts.ts';
import { separateParts } from '../../contract/text-run.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { RunningAnswer } from './answer-source.ts';

const NO_PARTS: readonly StreamPart[] = [];

/**
 * An answer that a step reads before its caller does. A guard on answers extends this class with `see`, which edits the parts with
 * `withTexts`, or blocks the answer.
 */
export abstract class WrappedAnswer implements RunningAnswer {
  readonly #source: RunningAnswer;
  #blocked: SignalboxError | null = null;
  #hasEnded = false;
  /** The parts for which the reader waited; null for none. */
  #ready: readonly StreamPart[] | null = null;

  constructor(source: RunningAnswer) {
    this.#source = source;
  }

  protected get source(): RunningAnswer {
    return this.#source;
  }

  /** Returns the parts that the caller gets in place of these parts. The promise never rejects. */
  protected abstract see(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]>;

  /** Returns the parts that were held back, once the source has sent its last part. The promise never rejects. */
  protected end(): Awaitable<readonly StreamPart[]> {
    return NO_PARTS;
  }

  /**
   * Ends the answer with an error in place of the current parts. The caller keeps the parts of earlier batches if it reads a stream, and is
   * charged for what the model wrote.
   */
  protected block(error: SignalboxError): void {
    this.#blocked ??= error;
    this.endWith(error);
  }

  /** A step that may end or edit the answer leaves this as it is. */
  get mayBeCut(): boolean {
    return true;
  }
  get decision(): number {
    return this.#source.decision;
  }
  get created(): number {
    return this.#source.created;
  }
  get model(): string {
    return this.#source.model;
  }
  get inputTokens(): number {
    return this.#source.inputTokens ?? 0;
  }
  get dropped(): readonly string[] {
    return this.#source.dropped ?? [];
  }
  get receipt(): Receipt | null {
    return this.#source.receipt;
  }
  /** The end of the source may precede the batch that is blocked. */
  get error(): SignalboxError | null {
    return this.#blocked ?? this.#source.error;
  }
  get funded(): RunningAnswer['funded'] {
    return this.#source.funded;
  }
  get policy(): GatewayPolicy {
    return this.#source.policy;
  }
  get isDeserted(): boolean {
    return this.#source.isDeserted;
  }

  open(): Promise<void> {
    return this.#source.open();
  }

  read(): NextParts {
    const ready = this.#ready;
    if (ready) {
      this.#ready = null;
      return this.#blocked ? [] : ready;
    }
    const parts = this.#source.read();
    if (parts instanceof Promise) return parts;
    if (parts === null) return this.#rest();
    if (this.#blocked) return [];
    const seen = whenReady(this.see(separateParts(parts)), (shown) => this.#withEnd(shown));
    return this.#passed(seen);
  }

  /** Adds the parts that were held back if the source has just sent its last part, so that a guard reads them before the settlement. */
  #withEnd(shown: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    if (this.#blocked || this.#hasEnded || this.#source.error === null) return shown;
    this.#hasEnded = true;
    return whenReady(this.end(), (rest) => [...shown, ...rest]);
  }

  #rest(): NextParts {
    if (this.#hasEnded || this.#blocked) return null;
    this.#hasEnded = true;
    const rest = this.end();
    if (rest instanceof Promise) return this.#passed(rest);
    return rest.length === 0 || this.#blocked ? null : rest;
  }

  #passed(parts: Awaitable<readonly StreamPart[]>): NextParts {
    if (!(parts instanceof Promise)) return this.#blocked ? [] : parts;
    return parts.then((shown) => {
      this.#ready = shown;
    });
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    this.#source.abandon(reason);
  }

  endWith(error: SignalboxError): void {
    if (this.#source.endWith) this.#source.endWith(error);
    else this.#source.abandon(error);
  }

  pause(isPaused: boolean): void {
    this.#source.pause?.(isPaused);
  }
}
