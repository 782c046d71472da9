import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { Facts } from '../../core/facts.ts';
import type { Model } from '../../core/snapshot.ts';
import { isImpossible, isPlausible, plainUsage, type Usage } from '../../core/usage.ts';
import { AnswerMark } from '../prompt/answer-mark.ts';
import { outputWeight } from './output-weight.ts';

/** The least share of an answer's time that its reader waits where the pace is the upstream's. */
const OWN_PACE_SHARE = 0.9;

/** The form of a raw finish reason. Other texts of an upstream are not shown. */
const WORD = /^[A-Za-z_ -]{1,40}$/;

const NO_PARTS: readonly StreamPart[] = [];

/** Measures one attempt's parts as they pass: usage, times, ends. */
export class Meter {
  /** The usage last reported by the upstream, of those that can be true. */
  reported: Usage | null = null;
  /** A report after it that cannot be true, which counts as none. */
  impossible: Usage | null = null;
  /** Whether content came after the report, which may have counted only the parts before it. */
  isOutdated = false;
  /** When the first content part came, ms on the exchange's clock. */
  firstContentAt: number | null = null;
  /** Time spent waiting for the upstream once content had come, ms. */
  waited = 0;
  /** Why each choice ended, in the provider's own words. */
  readonly finishReasons: string[] = [];
  /** How the answer broke off; null while it has not. */
  failure: ProviderFailure | null = null;
  /** Choices that have ended. */
  finished = 0;
  /** Whether a choice ended at the cap. */
  isCut = false;
  /** Whether a filter ended a choice. */
  isFiltered = false;
  /** Whether its caller got a count of the gateway's in place of a usage that cannot be true, in an answer that went out as it came. */
  isUsageReplaced = false;
  #lastContentAt = 0;
  /** The last batch, until it is weighed and marked: of most answers in one piece nobody asks for either. */
  #unweighed: readonly StreamPart[] = NO_PARTS;
  #unmarked: readonly StreamPart[] = NO_PARTS;
  #weight = 0;
  #hasUnread = false;
  /** The weight when usage was last reported. */
  #reportedWeight = 0;
  /** Made when it is asked for. */
  #mark: AnswerMark | null = null;
  readonly #isStream: boolean;

  /** @param isStream whether the answer comes in many batches: each is let go at once, as a reader may stop at any of them. */
  constructor(isStream: boolean) {
    this.#isStream = isStream;
  }

  observe(parts: readonly StreamPart[], now: number): void {
    this.#weigh();
    this.#addToMark();
    this.#unweighed = parts;
    this.#unmarked = parts;
    for (const part of parts) {
      if (part.type === 'usage') {
        if (isPlausible(part.usage)) {
          this.reported = part.usage;
          this.impossible = null;
          this.isOutdated = false;
        } else this.impossible = part.usage;
      } else if (part.type === 'failure') {
        this.failure = part.failure;
      } else {
        this.isOutdated = true;
        if (part.type === 'unread') continue;
        this.firstContentAt ??= now;
        this.#lastContentAt = now;
        if (part.type === 'passthrough') this.isUsageReplaced ||= isImpossible(part.usage);
        if (part.type === 'finish') {
          this.finished++;
          this.finishReasons[part.choice] = WORD.test(part.raw) ? part.raw : '';
          this.isCut ||= part.reason === 'length';
          this.isFiltered ||= part.reason === 'content_filter';
        }
      }
    }
    if (!this.#isStream) return;
    this.#weigh();
    this.#addToMark();
  }

  #weigh(): void {
    const parts = this.#unweighed;
    this.#unweighed = NO_PARTS;
    for (const part of parts) {
      if (part.type === 'passthrough' || part.type === 'unread') this.#hasUnread = true;
      // The unread output of an answer has its state, as it comes.
      if (part.type !== 'state' || !this.#hasUnread) this.#weight += outputWeight(part);
      if (part.type === 'usage' && isPlausible(part.usage)) this.#reportedWeight = this.#weight;
    }
  }

  #addToMark(): void {
    const parts = this.#unmarked;
    this.#unmarked = NO_PARTS;
    if (parts.length === 0) return;
    this.#mark ??= new AnswerMark();
    for (const part of parts) this.#mark.add(part);
  }

  /** Lets go of what nobody has asked for: a settled answer may wait for its reader for long, and is kept once already. */
  forget(): void {
    this.#unweighed = NO_PARTS;
    this.#unmarked = NO_PARTS;
  }

  /** The answer's content as a figure. */
  get mark(): number {
    this.#addToMark();
    return this.#mark?.value ?? 0;
  }

  /** Whether the upstream has reported anything, true or not. */
  get hasReport(): boolean {
    return this.reported !== null || this.impossible !== null;
  }

  /** From the first content part to the last, ms. */
  get contentMs(): number {
    return this.firstContentAt === null ? 0 : this.#lastContentAt - this.firstContentAt;
  }

  /** Whether the answer's pace was the upstream's and not its reader's. */
  get isOwnPace(): boolean {
    return this.waited >= OWN_PACE_SHARE * this.contentMs;
  }

