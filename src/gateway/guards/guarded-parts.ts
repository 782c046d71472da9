import type { GuardMatch, GuardText, GuardWindow } from '../../contract/guard.ts';
import { MATCHES_MAX } from '../../contract/guard-matches.ts';
import { lengthOf } from '../../contract/guard-steps.ts';
import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import type { GuardRule } from '../../core/policy/guards.ts';
import { SEARCH_STEP } from '../../core/text/search.ts';
import { type Timers, within } from '../../core/time/timers.ts';
import { TURN_MS, type WorkTurns } from '../../host/turns.ts';
import { withoutLogprobs } from '../exchange/edited-parts.ts';
import { type FormRequest, formTexts } from './answer-form.ts';
import {
  type AnswerText,
  changeTexts,
  dropRepeatedNames,
  editedText,
  isFixedText,
  textsOfChannel,
} from './answer-texts.ts';
import { type Channel, type ChannelType, firstEdit, RECENT } from './channel.ts';
import { blockedAnswer, guardFailed } from './guard-errors.ts';
import { type MatchPlace, mergedPlaces, replaced } from './guard-input.ts';
import type { GuardModels, OpenModel } from './guard-model.ts';
import { callGuard, GuardFailure, MATCHES_AT_ONCE, type RunningGuard } from './guard-runtime.ts';
import { OpenService } from './guard-service.ts';
import { AnswerBlocked, type EndedChoice, HeldParts, type HeldRoom } from './held-parts.ts';
import { type Placeholders, stepsWithoutPlaceholders, withoutPlaceholders } from './placeholders.ts';
import type { Verdicts } from './verdicts.ts';

export interface OutputContext {
  /** The request that is answered. */
  readonly request: FormRequest;
  readonly verdicts: Verdicts;
  readonly placeholders: Placeholders;
  readonly clock: () => number;
  readonly timers: Timers;
  readonly turns: WorkTurns;
  /** The models that guards call; absent if no guard may call one. */
  readonly models?: GuardModels | undefined;
  /** The memory for what is held back; absent if something else counts the whole answer. */
  readonly room?: HeldRoom | undefined;
  onFailure(guard: RunningGuard, cause: unknown): void;
}

/** Characters before the shown end that are inspected again, because they can decide what follows. */
const CONTEXT = 256;
/** So many characters arrive before the guards inspect a text again, so that small parts cost little. */
const STEP = 48;
/** The same for guards that flag, for which nothing waits. */
const FLAG_STEP = 4_096;
const ROUNDS_MAX = 8;

/** A match in a text of an answer, with its guard. */
interface AnswerMatch extends MatchPlace {
  readonly guard: RunningGuard;
  readonly match: GuardMatch;
}

/**
 * Runs guards on an answer that all see alike: guards that flag, or guards that block and then at most one that changes texts. A guard that
 * blocks or masks delays a stream by its `reach`; with `buffer: whole`, without a `reach` or without a stream, it inspects the whole answer
 * before anything is shown, as does a guard that is not pure. A guard that flags delays nothing. The arguments of a call, and a text that is
 * masked and that the request wants as JSON, are inspected when they are complete.
 */
export class GuardedParts extends HeldParts {
  readonly #guards: readonly RunningGuard[];
  /** Whether the guards only count matches. */
  readonly #flags: boolean;
  readonly #context: OutputContext;
  /** Whether the whole answer is inspected at once. */
  readonly #isWhole: boolean;
  /** Whether texts are inspected as JSON, so that masks keep them JSON. */
  readonly #masksJson: boolean;
  readonly #reach: number;
  /** The time that each guard has used, ms. */
  readonly #used = new Map<RunningGuard, number>();
  /** How many matches of each guard counted in texts that were inspected in parts. */
  readonly #seen = new Map<RunningGuard, number>();
  /** The end of the text of each channel at its last inspection. */
  readonly #inspected = new WeakMap<Channel, number>();
  /** The service of the guard that runs now; null for none. */
  #service: OpenService | null = null;
  /** The model of the guard that runs now; null for none. */
  #model: OpenModel | null = null;
  #isLeft = false;
  /** Whether guards that flag have failed, because no memory was left for the texts that they read at the end. */
  #hasGivenUp = false;

