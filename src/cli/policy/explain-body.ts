import type { Caller } from '../../core/caller.ts';
import type { ChatMessage } from '../../core/chat-request.ts';
import type { Facts } from '../../core/facts.ts';
import { isObject } from '../../core/object.ts';
import { chatOf } from '../../core/route-query.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { UsageError } from '../../core/usage-error.ts';
import { screen } from '../../gateway/screen.ts';
import { routeFacts } from '../../routing/facts.ts';
import type { ProfileInput } from '../../routing/profile/input.ts';
import { questionOf } from '../../routing/texts.ts';
import { pairsOf } from '../keys/terms.ts';
import type { HttpForms } from './command.ts';

/** Flags that stand for fields of a body. */
export interface BodyFlags {
  readonly model?: string | undefined;
  readonly task?: string | undefined;
  readonly 'input-tokens'?: string | undefined;
  readonly 'output-tokens'?: string | undefined;
  readonly message?: string | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly 'cost-weight'?: string | undefined;
  readonly 'quality-weight'?: string | undefined;
}

type Body = Readonly<Record<string, unknown>>;

/** A request's body: that of a file with what flags say instead. Throws UsageError. */
export function bodyOf(flags: BodyFlags, file: unknown): Body {
  if (!isObject(file)) throw new UsageError('A request is a JSON object.');
  const said = {
    task_type: flags.task,
    estimated_input_tokens: numberOf('--input-tokens', flags['input-tokens']),
    estimated_output_tokens: numberOf('--output-tokens', flags['output-tokens']),
    messages: flags.message === undefined ? undefined : [{ role: 'user', content: flags.message }],
    metadata: merged(file.metadata, pairsOf(flags.metadata ?? [], pairOf)),
    route_strategy: merged(
      file.route_strategy,
      stated({
        cost_weight: numberOf('--cost-weight', flags['cost-weight']),
        quality_weight: numberOf('--quality-weight', flags['quality-weight']),
      }),
    ),
  };
  return { ...file, model: flags.model ?? file.model ?? 'auto', ...stated(said) };
}

/** A request as its schema has it. */
export interface Read {
  /** Its facts, for who asks. Throws SignalboxError. */
  read(caller: Caller): Facts;
  /** The task type that a route query states. */
  readonly task: string | undefined;
  /** The conversation that the facts tell the size of; empty where a figure was stated instead. */
  readonly messages: readonly ChatMessage[];
  /** What its task is read from; null where the caller names the task, or nothing is said. */
  readonly profiled: ProfileInput | null;
  /** What its user asks; null where nobody says. */
  readonly question: string | null;
  readonly stream: boolean;
  readonly user: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Checks a body as `POST /v1/route` does: with messages it is a chat request. Throws SignalboxError. */
export function readerOf(body: Body, snapshot: PolicySnapshot, { readRoute }: HttpForms): Read {
  const route = readRoute(body);
  const chat = chatOf(route);
  if (chat) screen(chat, snapshot.gateway);
  const messages = chat?.messages ?? [];
  return {
    task: route.task_type,
    read: (caller) => routeFacts(route, caller, snapshot),
    messages: route.estimated_input_tokens === undefined ? messages : [],
    profiled: chat && route.task_type === undefined ? chat : null,
    question: questionOf(messages),
    stream: chat?.stream ?? false,
    user: route.user ?? '',
    metadata: route.metadata ?? {},
  };
}

/** Without the fields that nobody stated. */
const stated = (fields: Body): Body =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A field of the file with what flags say of it; undefined where they say nothing. */
function merged(field: unknown, more: Body): Body | undefined {
  if (Object.keys(more).length === 0) return undefined;
  return { ...(isObject(field) && field), ...more };
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${flag} takes a number, not "${text}".`);
  return value;
}

/** Milliseconds since 1970. Throws UsageError that says what was written so. */
export function momentOf(what: string, text: string): number {
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    throw new UsageError(`${what} is written 2026-11-20T08:00:00Z, with its offset, not "${text}".`);
  }
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--metadata is written name=value, not "${text}".`);
  return [text.slice(0, at), text.slice(at + 1)];
}