  /** Output tokens so far, counted here. */
  get counted(): number {
    this.#weigh();
    return Math.ceil(this.#weight);
  }

  /** Output tokens after the last report, which cannot include them. */
  get unreported(): number {
    this.#weigh();
    return Math.ceil(this.#weight - this.#reportedWeight);
  }
}

/**
 * The tokens of the usage that is charged. An upstream's absurd figure is cut at what its model can
 * take, so that it does not shut the caller out for years.
 */
export function chargedTokens({ usage }: MeasuredUsage, { contextWindow }: Model, facts: Facts): number {
  return Math.min(usage.inputTokens + usage.outputTokens, contextWindow * (facts.embedding?.inputs ?? facts.choices));
}

/** The usage that an attempt is charged for. */
export interface MeasuredUsage {
  readonly usage: Usage;
  /** True when any of it was counted here. */
  readonly estimated: boolean;
  /** A report of the upstream that cannot be true; null or absent for none. */
  readonly impossible?: Usage | null;
}

/**
 * Returns the usage of an answer that came to its end: as reported, or as counted without a report that can be true. A report
 * lacks the prompt or the output where it has 0 for it, and lacks all parts after it: no answer is free for want of figures.
 */
export function completeUsage(meter: Meter, { inputTokens, outputMax }: ExpectedTokens): MeasuredUsage {
  const { reported, impossible } = meter;
  if (reported && reported.inputTokens !== 0 && !meter.isOutdated) {
    const isWhole = reported.outputTokens !== 0 || meter.counted === 0 || outputMax === 0;
    if (isWhole) return { usage: reported, estimated: impossible !== null, impossible };
  }
  // The count here can exceed a cap that the upstream has kept.
  const counted = Math.min(meter.counted, outputMax);
  if (!reported) return { usage: plainUsage(inputTokens, counted), estimated: true, impossible };
  const sinceReport = Math.min(reported.outputTokens + meter.unreported, outputMax);
  const usage = {
    ...reported,
    inputTokens: reported.inputTokens || inputTokens,
    outputTokens: meter.isOutdated
      ? Math.max(reported.outputTokens, counted, sinceReport)
      : reported.outputTokens || counted,
  };
  return { usage, estimated: true, impossible };
}

/**
 * Returns the usage that a failed attempt is charged for, when another may follow: as reported, otherwise nothing. A report
 * that cannot be true is not free: what was counted stands in for it.
 */
export function failedUsage(meter: Meter, expected: ExpectedTokens): MeasuredUsage | null {
  if (meter.impossible) return completeUsage(meter, expected);
  return meter.reported && { usage: meter.reported, estimated: false };
}

/** The tokens of an attempt, as known beforehand. */
export interface ExpectedTokens {
  /** The prompt on this model, media included. */
  readonly inputTokens: number;
  /** Output that the upstream may make at most: cap × choices. */
  readonly outputMax: number;
}

/** The figures that an answer without an end is estimated by. */
interface BrokenAnswer extends ExpectedTokens {
  /** The model's output rate for all choices together, tokens per second. */
  readonly tokensPerSecond: number;
  /** Time since the first part was seen, or else since it was to be expected. May be negative. */
  readonly outputMs: number;
  /** Tokens that it may have thought unseen before that: no part has any of them. */
  readonly thought: number;
  /** Tokens that its service may bill beyond that; 0 where it ended the answer itself. */
  readonly margin: number;
}

/**
 * Returns the usage of an answer that was cut: the prompt, and the larger of the output reported and what was written: the larger
 * of the output counted and the output that the model makes in such a time, with what it has thought unseen. The margin of its
 * service is added.
 */
export function brokenUsage(meter: Meter, expected: BrokenAnswer): MeasuredUsage {
  const { inputTokens, outputMax, tokensPerSecond, outputMs, thought, margin } = expected;
  const made = Math.ceil((tokensPerSecond * Math.max(0, outputMs)) / 1000);
  const { reported, impossible } = meter;
  const told = reported?.outputTokens ?? 0;
  const most = Math.max(told + meter.unreported, Math.max(meter.counted, made) + thought) + margin;
  const output = Math.max(told, Math.min(outputMax, most));
  if (!reported) return { usage: plainUsage(inputTokens, output), estimated: true, impossible };
  const prompt = reported.inputTokens || inputTokens;
  return { usage: { ...reported, inputTokens: prompt, outputTokens: output }, estimated: true, impossible };
}

/**
 * Returns the usage of an answer that was ended early: the most that its service may bill, for it reports no more.
 * @param most the tokens that its parts and its prompt can be at most, with what the service may have written since
 */
export function cutUsage({ reported, impossible }: Meter, most: ExpectedTokens): MeasuredUsage {
  const usage = {
    ...(reported ?? plainUsage(0, 0)),
    inputTokens: reported?.inputTokens || most.inputTokens,
    outputTokens: most.outputMax,
  };
  return { usage, estimated: true, impossible };
}
