import type { PassedPart } from '../../contract/parts.ts';
import type { ApiError } from '../../core/api/error.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { isImpossible } from '../../core/money/usage.ts';
import { PassedItems } from './passed-items.ts';
import { usageBody } from './response.ts';
import { WHOLE_EVENTS, wholeResponse } from './whole-response.ts';

/** Receives one event: its type and the whole event as JSON. */
type EmitEvent = (type: string, json: string) => void;

const ENDS: ReadonlySet<unknown> = new Set([...WHOLE_EVENTS, 'response.failed', 'error']);

/**
 * Passes on the events of an answer as its provider sent them. `PassedResponse` holds the last event back until the price is known. If the
 * answer ends before the provider ended it, `PassedResponse` closes the open items. If guards read the texts of an answer, or change them,
 * the events that repeat the texts repeat the pieces that the caller got.
 */
export class PassedResponse {
  readonly #emit: EmitEvent;
  readonly #items: PassedItems;
  #response: Members = {};
  #end: Members | null = null;
  /** Whether the usage in the last event cannot be true. */
  #isMiscounted = false;
  #sequence = 0;
  /** Whether events repeat what the caller got, and not what the provider repeats. */
  #repeatsPieces = false;

  /** @param mayBeCut whether Signalbox may end or edit the answer; only then the texts of open items are kept */
  constructor(emit: EmitEvent, mayBeCut: boolean) {
    this.#emit = emit;
    this.#items = new PassedItems(mayBeCut);
  }

  /** Adds an event. `add` removes a usage that cannot be true from the event. */
  add({ event, json, usage, mayBeEdited }: PassedPart): void {
    if (mayBeEdited) this.#repeatsPieces = true;
    const told = this.#repeatsPieces ? this.#items.withRepeats(String(event.type), event) : event;
    this.#isMiscounted = isImpossible(usage);
    if (this.#isMiscounted) this.#take({ ...told, response: { ...Object(told.response), usage: null } });
    else this.#take(told, told === event ? json : undefined);
  }

  /** The complete response as the provider ended it; null before its end. */
  get whole(): Members | null {
    return this.#end && wholeResponse(this.#end);
  }

  /**
   * Adds the platform of a receipt to the complete response. If the provider's usage cannot be true, `priced` also adds the usage of the
   * receipt.
   */
  priced(whole: Members, { platform, usage }: Pick<Receipt, 'platform' | 'usage'>): Members {
    const own = this.#isMiscounted ? usageBody(usage) : completeUsage(whole.usage);
    return { ...whole, ...(isObject(own) && { usage: own }), platform };
  }

  /** @param json the event as its provider wrote it, on one line */
  #take(event: Members, json?: string): void {
    const type = String(event.type);
    if (ENDS.has(type)) {
      this.#end = event;
      return;
    }
    if (isObject(event.response)) this.#response = event.response;
    this.#items.note(type, event);
    const { sequence_number: sequence } = event;
    this.#sequence = typeof sequence === 'number' ? sequence + 1 : this.#sequence + 1;
    this.#emit(type, json ?? JSON.stringify(event));
  }

  /** Ends a successful answer. */
  end(receipt: Pick<Receipt, 'platform' | 'usage'>): void {
    const { whole } = this;
    if (whole) {
      const response = this.priced(whole, receipt);
      this.#emit(String(this.#end?.type), JSON.stringify({ ...this.#end, response }));
      return;
    }
    this.#items.cut((type, members) => this.#write(type, members));
    const reason = { reason: 'max_output_tokens' };
    const cut = {
      ...this.#response,
      status: 'incomplete',
      incomplete_details: reason,
      output: this.#items.done,
      platform: receipt.platform,
    };
    this.#write('response.incomplete', { response: cut });
  }

  /** Ends a failed answer. The response of a failed answer leaves out unfinished items. */
  fail(error: ApiError, platform: object | null): void {
    const { type: _, ...flat } = error;
    this.#write('error', { ...flat, error });
    const { code, message, details } = error;
    const failed = {
      ...this.#response,
      status: 'failed',
      error: { code, message, ...(details && { details }) },
      output: this.#items.done,
    };
    this.#write('response.failed', { response: { ...failed, ...(platform && { platform }) } });
  }

  #write(type: string, members: Members): void {
    this.#emit(type, JSON.stringify({ type, sequence_number: this.#sequence++, ...members }));
  }
}

/** Adds the token count that strict clients require if the provider does not report it. */
function completeUsage(usage: unknown): unknown {
  if (!isObject(usage)) return usage;
  const details = isObject(usage.input_tokens_details) ? usage.input_tokens_details : { cached_tokens: 0 };
  if (details.cache_write_tokens !== undefined) return usage;
  return { ...usage, input_tokens_details: { ...details, cache_write_tokens: 0 } };
}
