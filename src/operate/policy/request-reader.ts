import type { Caller } from '../../core/caller.ts';
import type { Turn } from '../../core/conversation.ts';
import type { Facts } from '../../core/facts.ts';
import { isObject } from '../../core/object.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { UsageError } from '../../core/usage-error.ts';
import { screen } from '../../gateway/screen.ts';
import { routeFacts } from '../../routing/facts.ts';
import type { ProfileInput } from '../../routing/profile/input.ts';
import { questionOf } from '../../routing/texts.ts';
import { readRouteRequest } from '../../surface/openai-chat/reader.ts';
import type { RouteRequest } from '../../surface/openai-chat/route-query.ts';

/** The body of a request, not checked yet. */
export type Body = Readonly<Record<string, unknown>>;

/** Takes a value as the body of a request. The default model is `auto`. Throws UsageError for anything but an object. */
export function bodyOf(value: unknown): Body {
  if (!isObject(value)) throw new UsageError('A request is a JSON object.');
  return { ...value, model: value.model ?? 'auto' };
}

/** A checked request. */
export interface BodyReader {
  /** Returns its facts for a caller. Throws SignalboxError. */
  read(caller: Caller): Facts;
  /** The task type that a route query states. */
  readonly task: string | undefined;
  /** The conversation; empty where its size is stated instead. */
  readonly turns: readonly Turn[];
  /** The content that its task is read from; null where the caller names the task, or without messages. */
  readonly profiled: ProfileInput | null;
  /** The user's last question; null without one. */
  readonly question: string | null;
  readonly stream: boolean;
  readonly user: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Checks a body as `POST /v1/route` does, once its form was checked. Throws SignalboxError. */
export function readerOf(body: RouteRequest, snapshot: PolicySnapshot): BodyReader {
  const request = readRouteRequest(body);
  screen(request, snapshot.gateway);
  const { routing, settings, stream } = request;
  const { turns } = request.conversation;
  return {
    task: routing.task,
    read: (caller) => routeFacts(request, caller, snapshot),
    turns: routing.inputTokens === undefined ? turns : [],
    profiled: turns.length > 0 && routing.task === undefined ? request : null,
    question: questionOf(turns),
    stream,
    user: settings.user ?? '',
    metadata: routing.metadata ?? {},
  };
}

/**
 * Reads a time as ms since 1970.
 * @param name the flag or field, for the message of the UsageError that it throws.
 */
export function momentOf(name: string, text: string): number {
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    throw new UsageError(`${name} is written 2026-11-20T08:00:00Z, with its offset, not "${text}".`);
  }
}