  constructor(guards: readonly RunningGuard[], isStream: boolean, context: OutputContext) {
    super(context.room);
    const { answerFormat } = context.request.settings;
    this.#guards = guards;
    this.#flags = guards.every(({ rule }) => rule.onMatch === 'flag');
    this.#context = context;
    this.#isWhole = !isStream || guards.some(readsWhole);
    this.#masksJson =
      answerFormat !== undefined && answerFormat.type !== 'text' && guards.some(({ rule }) => rule.onMatch === 'mask');
    this.#reach = Math.max(0, ...guards.map(({ prepared }) => prepared.reach ?? 0));
  }

  override add(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    if (this.#hasGivenUp) return parts;
    return super.add(this.#flags ? parts : withoutLogprobs(parts));
  }

  protected get endsEarly(): boolean {
    return !this.#isWhole;
  }

  protected override get holdsBack(): boolean {
    return !this.#flags;
  }

  protected override get dropsBroken(): boolean {
    return !this.#flags && this.#guards.some(({ rule }) => rule.window === 'form');
  }

  protected keeps(type: ChannelType): boolean {
    return this.#isWhole || this.isJson(type);
  }

  protected override isJson(type: ChannelType): boolean {
    return type === 'tool-call' || (type === 'text' && this.#masksJson);
  }

  /** An answer of which guards only count matches does not end for lack of memory. */
  protected override crowded(room: HeldRoom): void {
    if (!this.#flags) super.crowded(room);
    this.#hasGivenUp = true;
    this.forget();
    for (const guard of this.#guards) this.#failed(guard, new GuardFailure('no memory was left for the answer'));
  }

  protected grow(channel: Channel, isOver: boolean): Awaitable<void> {
    // Other channels are inspected when their choice finishes.
    if (!channel.isWhole) return this.#inspectNew(channel, isOver);
  }

  protected finish(ended: EndedChoice): Awaitable<void> {
    if (this.#hasGivenUp) return;
    const channels = ended.channels.filter(({ isWhole }) => isWhole);
    if (!this.#flags) for (const channel of channels) dropRepeatedNames(channel);
    return this.#inspectWhole({ ...ended, channels }, this.#guards);
  }

  override leave(): void {
    this.#isLeft = true;
    this.#service?.end();
    this.#model?.end();
  }

  /** Inspects what is new in a text: a long piece in parts. */
  #inspectNew(channel: Channel, isOver: boolean): Awaitable<void> {
    const { clock, turns } = this.#context;
    const until = clock() + TURN_MS;
    for (;;) {
      const inspected = this.#inspected.get(channel) ?? 0;
      const end = Math.min(
        channel.length,
        Math.max(channel.safeTo, inspected) + Math.max(SEARCH_STEP, this.#stepOf(channel)),
      );
      const isEnd = end === channel.length;
      const inspecting = this.#inspectWindow(channel, end, isOver && isEnd);
      if (isEnd) return inspecting;
      if (inspecting instanceof Promise || clock() > until)
        return whenReady(inspecting, () => whenReady(turns.next(SEARCH_STEP), () => this.#inspectNew(channel, isOver)));
    }
  }

  /**
   * Returns how much of a text must arrive before it is inspected again. A match that keeps growing is inspected ever more rarely, because
   * inspecting it for each part would take quadratic time.
   */
  #stepOf(channel: Channel): number {
    return Math.max(
      this.#flags ? FLAG_STEP : STEP,
      ((this.#inspected.get(channel) ?? 0) - channel.safeTo - this.#reach) >> 2,
    );
  }

  /**
   * Inspects a text up to an end, and sets how much of the text may be shown. @param isOver whether the text has no further characters
   */
  #inspectWindow(channel: Channel, end: number, isOver: boolean): Awaitable<void> {
    const { safeTo } = channel;
    const inspected = this.#inspected.get(channel) ?? 0;
    if (end === safeTo || (!isOver && end - inspected < this.#stepOf(channel))) return;
    this.#inspected.set(channel, end);
    const start = contextStart(channel);
    const came = channel.textFrom(start).slice(0, end - start);
    return whenReady(this.#matchesFrom(start, channel, came), (found) => {
      const limit = isOver ? end : end - this.#reach;
      let safe = Math.max(safeTo, limit);
      const final: MatchPlace[] = [];
      for (const place of mergedPlaces(found)) {
        if (place.to > limit) {
          safe = Math.min(safe, Math.max(safeTo, place.from));
          break;
        }
        final.push(place);
      }
      const inOrder = inOrderOf(found);
      let next = 0;
      for (const place of final) {
        const here: number[] = [];
        while (next < inOrder.length && found[inOrder[next]!]!.from < place.to) here.push(inOrder[next++]!);
        // Of several guards, the first one decides.
        this.#act(
          channel,
          place,
          here.sort((a, b) => a - b).map((index) => found[index]!),
        );
      }
      channel.safeTo = safe;
    });
  }

  /**
   * Returns the matches in a text from `start` of a channel on that end after the shown text. The guards first inspect the text as it
   * came, because a word under a placeholder can decide what follows. A placeholder can reveal another match, so they inspect the text again
   * with each match replaced by the signs of a placeholder.
   */
  #matchesFrom(
    start: number,
    channel: Channel,
    came: string,
    text = came,
    found: readonly AnswerMatch[] = [],
    round = 0,
  ): Awaitable<readonly AnswerMatch[]> {
    const { kind, safeTo } = channel;
    const edits = channel.edits.slice(firstEdit(channel, start));
    const masking = this.#guards.filter(({ rule }) => rule.onMatch === 'mask');
    const window = [{ text, role: 'assistant' as const, kind }];
    // The signs that replace a match may look like the match. Each edit ends before `safeTo`.
    const isKnown = withinOneOf(found);
    const isNew = (place: MatchPlace): boolean => place.to > safeTo && !isKnown(place);
    return whenReady(this.#callAll(round === 0 ? this.#guards : masking, window, start, safeTo), (all) => {
      const more = all.filter(isNew);
      if (more.length === 0 && (round > 0 || edits.length === 0)) return found;
      if (round === ROUNDS_MAX) this.#block(more[0]!.guard.rule, [more[0]!.match]);
      const now = [...found, ...more];
      if (masking.length === 0) return now;
      return this.#matchesFrom(start, channel, came, filled(came, [...edits, ...now], start), now, round + 1);
    });
  }

  /** Calls guards one after the other, and returns their matches with places in the channel of the text. */
  #callAll(
    [guard, ...others]: readonly RunningGuard[],
    window: readonly GuardText[],
    start: number,
    safeTo: number,
  ): Awaitable<readonly AnswerMatch[]> {
    if (!guard) return [];
    return whenReady(this.#callPure(guard, window), (matches) => {
      const placed = matches.flatMap((match): readonly AnswerMatch[] => {
        const { kind, at } = match;
        if (!at) return this.#flags ? [] : this.#block(guard.rule, [match]);
        return [{ kind, from: Math.max(safeTo, start + at.from), to: start + at.to, guard, match }];
      });
      if (others.length === 0) return placed;
      return whenReady(this.#callAll(others, window, start, safeTo), (more) => [...placed, ...more]);
    });
  }

  /** Carries out the actions of the guards that found a place. */
  #act(channel: Channel, place: MatchPlace, here: readonly AnswerMatch[]): void {
    const { verdicts, placeholders } = this.#context;
    const blocking = here.find(
      ({ guard }) =>
        guard.rule.onMatch === 'block' ||
        (guard.rule.onMatch === 'mask' && (channel.isFixed || this.#seenOf(guard) >= MATCHES_MAX - 1)),
    );
    for (const { guard, match } of here)
      if (this.#see(guard)) verdicts.add(guard.rule, 'output', [match], blocking ? 'block' : undefined);
    if (blocking) throw new AnswerBlocked(blockedAnswer(blocking.guard.rule, [blocking.match]));
    if (this.#flags) return;
    const { from, to, kind } = place;
    const value = placeholders.of(kind, channel.textFrom(from).slice(0, to - from));
    channel.edits.push({ from, to, value });
  }

  #seenOf(guard: RunningGuard): number {
    return this.#seen.get(guard) ?? 0;
  }

  /** Notes a match. @returns whether it counts */
  #see(guard: RunningGuard): boolean {
    const seen = this.#seenOf(guard);
    if (seen < MATCHES_MAX) this.#seen.set(guard, seen + 1);
    return seen < MATCHES_MAX;
  }

  #block(rule: GuardRule, matches: readonly GuardMatch[]): never {
    this.#context.verdicts.add(rule, 'output', matches, 'block');
    throw new AnswerBlocked(blockedAnswer(rule, matches));
  }

  /** Inspects complete channels together. A guard that changes them inspects them again, until it finds nothing. */
  #inspectWhole(ended: EndedChoice, guards: readonly RunningGuard[], round = 0): Awaitable<void> {
    const [guard, ...others] = guards;
    if (!guard) return;
    return whenReady(this.#hasChanged(guard, ended, round), (hasChanged) =>
      hasChanged ? this.#inspectWhole(ended, guards, round + 1) : this.#inspectWhole(ended, others),
    );
  }

  /** Runs a guard on complete channels. @returns whether it has changed a text */
  #hasChanged(guard: RunningGuard, ended: EndedChoice, round: number): Awaitable<boolean> {
    const { rule } = guard;
    const textOf = (channel: Channel) => editedText(channel, 0, channel.length);
    const texts =
      rule.window === 'form'
        ? formTexts(ended, this.#context.request, textOf)
        : ended.channels.flatMap((channel) => textsOfChannel(channel, textOf(channel)));
    if (texts.length === 0) return false;
    const matches = rule.isPure ? this.#callPure(guard, texts) : this.#callWaiting(guard, texts);
    return whenReady(matches, (found) => {
      if (found.length === 0) return false;
      const { turns, clock } = this.#context;
      return turns.run(this.#actOnWhole(guard, texts, found, round), lengthOf(texts), clock);
    });
  }

  /** Carries out the action of a guard on complete channels, in steps. @returns whether it has changed a text */
  *#actOnWhole(
    { rule }: RunningGuard,
    texts: readonly AnswerText[],
    matches: readonly GuardMatch[],
    round: number,
  ): Generator<void, boolean> {
    if (this.#hasRepaired(rule, texts, matches, round)) return true;
    const fixed = matches.some(({ at }) => at === undefined || isFixedText(texts[at.text]!));
    const isBlocked =
      rule.onMatch === 'block' ||
      (rule.onMatch === 'mask' && (fixed || round >= ROUNDS_MAX || matches.length === MATCHES_MAX));
    if (isBlocked) this.#block(rule, matches);
    this.#context.verdicts.add(rule, 'output', matches);
    if (rule.onMatch === 'flag') return false;
    const changed = new Map<AnswerText, string>();
    const byText = new Map<AnswerText, MatchPlace[]>();
    for (const { kind, at } of matches)
      if (at) byText.getOrInsertComputed(texts[at.text]!, () => []).push({ kind, from: at.from, to: at.to });
    for (const [text, places] of byText) changed.set(text, yield* replaced(text.text, places, this.#placeholderOf));
    changeTexts(changed);
    return true;
  }

  /** Gives texts the form that the guard wants, once. A guard that only counts changes nothing. @returns whether no match is left */
  #hasRepaired(rule: GuardRule, texts: readonly AnswerText[], matches: readonly GuardMatch[], round: number): boolean {
    if (rule.onMatch === 'flag' || round > 0) return false;
    const changed = new Map<AnswerText, string>();
    for (const { at, repaired } of matches) {
      const text = at && texts[at.text]!;
      if (repaired === undefined || !text || isFixedText(text) || changed.has(text)) return false;
      changed.set(text, text.text.slice(0, at.from) + repaired + text.text.slice(at.to));
    }
    this.#context.verdicts.add(rule, 'output', matches, 'repair');
    changeTexts(changed);
    return true;
  }

  readonly #placeholderOf = (kind: string, value: string): string => this.#context.placeholders.of(kind, value);

  #callPure(guard: RunningGuard, texts: readonly GuardText[]): Awaitable<readonly GuardMatch[]> {
    const { clock, turns } = this.#context;
    const { rule } = guard;
    const begun = clock();
    const used = this.#used.get(guard) ?? 0;
    const check = () => {
      if (this.#isLeft || used + clock() - begun > rule.deadlineMs)
        throw new GuardFailure(`it took more than ${rule.deadlineMs} ms`);
    };
    const inspected = (matches: readonly GuardMatch[]): Awaitable<readonly GuardMatch[]> => {
      this.#used.set(guard, used + clock() - begun);
      check();
      this.#context.verdicts.inspected(rule);
      const { placeholders } = this.#context;
      if (placeholders.isEmpty || matches.length <= MATCHES_AT_ONCE)
        return withoutPlaceholders(matches, texts, placeholders);
      return turns.run(stepsWithoutPlaceholders(matches, texts, placeholders), lengthOf(texts), clock, check);
    };
    try {
      const matches = whenReady(callGuard(guard, windowOf(texts), { turns, clock, check }), inspected);
      return orElse(matches, (cause) => this.#failed(guard, cause));
    } catch (cause) {
      return this.#failed(guard, cause);
    }
  }

  /** Calls a guard that may return a promise. */
  async #callWaiting(guard: RunningGuard, texts: readonly GuardText[]): Promise<readonly GuardMatch[]> {
    const { clock, timers, turns, placeholders, models } = this.#context;
    const { rule } = guard;
    const begun = clock();
    const deadline = begun + rule.deadlineMs - (this.#used.get(guard) ?? 0);
    const msLeft = () => deadline - clock();
    const service = OpenService.of(guard, msLeft);
    const model = models?.open(guard, 'output', msLeft) ?? null;
    [this.#service, this.#model] = [service, model];
    try {
      if (this.#isLeft) this.leave();
      const work = { turns, clock, check: () => {} };
      const found = Promise.resolve(callGuard(guard, windowOf(texts), work, service, model));
      const wait = Math.max(1, deadline - clock());
      const matches = await within<readonly GuardMatch[] | null>(timers, wait, found, null);
      if (matches === null || clock() > deadline) throw new GuardFailure(`it took more than ${rule.deadlineMs} ms`);
      this.#context.verdicts.inspected(rule);
      return withoutPlaceholders(matches, texts, placeholders);
    } catch (cause) {
      return this.#failed(guard, cause);
    } finally {
      this.#used.set(guard, (this.#used.get(guard) ?? 0) + clock() - begun);
      service?.end();
      model?.end();
      [this.#service, this.#model] = [null, null];
    }
  }

  /** @throws AnswerBlocked if the failure blocks the answer */
  #failed(guard: RunningGuard, cause: unknown): readonly GuardMatch[] {
    const { rule } = guard;
    if (!(cause instanceof GuardFailure)) throw cause;
    const unpaid = this.#context.models?.unpaid;
    if (unpaid) throw new AnswerBlocked(unpaid);
    if (!this.#isLeft) {
      this.#context.verdicts.fail(rule, 'output', cause);
      this.#context.onFailure(guard, cause);
    }
    if (rule.onFailure === 'block') throw new AnswerBlocked(guardFailed(rule, 'output', cause));
    return [];
  }
}

/** Whether a guard inspects only whole answers. */
export const readsWhole = ({ rule, prepared: { reach } }: RunningGuard): boolean =>
  !rule.isPure || reach === undefined || (rule.buffersWhole && rule.onMatch !== 'flag');

/** Returns texts as a guard sees them. A guard cannot reach their channels. */
const windowOf = (texts: readonly GuardText[]): GuardWindow => ({
  side: 'output',
  texts: texts.map(({ text, role, kind, form, isCut }) => ({
    text,
    role,
    kind,
    ...(form && { form }),
    ...(isCut && { isCut }),
  })),
});

/** Returns where the inspection of a text begins, so that it sees the characters that can decide what follows. */
function contextStart(channel: Channel): number {
  const least = Math.max(0, channel.safeTo - RECENT);
  const before = channel.textFrom(least);
  let start = Math.max(0, channel.safeTo - CONTEXT) - least;
  // A word that is cut in two may look like something else.
  while (start > 0 && !/\s/.test(before.charAt(start - 1))) start--;
  return least + start;
}

/** Replaces places in a text with the signs of a placeholder, so that the other places stay the same. @param start of the text */
function filled(text: string, places: readonly Pick<MatchPlace, 'from' | 'to'>[], start: number): string {
  const signs = text.split('');
  for (const { from, to } of places) {
    const [begin, end] = [Math.max(0, from - start), to - start];
    // Only the last sign of a place may be in the text.
    if (end <= begin) continue;
    signs.fill(':', begin, end);
    signs[begin] = '[';
    signs[end - 1] = ']';
  }
  return signs.join('');
}

/** Returns the indexes of places in the order of the places. */
const inOrderOf = (places: readonly MatchPlace[]): number[] =>
  places.map((_, index) => index).sort((a, b) => places[a]!.from - places[b]!.from);

/** Returns a function that says whether a place is within one of some places. */
function withinOneOf(places: readonly MatchPlace[]): (place: MatchPlace) => boolean {
  if (places.length === 0) return () => false;
  const sorted = inOrderOf(places).map((index) => places[index]!);
  /** For each place, the last end of it and of those before it. */
  const ends: number[] = [];
  for (const { to } of sorted) ends.push(Math.max(to, ends.at(-1) ?? 0));
  return ({ from, to }) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]!.from <= from) low = middle + 1;
      else high = middle;
    }
    return low > 0 && ends[low - 1]! >= to;
  };
}
