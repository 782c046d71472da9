import { beyondLimits } from '../../core/json-limits.ts';
import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';
import { plainUsage } from '../../core/usage.ts';
import type { SocketDialogue, SocketTurn } from '../surface.ts';
import { readResponses } from './read-body.ts';
import { IN_PROGRESS, ResponseText, usageBody } from './response.ts';
import { WHOLE_EVENTS, wholeResponse } from './whole-response.ts';

/** Values of a conversation that is put together here. */
const VALUES_MAX = 200_000;

/** One answer of a connection, as texts: most are never looked at again. */
interface PastAnswer {
  readonly request: string;
  readonly end: string;
}

/**
 * The requests of one WebSocket. The connection remembers its last answer, so that the next request may go on from it by
 * `previous_response_id` with new items alone. Nothing outlives the connection.
 */
export class ResponsesDialogue implements SocketDialogue {
  #last: PastAnswer | null = null;
  #request = '';
  #warmUps = 0;

  read(frame: string, now: number): SocketTurn {
    this.#request = frame.includes('"previous_response_id"') ? this.#continued(frame) : frame;
    const warmUp = this.#request.includes('"generate"') ? this.#warmedUp(now) : null;
    return warmUp === null ? { body: this.#request } : { frames: warmUp };
  }

  /** Answers a request that asks for no answer: Codex announces its instructions and tools like that. Nothing is charged. */
  #warmedUp(now: number): readonly string[] | null {
    const request = parsed(this.#request);
    if (!isObject(request) || request.generate !== false) return null;
    const read = readResponses(request);
    const identity = { decision: ++this.#warmUps, created: now, model: read.model };
    const response = new ResponseText(identity, read);
    const end = { ...IN_PROGRESS, status: 'completed' as const, completedAt: now, usage: usageBody(plainUsage(0, 0)) };
    const frames = [
      `{"type":"response.created","sequence_number":0,"response":${response.of(IN_PROGRESS)}}`,
      `{"type":"response.completed","sequence_number":1,"response":${response.of(end)}}`,
    ];
    this.sent(frames[1]!);
    return frames;
  }

  sent(event: string): void {
    // A service may write its type anywhere in an event; a text may hold the same words.
    if (!WHOLE_EVENTS.some((type) => event.includes(`"${type}"`))) return;
    if (wholeResponse(Object(parsed(event)))) this.#last = { request: this.#request, end: event };
  }

  error(status: number, body: object): string {
    return JSON.stringify({ type: 'error', sequence_number: 0, status, ...body });
  }

  /** Puts the last conversation before the new items; the frame itself where it goes on from no answer known here. */
  #continued(frame: string): string {
    const request = parsed(frame);
    const last = this.#last;
    if (!last || !isObject(request) || typeof request.previous_response_id !== 'string') return frame;
    const response = wholeResponse(Object(parsed(last.end)));
    if (response?.id !== request.previous_response_id) return frame;
    const { input }: Members = Object(parsed(last.request));
    const { previous_response_id: _, ...rest } = request;
    return JSON.stringify({ ...rest, input: [...itemsOf(input), ...itemsOf(response.output), ...itemsOf(rest.input)] });
  }
}

function itemsOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ role: 'user', content: input }] : [];
}

function parsed(text: string): unknown {
  if (beyondLimits(text, VALUES_MAX) !== null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
