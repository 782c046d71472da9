import type { GuardMatch, GuardWindow } from '../../contract/guard.ts';
import { MATCHES_MAX } from '../../contract/guard-matches.ts';
import { lengthOf, TooLongForGuard } from '../../contract/guard-steps.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { Edit, OriginalPath } from '../../core/json/original.ts';
import type { GuardWindowKind } from '../../core/policy/guard-texts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { type Timers, within } from '../../core/time/timers.ts';
import { TURN_MS, type WorkTurns } from '../../host/turns.ts';
import { callerGone } from '../exchange/failure.ts';
import { blockedRequest, guardFailed, unreadableRequest } from './guard-errors.ts';
import type { GuardModels } from './guard-model.ts';
import { callGuard, GuardFailure, type GuardWork, MATCHES_AT_ONCE, type RunningGuard } from './guard-runtime.ts';
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
  readonly turns: WorkTurns;
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
 * if a guard returns one, or if the texts are so long that the guards take several turns of the event loop.
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

const NO_TEXTS: RequestTexts = { texts: [], groups: [], unreadable: new Set(), rewrites: [] };

/** A request with its texts, which are read once for all guards that change nothing. */
class GuardedRequest {
  readonly request: ModelRequest;
  readonly texts: RequestTexts;
  /** Why its texts could not be read, so that every guard fails; null if they could. */
  readonly fault: TooLongForGuard | null = null;
  readonly #kept: EarlierMatches | null;
  readonly #windows = new Map<GuardWindowKind, readonly (readonly RequestText[])[]>();

