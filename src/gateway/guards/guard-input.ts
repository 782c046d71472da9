import type { GuardMatch, GuardWindow } from '../../contract/guard.ts';
import type { Awaitable } from '../../core/awaitable.ts';
import type { Edit, OriginalPath } from '../../core/json/original.ts';
import type { GuardWindowKind } from '../../core/policy/guards.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { type Timers, within } from '../../core/time/timers.ts';
import { callerGone } from '../exchange/failure.ts';
import { blockedRequest, guardFailed, unreadableRequest } from './guard-errors.ts';
import type { GuardModels } from './guard-model.ts';
import { callGuard, GuardFailure, type RunningGuard } from './guard-runtime.ts';
import { OpenService } from './guard-service.ts';
import type { KeptMatches } from './kept-matches.ts';
import { type Placeholders, withoutPlaceholders } from './placeholders.ts';
import { editsOf, type RequestTexts, textsOfRequest } from './request-texts.ts';
import type { RequestText } from './text-walk.ts';
import type { Verdicts } from './verdicts.ts';

/** A match in the texts of a request; `text` is null for a match that is about a whole window. */
interface FoundMatch {
  readonly match: GuardMatch;
  readonly text: RequestText | null;
  /** The location of the match, or of the first text of its window. */
  readonly at: OriginalPath;
}

/** The most rounds of masking. Each replacement can reveal another match; a text that needs this many rounds was constructed for it. */
const ROUNDS_MAX = 8;
/** The most calls of one guard that wait at the same time for one request, because a request can have thousands of messages. */
const WAITING_MAX = 8;

/** The matches that guards found in earlier turns of a conversation. */
export type EarlierMatches = Pick<KeptMatches, 'find' | 'keep' | 'knownEdits'>;

/** The data that the guards of one request share. */
export interface InputContext {
  readonly verdicts: Verdicts;
  readonly placeholders: Placeholders;
  readonly timers: Timers;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  /** The matches in a running conversation; null if every guard inspects every text. */
  readonly kept: EarlierMatches | null;
  /** Returns the signal that is aborted when the caller disconnects; undefined if the request continues without its caller. */
  signal(): AbortSignal | undefined;
  /** The models that guards call; absent if no guard may call one. */
  readonly models?: GuardModels | undefined;
  /** Called with the cause of a failure, for the log. */
  onFailure(guard: RunningGuard, cause: unknown): void;
}

/**
 * Runs guards on a request, one after the other. A later guard sees the request as the earlier guards left it. The result is a promise only
 * if a guard returns one.
 * @returns the request in the form in which models may receive it
 * @throws SignalboxError `content_blocked` or `guard_failed`, and the error of a caller that has disconnected while a guard waited
 */
export function guardInput(
  given: ModelRequest,
  guards: readonly RunningGuard[],
  context: InputContext,
): Awaitable<ModelRequest> {
  let guarded = new GuardedRequest(given, context.kept);
  for (let at = 0; at < guards.length; at++) {
    const guard = guards[at]!;
    const next = runGuard(guard, guarded.for(guard), context);
    if (next instanceof Promise) {
      const rest = guards.slice(at + 1);
      return next.then(({ request }) => guardInput(request, rest, context));
    }
    guarded = next;
  }
  return guarded.request;
}

/** A request with its texts, which are read once for all guards that change nothing. */
class GuardedRequest {
  readonly request: ModelRequest;
  readonly texts: RequestTexts;
  readonly #kept: EarlierMatches | null;
  readonly #windows = new Map<GuardWindowKind, readonly (readonly RequestText[])[]>();

  constructor(given: ModelRequest, kept: EarlierMatches | null) {
    this.#kept = kept;
    this.request = given;
    this.texts = textsOfRequest(given);
  }

