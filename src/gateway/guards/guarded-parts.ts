import type { GuardMatch } from '../../contract/guard.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { type AnswerText, changeTexts, editedText, isFixedText, textsOfChannel } from './answer-texts.ts';
import { blockedAnswer, guardFailed } from './guard-errors.ts';
import { type MatchPlace, mergedPlaces } from './guard-input.ts';
import { callGuard, GuardFailure, type RunningGuard } from './guard-runtime.ts';
import { type Channel, firstEdit, HeldParts, RECENT } from './held-parts.ts';
import { type Placeholders, withoutPlaceholders } from './placeholders.ts';
import type { Verdicts } from './verdicts.ts';

/** Thrown when a guard blocks an answer. */
export class AnswerBlocked extends Error {
  readonly error: SignalboxError;
  constructor(error: SignalboxError) {
    super(error.message);
    this.error = error;
  }
}

export interface OutputContext {
  readonly verdicts: Verdicts;
  readonly placeholders: Placeholders;
  readonly clock: () => number;
  onFailure(guard: RunningGuard, cause: unknown): void;
}

/** Characters before the shown end that are inspected again, because they can decide what follows. */
const CONTEXT = 256;
/** So many characters arrive before the guards inspect a text again, so that small parts cost little. */
const STEP = 48;
const ROUNDS_MAX = 8;

/** A match in a text of an answer, with its guard. */
interface AnswerMatch extends MatchPlace {
  readonly guard: RunningGuard;
  readonly match: GuardMatch;
}

/**
 * Runs guards on an answer. A guard that blocks or masks delays a stream by its `reach`; with `buffer: whole`, without a `reach` or without
 * a stream, it inspects the whole answer before anything is shown. A guard that flags inspects the whole answer and delays nothing. The
 * arguments of a call are inspected when they are complete.
 */
export class GuardedParts extends HeldParts {
  readonly #acting: readonly RunningGuard[];
  readonly #flagging: readonly RunningGuard[];
  readonly #context: OutputContext;
  /** Whether the whole answer is inspected at once. */
  readonly #isWhole: boolean;
  readonly #reach: number;
  /** The time that each guard has used, ms. */
  readonly #used = new Map<RunningGuard, number>();
  /** The end of the text of each channel at its last inspection. */
  readonly #inspected = new WeakMap<Channel, number>();

  constructor(guards: readonly RunningGuard[], isStream: boolean, context: OutputContext) {
    super();
    this.#acting = guards.filter(({ rule }) => rule.onMatch !== 'flag');
    this.#flagging = guards.filter(({ rule }) => rule.onMatch === 'flag');
    this.#context = context;
    this.#isWhole =
      !isStream || this.#acting.some(({ rule, prepared }) => rule.buffersWhole || prepared.reach === undefined);
    this.#reach = Math.max(0, ...this.#acting.map(({ prepared }) => prepared.reach ?? 0));
  }

  protected get endsEarly(): boolean {
    return !this.#isWhole;
  }