  constructor(given: ModelRequest, kept: EarlierMatches | null) {
    this.#kept = kept;
    this.request = given;
    try {
      this.texts = textsOfRequest(given);
    } catch (cause) {
      if (!(cause instanceof TooLongForGuard)) throw cause;
      this.texts = NO_TEXTS;
      this.fault = cause;
    }
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

  /** The characters of all texts. */
  get length(): number {
    return lengthOf(this.texts.texts);
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
    context.verdicts.fail(rule, 'input', cause);
    context.onFailure(guard, cause);
    if (rule.onFailure === 'block') throw guardFailed(rule, 'input', cause);
    return given;
  };
  if (given.fault) return failed(new GuardFailure(given.fault.message, true));
  try {
    const inspected = (result: GuardedRequest): GuardedRequest => {
      context.verdicts.inspected(rule);
      return result;
    };
    const result = rounds(guard, given, deadline, context);
    return result instanceof Promise ? result.then(inspected).catch(failed) : inspected(result);
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
  const { turns, clock } = context;
  const check = () => {
    if (clock() > deadline) throw late(guard);
  };
  return whenReady(inspect(guard, given, deadline, context), (matches) => {
    if (matches.length === 0) return given;
    const steps = applied(guard, given, matches, round, context);
    return whenReady(turns.run(steps, given.length, clock, check), (masked) =>
      masked === given ? given : rounds(guard, masked, deadline, context, round + 1),
    );
  });
}

/** Carries out the guard's action, in steps. @returns the same request for `flag` */
function* applied(
  { rule }: RunningGuard,
  given: GuardedRequest,
  found: readonly FoundMatch[],
  round: number,
  { verdicts, placeholders }: InputContext,
): Generator<void, GuardedRequest> {
  const matches = found.map(({ match }) => match);
  const fixed = found.find(({ text }) => text === null || text.isFixed);
  const isBlocked =
    rule.onMatch === 'block' ||
    (rule.onMatch === 'mask' && (fixed || round >= ROUNDS_MAX || found.length === MATCHES_MAX));
  yield;
  verdicts.add(rule, 'input', matches, isBlocked ? 'block' : rule.onMatch);
  if (isBlocked) throw blockedRequest(rule, matches, (fixed ?? found[0]!).at);
  if (rule.onMatch === 'flag') return given;
  yield;
  const places = new Map<RequestText, MatchPlace[]>();
  for (let at = 0; at < found.length; at++) {
    const { match, text } = found[at]!;
    if (match.at && text) places.getOrInsertComputed(text, () => []).push({ kind: match.kind, ...match.at });
    if (at % MATCHES_AT_ONCE === 0) yield;
  }
  const changed = new Map<RequestText, string>();
  const textFor = (kind: string, value: string) => placeholders.of(kind, value, rule.unmask);
  for (const [text, all] of places) changed.set(text, yield* replaced(text.text, all, textFor));
  return given.with(changed);
}

/**
 * Replaces places in a text, in steps. Places that overlap become one, with the kind of the first.
 * @param textFor returns the new text of a place
 */
export function* replaced(
  text: string,
  places: readonly MatchPlace[],
  textFor: (kind: string, value: string) => string,
): Generator<void, string> {
  const parts: string[] = [];
  let last = 0;
  let count = 0;
  const merged = mergedPlaces(places);
  yield;
  for (const { kind, from, to } of merged) {
    parts.push(text.slice(last, from), textFor(kind, text.slice(from, to)));
    last = to;
    if (++count % REPLACED_AT_ONCE === 0) yield;
  }
  parts.push(text.slice(last));
  return parts.join('');
}

/** Places that are replaced in one step. Each takes some microseconds. */
const REPLACED_AT_ONCE = 256;

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
  { timers, turns, clock, placeholders, kept, models, signal }: InputContext,
): Awaitable<readonly FoundMatch[]> {
  const found: FoundMatch[] = [];
  const msLeft = () => deadline - clock();
  const service = OpenService.of(guard, msLeft);
  const model = models?.open(guard, 'input', msLeft) ?? null;
  const windows = given.windows(guard.rule.window).values();
  let isOver = false;
  const work: GuardWork = {
    turns,
    clock,
    check() {
      if (isOver || clock() > deadline) throw late(guard);
    },
  };
  const add = (window: readonly RequestText[], matches: readonly GuardMatch[]): void => {
    for (const match of withoutPlaceholders(matches, window, placeholders)) {
      if (found.length === MATCHES_MAX) break;
      const text = match.at ? window[match.at.text]! : null;
      found.push({ match, text, at: (text ?? window[0]!).at });
    }
    work.check();
  };
  const note = (window: readonly RequestText[], matches: readonly GuardMatch[], isKnown = false): Awaitable<void> => {
    if (matches.length > MATCHES_AT_ONCE)
      return turns.run(
        inGroups(matches, (group) => add(window, group)),
        given.length,
        clock,
        work.check,
      );
    add(window, matches);
    if (!isKnown) kept?.keep(guard, window, matches);
  };
  /** Calls the guard for one window after the other. */
  const callNext = (): Awaitable<void> => {
    const until = clock() + TURN_MS;
    for (let next = windows.next(); !next.done && !isOver && found.length < MATCHES_MAX; next = windows.next()) {
      const window = next.value;
      const known = kept?.find(guard, window);
      const matches = known ?? callGuard(guard, asWindow(window), work, service, model);
      if (matches instanceof Promise) return matches.then((all) => whenReady(note(window, all), callNext));
      const noted = note(window, matches, known !== undefined);
      if (noted instanceof Promise) return noted.then(callNext);
      if (clock() > until) return whenReady(turns.next(given.length), callNext);
    }
  };
  const first = callNext();
  if (!(first instanceof Promise)) return found;
  // The matches of a pure guard are in the order of the texts.
  const others = Array.from({ length: guard.rule.isPure ? 0 : WAITING_MAX - 1 }, async () => callNext());
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

/** Handles matches in groups, one in each step. */
function* inGroups(matches: readonly GuardMatch[], handle: (group: readonly GuardMatch[]) => void): Generator<void> {
  for (let at = 0; at < matches.length; at += MATCHES_AT_ONCE) {
    handle(matches.slice(at, at + MATCHES_AT_ONCE));
    yield;
  }
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
