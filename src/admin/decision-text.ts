import type { DecisionRecord } from '../core/decision/record.ts';
import { textsOf } from '../core/decision/sentence.ts';
import { plural } from '../core/text/text.ts';
import { briefStory } from '../gateway/request/record-story.ts';

/** The members of a found request in JSON that `decisions show` prints. */
export interface PrintedRequest {
  readonly id: string;
  readonly request_id: string | null;
  readonly time: string | null;
  readonly key_id: string | null;
  readonly key_name: string | null;
  readonly team_id: string | null;
  readonly team_name: string | null;
  readonly user_id: string | null;
  readonly user_name: string | null;
  readonly named_model: string;
  readonly alias: string | null;
  readonly selector: string | null;
  readonly model: string;
  readonly provider: string | null;
  readonly status: string;
  readonly http_status: number | null;
  readonly error: string | null;
  readonly explanation: string | null;
  readonly refusal: { readonly method: string; readonly route: string; readonly answers: number } | null;
  readonly attempt_details: readonly PrintedAttempt[];
  readonly guards: readonly string[];
  readonly repeats: string | null;
  readonly cache: string | null;
  readonly credits_consumed: number | null;
  readonly charged_usd: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_ms: number | null;
}

interface PrintedAttempt {
  readonly model: string;
  readonly provider: string;
  readonly key: string | null;
  readonly ms: number;
  readonly failure: string | null;
  readonly status: number | null;
  readonly message: string | null;
  readonly spread: { readonly reason: string } | null;
}

/** `search (team_…)`; the ID alone if the name is unknown. */
const withId = (name: string | null, id: string | null): string | null =>
  name === null || name === '' || name === id ? id : id === null ? name : `${name} (${id})`;

/** Writes an attempt as a sentence without its figures. */
function attemptText({ model, provider, key, ms, failure, status, message, spread }: PrintedAttempt): string {
  const where = `${model} at ${provider}${key === null ? '' : ` with the key ${key}`}`;
  const reason = spread === null ? '' : ` ${spread.reason}`;
  if (failure === null) return `${where}: answered in ${ms.toLocaleString('en')} ms.${reason}`;
  const end = message === null ? '.' : `: ${message}`;
  return `${where}: ${failure}${status === null ? '' : ` (${status})`} after ${ms.toLocaleString('en')} ms${end}${reason}`;
}

const count = (number: number): string => number.toLocaleString('en', { maximumFractionDigits: 6 });

/**
 * Returns the lines that a person needs to understand a request: who sent it, what it named, what happened and why.
 * @param timeText writes a time
 */
export function requestLines(
  one: PrintedRequest,
  timeText: (time: string) => string,
): readonly (readonly [title: string, text: string | null])[] {
  const { id, request_id: request, refusal, alias, named_model: named, selector, model, provider } = one;
  const stands = alias === null ? '' : ` stands for ${selector === 'pinned' ? model : selector}`;
  const isCounted = refusal !== null && refusal.method === '';
  return [
    ['request', request ?? id],
    ['decision', id === request ? null : id],
    ['time', one.time && timeText(one.time)],
    ['key', withId(one.key_name, one.key_id) ?? '(unknown)'],
    ['team', withId(one.team_name, one.team_id)],
    ['user', withId(one.user_name, one.user_id)],
    ['named model', named === '' || alias !== null ? null : named],
    ['alias', alias && `${alias}${stands}`],
    ['model', refusal === null && model !== '' ? `${model}${provider === null ? '' : ` at ${provider}`}` : null],
    ['status', [one.status, one.http_status && `HTTP ${one.http_status}`, one.error].filter(Boolean).join(', ')],
    ['reason', one.explanation],
    ['details', refusal === null && selector !== null ? `\`policy explain --decision ${id}\`` : null],
    ['path', refusal && !isCounted ? `${refusal.method} ${refusal.route}` : null],
    ['counted', isCounted ? `${plural(refusal.answers, 'answer')} like this in that minute` : null],
    ...one.attempt_details.map((attempt) => ['attempt', attemptText(attempt)] as const),
    ...one.guards.map((sentence) => ['guard', sentence] as const),
    ['cache', one.repeats === null ? one.cache : `the answer of ${one.repeats}, from the cache`],
    ['tokens', one.input_tokens && `${count(one.input_tokens)} in, ${count(one.output_tokens ?? 0)} out`],
    ['charged', one.credits_consumed === null ? null : chargedText(one.credits_consumed, one.charged_usd)],
    ['duration', one.total_ms === null ? null : `${count(one.total_ms)} ms`],
  ].map(([title, text]) => [`${title}`, text ? `${text}` : null] as const);
}

const chargedText = (credits: number, usd: string | null): string =>
  `${count(credits)} Credits${usd === null ? '' : ` ($${usd})`}`;

/** The members of a found request that name its model. */
interface FoundModel {
  /** Null for a decision. */
  readonly refused: { readonly message: string | null } | null;
  readonly model: string;
  readonly selector: string | null;
  /** The named model that was left out; null for none. */
  readonly insteadOf: { readonly model: string } | null;
}

/** Returns what a request named as `model`, and why it was refused or failed, or why its model was chosen. */
export function explained({ refused, model, selector, insteadOf }: FoundModel, record: DecisionRecord | null) {
  if (refused) return { named: model, explanation: refused.message };
  const pinned = insteadOf?.model ?? record?.outcome?.attempts[0]?.model ?? model;
  const named = record?.facts.alias ?? (selector === null || selector === 'pinned' ? pinned : selector);
  return { named, explanation: record && textsOf(briefStory(record)).join(' ') };
}