  protected grow(channel: Channel, isOver: boolean): void {
    if (this.#acting.length === 0) {
      channel.safeTo = Number.POSITIVE_INFINITY;
      return;
    }
    // Other channels are inspected when their choice finishes.
    if (!this.#isWhole && channel.type !== 'tool-call') this.#inspectWindow(channel, isOver);
  }

  protected finish(channels: readonly Channel[]): void {
    this.#inspectWhole(channels, this.#flagging);
    const together = this.#isWhole ? channels : channels.filter(({ type }) => type === 'tool-call');
    this.#inspectWhole(together, this.#acting);
  }

  /** Inspects the end of a text, and sets how much of the text may be shown. */
  #inspectWindow(channel: Channel, isOver: boolean): void {
    const { safeTo, length: end } = channel;
    const inspected = this.#inspected.get(channel) ?? 0;
    // A match that keeps growing is inspected ever more rarely, because inspecting it for each part would take quadratic time.
    const step = Math.max(STEP, (inspected - safeTo - this.#reach) >> 2);
    if (end === safeTo || (!isOver && end - inspected < step)) return;
    this.#inspected.set(channel, end);
    const start = contextStart(channel);
    const found = this.#matchesFrom(start, channel);
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
    for (const place of final) this.#act(channel, place, found);
    channel.safeTo = safe;
  }

  /**
   * Returns the matches in the text of a channel from `start` on that end after the shown text. A placeholder can reveal another match, so
   * the guards inspect the text again with each match replaced by the signs of a placeholder.
   */
  #matchesFrom(start: number, channel: Channel): readonly AnswerMatch[] {
    const { kind, safeTo } = channel;
    const edits = channel.edits.slice(firstEdit(channel, start));
    const found: AnswerMatch[] = [];
    let text = filled(channel.textFrom(start), edits, start);
    for (let round = 0; ; round++) {
      const window = [{ text, role: 'assistant' as const, kind }];
      const more = this.#acting.flatMap((guard) =>
        this.#call(guard, window).flatMap((match): readonly AnswerMatch[] => {
          if (!match.at) return [];
          const [from, to] = [Math.max(safeTo, start + match.at.from), start + match.at.to];
          // The signs that replace a match may look like the match.
          const isKnown = [...edits, ...found].some((place) => place.from <= from && to <= place.to);
          return to > safeTo && !isKnown ? [{ kind: match.kind, from, to, guard, match }] : [];
        }),
      );
      if (more.length === 0) return found;
      if (round === ROUNDS_MAX) this.#block(more[0]!.guard, [more[0]!.match]);
      found.push(...more);
      text = filled(text, more, start);
    }
  }

  /** Carries out the actions of the guards that found a place. */
  #act(channel: Channel, place: MatchPlace, found: readonly AnswerMatch[]): void {
    const { verdicts, placeholders } = this.#context;
    const here = found.filter(({ from, to }) => place.from <= from && to <= place.to);
    const blocking = here.find(({ guard: { rule } }) => rule.onMatch === 'block' || channel.isFixed);
    for (const { guard, match } of here) verdicts.add(guard.rule, 'output', [match], blocking ? 'block' : undefined);
    if (blocking) throw new AnswerBlocked(blockedAnswer(blocking.guard.rule, [blocking.match]));
    const { from, to, kind } = place;
    const value = placeholders.of(kind, channel.textFrom(from).slice(0, to - from));
    channel.edits.push({ from, to, value });
  }

  #block({ rule }: RunningGuard, matches: readonly GuardMatch[]): never {
    this.#context.verdicts.add(rule, 'output', matches, 'block');
    throw new AnswerBlocked(blockedAnswer(rule, matches));
  }

  /** Inspects complete channels together. A guard that masks inspects them again, until it finds nothing. */
  #inspectWhole(channels: readonly Channel[], guards: readonly RunningGuard[]): void {
    for (const guard of guards) {
      for (let round = 0; this.#hasChanged(guard, channels, round); round++);
    }
  }

  /** Runs a guard on complete channels. @returns whether it has changed a text */
  #hasChanged(guard: RunningGuard, channels: readonly Channel[], round: number): boolean {
    const { rule } = guard;
    const texts = channels.flatMap((channel) =>
      textsOfChannel(channel, rule.onMatch === 'flag' ? channel.text : editedText(channel, 0, channel.text.length)),
    );
    const matches = texts.length === 0 ? [] : this.#call(guard, texts);
    if (matches.length === 0) return false;
    const fixed = matches.some(({ at }) => at === undefined || isFixedText(texts[at.text]!));
    const isBlocked = rule.onMatch === 'block' || (rule.onMatch === 'mask' && (fixed || round >= ROUNDS_MAX));
    if (isBlocked) this.#block(guard, matches);
    this.#context.verdicts.add(rule, 'output', matches);
    if (rule.onMatch === 'flag') return false;
    const changed = new Map<AnswerText, string>();
    for (const [index, text] of texts.entries()) {
      const places = matches.flatMap(({ kind, at }) => (at?.text === index ? { kind, from: at.from, to: at.to } : []));
      if (places.length > 0) changed.set(text, this.#masked(text.text, places));
    }
    changeTexts(changed);
    return true;
  }

  #masked(text: string, places: readonly MatchPlace[]): string {
    let out = '';
    let last = 0;
    for (const { kind, from, to } of mergedPlaces(places)) {
      out += text.slice(last, from) + this.#context.placeholders.of(kind, text.slice(from, to));
      last = to;
    }
    return out + text.slice(last);
  }

  #call(guard: RunningGuard, texts: readonly Pick<AnswerText, 'text' | 'role' | 'kind'>[]): readonly GuardMatch[] {
    const { clock, verdicts, onFailure } = this.#context;
    const { rule } = guard;
    const begun = clock();
    try {
      const window = { side: 'output' as const, texts: texts.map(({ text, role, kind }) => ({ text, role, kind })) };
      const matches = callGuard(guard, window);
      if (matches instanceof Promise) throw new GuardFailure('it returned a promise for an answer');
      const used = (this.#used.get(guard) ?? 0) + clock() - begun;
      this.#used.set(guard, used);
      if (used > rule.deadlineMs) throw new GuardFailure(`it took more than ${rule.deadlineMs} ms`);
      return withoutPlaceholders(matches, texts, this.#context.placeholders);
    } catch (cause) {
      if (!(cause instanceof GuardFailure)) throw cause;
      verdicts.fail(rule, 'output');
      onFailure(guard, cause);
      if (rule.onFailure === 'block') throw new AnswerBlocked(guardFailed(rule, 'output', cause));
      return [];
    }
  }
}

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
  let out = text;
  for (const { from, to } of places) {
    const [begin, end] = [Math.max(0, from - start), to - start];
    if (end > begin) out = `${out.slice(0, begin)}${'['.padEnd(end - begin - 1, ':')}]${out.slice(end)}`;
  }
  return out;
}