  /** Returns the request for a guard, which sees one of two members with the same name. A guard that flags changes nothing. */
  for({ rule }: RunningGuard): GuardedRequest {
    const { rewrites } = this.texts;
    if (rewrites.length === 0 || rule.onMatch === 'flag') return this;
    return new GuardedRequest(edited(this.request, rewrites, this.#kept), this.#kept);
  }

  /** Returns the texts of each window of a kind. */
  windows(kind: GuardWindowKind): readonly (readonly RequestText[])[] {
    return this.#windows.getOrInsertComputed(kind, () => windowsOf(kind, this.texts));
  }

  with(changed: ReadonlyMap<RequestText, string>): GuardedRequest {
    return new GuardedRequest(edited(this.request, editsOf(this.request, changed), this.#kept), this.#kept);
  }
}

const edited = (request: ModelRequest, edits: readonly Edit[], kept: EarlierMatches | null): ModelRequest =>
  request.edit(kept ? kept.knownEdits(request, edits) : edits);

function runGuard(guard: RunningGuard, given: GuardedRequest, context: InputContext): Awaitable<GuardedRequest> {
  const { rule } = guard;
  const unreadable = rule.refuse.find((kind) => given.texts.unreadable.has(kind));
  if (unreadable) {
    context.verdicts.refuse(rule, unreadable);
    throw unreadableRequest(rule, unreadable);
  }
  const deadline = context.clock() + rule.deadlineMs;
  const failed = (cause: unknown): GuardedRequest => {
    if (!(cause instanceof GuardFailure)) throw cause;
    // A request without funds ends as such, whatever the policy says about failures of the guard.
    if (context.models?.unpaid) throw context.models.unpaid;
    context.verdicts.fail(rule, 'input');
    context.onFailure(guard, cause);
    if (rule.onFailure === 'block') throw guardFailed(rule, 'input', cause);
    return given;
  };
  try {
    const result = rounds(guard, given, deadline, context);
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (cause) {
    return failed(cause);
  }
}

/** Inspects the request until a round finds nothing. */
function rounds(
  guard: RunningGuard,
  given: GuardedRequest,
  deadline: number,
  context: InputContext,
  round = 0,
): Awaitable<GuardedRequest> {
  const found = inspect(guard, given, deadline, context);
  const act = (matches: readonly FoundMatch[]): Awaitable<GuardedRequest> => {
    if (matches.length === 0) return given;
    const masked = applied(guard, given, matches, round, context);
    return masked === given ? given : rounds(guard, masked, deadline, context, round + 1);
  };
  return found instanceof Promise ? found.then(act) : act(found);
}

/** Carries out the guard's action. @returns the same request for `flag` */
function applied(
  { rule }: RunningGuard,
  given: GuardedRequest,
  found: readonly FoundMatch[],
  round: number,
  { verdicts, placeholders }: InputContext,
): GuardedRequest {
  const matches = found.map(({ match }) => match);
  const fixed = found.find(({ text }) => text === null || text.isFixed);
  const isBlocked = rule.onMatch === 'block' || (rule.onMatch === 'mask' && (fixed || round >= ROUNDS_MAX));
  verdicts.add(rule, 'input', matches, isBlocked ? 'block' : rule.onMatch);
  if (isBlocked) throw blockedRequest(rule, matches, (fixed ?? found[0]!).at);
  if (rule.onMatch === 'flag') return given;
  const byText = Map.groupBy(found, ({ text }) => text!);
  const changed = new Map([...byText].map(([text, all]) => [text, masked(text.text, all, rule, placeholders)]));
  return given.with(changed);
}

/** Replaces the matches in a text. Matches that overlap have one placeholder. */
function masked(
  text: string,
  found: readonly FoundMatch[],
  { unmask }: RunningGuard['rule'],
  placeholders: Placeholders,
): string {
  const places = found.flatMap(({ match: { kind, at } }) => (at ? { kind, from: at.from, to: at.to } : []));
  let out = '';
  let last = 0;
  for (const { kind, from, to } of mergedPlaces(places)) {
    out += text.slice(last, from) + placeholders.of(kind, text.slice(from, to), unmask);
    last = to;
  }
  return out + text.slice(last);
}

/** A place in a text, with the kind of its match. */
export interface MatchPlace {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

/** Returns places in order, without overlap. Places that overlap become one, with the kind of the first. */
export function mergedPlaces(places: readonly MatchPlace[]): readonly MatchPlace[] {
  const merged: MatchPlace[] = [];
  for (const place of [...places].sort((a, b) => a.from - b.from || b.to - a.to)) {
    const last = merged.at(-1);
    if (last && place.from < last.to) merged[merged.length - 1] = { ...last, to: Math.max(last.to, place.to) };
    else merged.push(place);
  }
  return merged;
}

/** Calls the guard for each of its windows, except windows whose matches are kept. */
function inspect(
  guard: RunningGuard,
  given: GuardedRequest,
  deadline: number,
  { timers, clock, placeholders, kept, models, signal }: InputContext,
): Awaitable<readonly FoundMatch[]> {
  const found: FoundMatch[] = [];
  const msLeft = () => deadline - clock();
  const service = OpenService.of(guard, msLeft);
  const model = models?.open(guard, 'input', msLeft) ?? null;
  const windows = given.windows(guard.rule.window).values();
  let isOver = false;
  const note = (window: readonly RequestText[], matches: readonly GuardMatch[]): void => {
    for (const match of withoutPlaceholders(matches, window, placeholders)) {
      const text = match.at ? window[match.at.text]! : null;
      found.push({ match, text, at: (text ?? window[0]!).at });
    }
    if (clock() > deadline) throw late(guard);
  };
  /** Calls the guard for one window after the other. */
  const callNext = (): Awaitable<void> => {
    for (let next = windows.next(); !next.done && !isOver; next = windows.next()) {
      const window = next.value;
      const known = kept?.find(guard, window);
      const matches = known ?? callGuard(guard, asWindow(window), service, model);
      if (matches instanceof Promise)
        return matches.then((all) => {
          note(window, all);
          return callNext();
        });
      note(window, matches);
      if (!known) kept?.keep(guard, window, matches);
    }
  };
  const first = callNext();
  if (!(first instanceof Promise)) return found;
  const others = Array.from({ length: WAITING_MAX - 1 }, async () => callNext());
  const all = Promise.all([first, ...others]).then(() => found);
  const leaving = whileConnected(signal(), all);
  return within<readonly FoundMatch[] | null>(timers, Math.max(1, deadline - clock()), leaving, null)
    .then((result) => {
      if (result === null) throw late(guard);
      return result;
    })
    .finally(() => {
      isOver = true;
      service?.end();
      model?.end();
    });
}

/** Waits for `work`. @throws SignalboxError, by rejecting, as soon as the caller disconnects */
async function whileConnected<Result>(signal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  if (signal === undefined) return await work;
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(callerGone());
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

const late = ({ rule }: RunningGuard) => new GuardFailure(`it took more than ${rule.deadlineMs} ms`);

/** Returns the texts of a window as a guard sees them. A guard cannot reach the locations of the texts. */
const asWindow = (texts: readonly RequestText[]): GuardWindow => ({
  side: 'input',
  texts: texts.map(({ text, role, kind }) => ({ text, role, kind })),
});

function windowsOf(kind: GuardWindowKind, { texts, groups }: RequestTexts): readonly (readonly RequestText[])[] {
  if (texts.length === 0) return [];
  if (kind === 'all') return [texts];
  if (kind === 'message') return groups;
  const ofCalls = texts.filter(({ call }) => call !== null);
  return [...Map.groupBy(ofCalls, ({ call }) => call).values()];
}
