import type { PassedPart, StreamPart } from '../../contract/parts.ts';
import { errorBody } from '../../core/api/error.ts';
import type { AnswerIdentity, Receipt } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { serverSentEvent, serverSentEvents } from '../server-sent-events.ts';
import type { AnswerWriter, EventForm, EventWriter } from '../surface.ts';
import { OutputItems } from './output.ts';
import { PassedResponse } from './passed-response.ts';
import type { ResponsesRequest } from './request.ts';
import { completedAt, IN_PROGRESS, type ResponseState, ResponseText, usageBody } from './response.ts';
import { type CalledTool, toolTable } from './tools.ts';
import { WHOLE_EVENTS } from './whole-response.ts';

/** Returns the state of a response at its end. */
function endOf(identity: AnswerIdentity, receipt: Receipt, items: OutputItems): ResponseState {
  const reason = INCOMPLETE.get(items.finish) ?? null;
  return {
    status: reason === null ? 'completed' : 'incomplete',
    completedAt: reason === null ? completedAt(identity, receipt) : null,
    incompleteReason: reason,
    error: null,
    output: items.text,
    usage: usageBody(receipt.usage),
    platform: receipt.platform,
  };
}

/** The finish reasons of incomplete answers. */
const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

const NONE: ReadonlyMap<string, CalledTool> = new Map();

/** Returns the tools whose neutral name differs from the caller's name. */
function calledIn({ tools = [] }: ResponsesRequest): ReadonlyMap<string, CalledTool> {
  return tools.every(({ type }) => type === 'function') ? NONE : toolTable(tools).called;
}

/** Combines the parts of an answer into one `response`. */
export class ResponseWriter implements AnswerWriter {
  /** The answer as its provider sent it; null if Signalbox translates the answer. */
  #passed: PassedResponse | null = null;
  readonly #identity: AnswerIdentity;
  readonly #response: ResponseText;
  readonly #items: OutputItems;

  constructor(identity: AnswerIdentity, request: ResponsesRequest) {
    this.#identity = identity;
    this.#response = new ResponseText(identity, request);
    this.#items = new OutputItems(
      identity.decision,
      () => calledIn(request),
      () => {},
    );
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      if (part.type !== 'passthrough') continue;
      this.#passed ??= new PassedResponse(() => {}, this.#identity.mayBeCut ?? true);
      this.#passed.add(asEvent(part));
    }
    if (!this.#passed?.whole) this.#items.take(parts);
    return '';
  }

  end(receipt: Receipt): string {
    const whole = this.#passed?.whole;
    if (whole) return JSON.stringify(this.#passed?.priced(whole, receipt));
    this.#items.end();
    return this.#response.of(endOf(this.#identity, receipt, this.#items));
  }
}

/** Converts a body to the last event of a stream, which contains the same response. */
const asEvent = (part: PassedPart): PassedPart =>
  part.event.object === 'response' ? { ...part, event: { type: WHOLE_EVENTS[0], response: part.event } } : part;

/** Converts the parts of an answer to events. The last event of the stream contains `platform`. */
class ResponseEventWriter implements EventWriter {
  readonly #identity: AnswerIdentity;
  readonly #response: ResponseText;
  readonly #items: OutputItems;
  /** The events of an answer that is passed on unchanged; null if Signalbox translates the answer. */
  #passed: PassedResponse | null = null;
  #sequence = 0;
  #text = '';

  constructor(identity: AnswerIdentity, request: ResponsesRequest) {
    this.#identity = identity;
    this.#response = new ResponseText(identity, request);
    this.#items = new OutputItems(
      identity.decision,
      () => calledIn(request),
      (type, members) => this.#emit(type, members),
    );
  }

  write(parts: readonly StreamPart[]): string {
    for (const part of parts) {
      // If the provider sends one body instead of a stream, the writer makes the events from the parts of that body.
      if (part.type !== 'passthrough' || part.event.object === 'response') continue;
      this.#passed ??= new PassedResponse((type, json) => this.#add(type, json), this.#identity.mayBeCut ?? true);
      this.#passed.add(part);
    }
    if (!this.#passed && parts.length > 0) {
      this.#begin();
      this.#items.take(parts);
    }
    return this.#taken();
  }

  end(receipt: Receipt): string {
    if (this.#passed) {
      this.#passed.end(receipt);
      return this.#taken();
    }
    this.#begin();
    this.#items.end();
    const state = endOf(this.#identity, receipt, this.#items);
    this.#emit(`response.${state.status}`, `"response":${this.#response.of(state)}`);
    return this.#taken();
  }

  /**
   * Returns an `error` event for clients that raise it, and the end as `response.failed`. The response of a failed answer leaves out
   * unfinished items.
   */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string {
    const told = errorBody(error).error;
    if (this.#passed) {
      this.#passed.fail(told, platform);
      return this.#taken();
    }
    this.#begin();
    // OpenAI's own clients read the members of the error event; clients of Open Responses read the object in it.
    const { type: _, ...members } = told;
    this.#emit('error', JSON.stringify({ ...members, error: told }).slice(1, -1));
    const { code, message, details } = told;
    const state: ResponseState = {
      ...IN_PROGRESS,
      status: 'failed',
      error: { code, message, ...(details && { details }) },
      output: this.#items.text,
      platform,
    };
    this.#emit('response.failed', `"response":${this.#response.of(state)}`);
    return this.#taken();
  }

  #begin(): void {
    if (this.#sequence > 0) return;
    const response = `"response":${this.#response.of(IN_PROGRESS)}`;
    this.#emit('response.created', response);
    this.#emit('response.in_progress', response);
  }

  #emit(type: string, members: string): void {
    this.#add(type, `{"type":"${type}","sequence_number":${this.#sequence++},${members}}`);
  }

  #add(type: string, json: string): void {
    this.#text += serverSentEvent(type, json);
  }

  #taken(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

export const eventsFor = (request: ResponsesRequest): EventForm =>
  serverSentEvents((identity) => new ResponseEventWriter(identity, request));
