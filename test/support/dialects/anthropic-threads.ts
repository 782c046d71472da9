import { isObject, type Json, listOf, textOf } from '../../../plugins/providers/json.ts';
import { Refusal, type WireRequest } from './dialect.ts';

/**
 * Threads as the beta `message-threads-2026-08-12` defines them. Sources: `BetaThreadCreateParams`, `BetaThreadContinueParams` and the
 * error classes of threads in resources/messages/messages.d.ts, their statuses in core/error-classes.mjs, and the fields that
 * lib/internal/threads/ThreadState.mjs omits from a turn that continues a thread.
 */
interface Kept {
  /** The complete answered request, with the answer appended. */
  readonly body: Json;
  isContinued: boolean;
}

const kept = new Map<string, Kept>();

/** Fields that only the request that creates a thread may set. */
const OF_CREATION = ['system', 'tools'] as const;

function refuse(status: number, code: string, message: string): never {
  throw new Refusal(message, { status, body: { message, details: { error_code: code } } });
}

const continuedBy = ({ body: { thread } }: WireRequest): string | null =>
  isObject(thread) && thread.type === 'continue' ? textOf(thread.previous_message_id) : null;

/** @throws Refusal if the thread cannot be continued */
export function checkThread(request: WireRequest): void {
  const id = continuedBy(request);
  if (id === null) return;
  const { body } = request;
  const thread = kept.get(id);
  if (!thread) refuse(404, 'thread_not_found', `No usable thread state was found for ${id}.`);
  if (thread.isContinued) refuse(400, 'thread_already_continued', `${id} has already been continued.`);
  const changed = ['model', ...OF_CREATION].find(
    (name) => body[name] !== undefined && body[name] !== thread.body[name],
  );
  if (changed !== undefined) refuse(400, 'thread_fingerprint_mismatch', `${changed}: differs from that of the thread`);
}

/** Returns the request with the history that this fake stored for its thread. */
export function wholeRequest(request: WireRequest): WireRequest {
  const { body: before } = kept.get(continuedBy(request) ?? '') ?? {};
  if (!before) return request;
  const { body } = request;
  const created = Object.fromEntries(OF_CREATION.flatMap((name) => (name in before ? [[name, before[name]]] : [])));
  const whole = { ...body, ...created, messages: [...listOf(before.messages), ...listOf(body.messages)] };
  return { ...request, body: whole, text: JSON.stringify(whole) };
}

/** Stores the history up to an answer if the request asks for a thread. */
export function keepThread(request: WireRequest, id: string, content: readonly Json[]): void {
  if (!isObject(request.body.thread)) return;
  const before = kept.get(continuedBy(request) ?? '');
  if (before) before.isContinued = true;
  const { thread: _, ...body } = wholeRequest(request).body;
  kept.set(id, {
    body: { ...body, messages: [...listOf(body.messages), { role: 'assistant', content }] },
    isContinued: false,
  });
}

/** Forgets all threads, as a service does after some time. */
export const forgetThreads = (): void => kept.clear();
