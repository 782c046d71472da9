import type { StreamPart } from '../../src/contract/parts.ts';
import type { Receipt } from '../../src/core/decision/answer.ts';
import type { SignalboxError } from '../../src/core/errors.ts';
import type { AnswerSource } from '../../src/gateway/exchange/answer-source.ts';
import type { NextParts } from '../../src/providers/upstream-call.ts';
import { RECEIPT } from './caller-message.ts';

export interface Script {
  readonly batches?: readonly (readonly StreamPart[])[];
  /** Resolves when the first content is available; absent: at once. */
  readonly opened?: Promise<void>;
  /** Whether nothing follows the batches, not even an end. */
  readonly isQuiet?: boolean;
  /** The error at the end; without batches it comes before the first content. */
  readonly error?: SignalboxError;
}

/** An answer with a fixed script, without a model or money. */
export class ScriptedAnswer implements AnswerSource {
  readonly decision = 1;
  readonly created = 1_790_000_000;
  readonly model = 'm';
  receipt: Receipt | null = null;
  error: SignalboxError | null = null;
  /** The reason of the first `abandon` before the end; null if there was none. */
  abandoned: SignalboxError | 'caller-gone' | null = null;
  readonly #script: Script;
  #read = 0;

  constructor(script: Script) {
    this.#script = script;
  }

  async open(): Promise<void> {
    const { opened, batches = [], error } = this.#script;
    await opened;
    if (error && batches.length === 0) throw this.#end(error);
  }

  read(): NextParts {
    const batch = this.#script.batches?.[this.#read++];
    if (batch && !this.receipt) return batch;
    if (this.#script.isQuiet && !this.receipt) return new Promise(() => {});
    this.#end(this.#script.error ?? null);
    return null;
  }

  abandon(reason: SignalboxError | 'caller-gone'): void {
    if (this.receipt) return;
    this.abandoned = reason;
    this.#end(null);
  }

  #end(error: SignalboxError | null): SignalboxError | null {
    if (this.receipt) return this.error;
    this.receipt = RECEIPT;
    this.error = error;
    return error;
  }
}
