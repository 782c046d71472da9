import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { UndividedUnit } from '../../core/money/price.ts';
import { servedTier } from '../../core/money/service-tier.ts';
import { dividedUsage, isImpossible, isPlausible, plainUsage, type Usage } from '../../core/money/usage.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { AnswerMark } from '../prompt/answer-mark.ts';
import { addWeight } from './output-weight.ts';

/** If the reader waits for at least this share of an answer's time, the upstream determines the speed, not the reader. */
const OWN_PACE_SHARE = 0.9;

/** The form of a raw finish reason. Finish reasons of another form are not shown, because they may be any text of an upstream. */
const WORD = /^[A-Za-z_ -]{1,40}$/;

const NO_PARTS: readonly StreamPart[] = [];

/** Measures the parts of an attempt's answer while the parts pass: usage, times, and the ends of choices. */
export class Meter {
  /** The latest plausible usage that the upstream reported. */
  reported: Usage | null = null;
  /** A later report with impossible figures, which is ignored. */
  impossible: Usage | null = null;
  /** The cost of the answer that the upstream stated last, in USD as a text; null if it stated none. */
  statedUsd: string | null = null;
  /** Whether content came after the report. A report of usage may have counted only the parts before the report. */
  isOutdated = false;
  /** When the first content part came, ms on the exchange's clock. */
  firstContentAt: number | null = null;
  /** The time spent waiting for the upstream after the first content, ms. */
  waited = 0;
  /** Why each choice ended, in the provider's own words. */
  readonly finishReasons: string[] = [];
  /** How the answer broke off; null for an answer that has not broken off. */
  failure: ProviderFailure | null = null;
  /** The number of choices that have ended. */
  finished = 0;
  /** Whether a choice ended at the output limit. */
  isCut = false;
  /**
   * Whether the caller got the gateway's own count instead of an impossible usage, in an answer that is otherwise passed through unchanged.
   */
  isUsageReplaced = false;
  /** The service tier that the answer states, as policies name it; null if it states none. */
  serviceTier: string | null = null;
  /** The choices that the model or a content filter refused; null for none. */
  #refused: Set<number> | null = null;
  #lastContentAt = 0;
  /**
   * The last batch, until the weight and the mark of the batch are computed. Most answers without streaming need neither the weight nor the
   * mark.
   */
  #unweighed: readonly StreamPart[] = NO_PARTS;
  #unmarked: readonly StreamPart[] = NO_PARTS;
  #weight = 0;
  #hasUnread = false;
  /** The weight of the output when usage was last reported. */
  #reportedWeight = 0;
  /** The mark of the answer, which is created when it is first read. */
  #mark: AnswerMark | null = null;
  readonly #isStream: boolean;
  readonly #undivided: UndividedUnit | null;

  /**
   * @param isStream whether the answer comes in many batches. Each batch of such an answer is released at once, because a reader may stop
   * after any batch.
   * @param undivided null if tokens written to the cache are always `cache_write`
   */
  constructor(isStream: boolean, undivided: UndividedUnit | null) {
    this.#isStream = isStream;
    this.#undivided = undivided;
  }

  observe(parts: readonly StreamPart[], now: number): void {
    this.#weigh();
    this.#addToMark();
    this.#unweighed = parts;
    this.#unmarked = parts;
    for (const part of parts) {
      if (part.type === 'usage') {
        if (part.cost !== undefined) this.statedUsd = part.cost;
        if (part.serviceTier) this.serviceTier = servedTier(part.serviceTier);
        if (part.usage === undefined) continue;
        if (isPlausible(part.usage)) {
          this.reported =
            this.#undivided === null ? part.usage : dividedUsage(part.usage, this.#undivided(part.usage.inputTokens));
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
        if (part.type === 'refusal') this.#refuse(part.choice);
        else if (part.type === 'finish') {
          this.finished++;
          this.finishReasons[part.choice] = WORD.test(part.raw) ? part.raw : '';
          this.isCut ||= part.reason === 'length';
          if (part.reason === 'content_filter') this.#refuse(part.choice);
        }
      }
    }
    if (!this.#isStream) return;
    this.#weigh();
    this.#addToMark();
  }

  #refuse(choice: number): void {
    this.#refused ??= new Set();
    this.#refused.add(choice);
  }

  /** The number of choices that the model or a content filter refused. */
  get refused(): number {
    return this.#refused?.size ?? 0;
  }

  #weigh(): void {
    const parts = this.#unweighed;
    this.#unweighed = NO_PARTS;
    for (const part of parts) {
      if (part.type === 'passthrough' || part.type === 'unread') this.#hasUnread = true;
      // The state parts of an answer are already counted in its unread output, if the answer has unread output.
      if (part.type !== 'state' || !this.#hasUnread) this.#weight = addWeight(this.#weight, part);
      if (part.type === 'usage' && part.usage && isPlausible(part.usage)) this.#reportedWeight = this.#weight;
    }
  }

  #addToMark(): void {
    const parts = this.#unmarked;
    this.#unmarked = NO_PARTS;
    if (parts.length === 0) return;
    this.#mark ??= new AnswerMark();
    for (const part of parts) this.#mark.add(part);
  }

  /**
   * Releases data that nothing has read. A settled answer may wait for its reader for a long time, and the parts of the answer are already
   * kept elsewhere.
   */
  forget(): void {
    this.#unweighed = NO_PARTS;
    this.#unmarked = NO_PARTS;
  }

  /** A number that identifies the answer's content. */
  get mark(): number {
    this.#addToMark();
    return this.#mark?.value ?? 0;
  }

  /** Whether the upstream has reported any usage, plausible or not. */
  get hasReport(): boolean {
    return this.reported !== null || this.impossible !== null;
  }

  /** The time from the first content part to the last, ms. */
  get contentMs(): number {
    return this.firstContentAt === null ? 0 : this.#lastContentAt - this.firstContentAt;
  }

  /** Whether the upstream determined the speed of the answer, and not its reader. */
  get isOwnPace(): boolean {
    return this.waited >= OWN_PACE_SHARE * this.contentMs;
  }

  /** The output tokens so far, counted by Signalbox. */
  get counted(): number {
    this.#weigh();
    return Math.ceil(this.#weight);
  }

  /** The output tokens after the upstream's last report of usage, which cannot include these tokens. */
  get unreported(): number {
    this.#weigh();
    return Math.ceil(this.#weight - this.#reportedWeight);
  }
}

/**
 * Returns the tokens of the charged usage. An absurd figure of an upstream is limited to what its model can accept, so that the absurd
 * figure does not exhaust the caller's rate limits for years.
 */
export function chargedTokens({ usage }: MeasuredUsage, { contextWindow }: Model, facts: Facts): number {
  return Math.min(usage.inputTokens + usage.outputTokens, contextWindow * (facts.texts?.inputs ?? facts.choices));
}

/** The usage that an attempt is charged for. */
export interface MeasuredUsage {
  readonly usage: Usage;
  /** True if Signalbox counted any part of the usage. */
  readonly estimated: boolean;
  /** A report of the upstream with impossible figures; null or absent for none. */
  readonly impossible?: Usage | null;
}

/**
 * Returns the usage of a complete answer: the reported usage, or the counted usage if there is no plausible report. A report that says 0
 * for the prompt or the output lacks that figure, and a report lacks the parts that come after it. Missing figures are counted, so that no
 * answer is free because a figure is missing.
 */
export function completeUsage(meter: Meter, { inputTokens, outputMax }: ExpectedTokens): MeasuredUsage {
  const { reported, impossible } = meter;
  if (reported && reported.inputTokens !== 0 && !meter.isOutdated) {
    const isWhole = reported.outputTokens !== 0 || meter.counted === 0 || outputMax === 0;
    if (isWhole) return { usage: reported, estimated: impossible !== null, impossible };
  }
  // The count of Signalbox can exceed a limit that the upstream has kept.
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
 * Returns the usage to charge for a failed attempt that another attempt may follow: the reported usage, or nothing if the upstream reported
 * none. An impossible report is replaced by the counted tokens, so that the attempt is not free.
 */
export function failedUsage(meter: Meter, expected: ExpectedTokens): MeasuredUsage | null {
  if (meter.impossible) return completeUsage(meter, expected);
  return meter.reported && { usage: meter.reported, estimated: false };
}

/** The tokens of an attempt, as far as they are known before the attempt. */
export interface ExpectedTokens {
  /** The prompt for this model, including media. */
  readonly inputTokens: number;
  /** The most output that the upstream may write: limit × choices. */
  readonly outputMax: number;
}

/** The figures for estimating the usage of an incomplete answer. */
interface BrokenAnswer extends ExpectedTokens {
  /** The model's output rate for all choices together, tokens per second. */
  readonly tokensPerSecond: number;
  /** The time since the first part came, or since the first part was expected, ms. May be negative. */
  readonly outputMs: number;
  /** The tokens of reasoning that the model may have written before the first part and that no part contains. */
  readonly thought: number;
  /** The further tokens that the provider may bill; 0 if the provider ended the answer itself. */
  readonly margin: number;
}

/**
 * Returns the usage of an answer that was cut off: the prompt and the output. The output is the larger of two figures: (a) the reported
 * output plus the output after the report, or (b) the counted output (or the output that the model writes in the elapsed time, if that is
 * more) plus hidden reasoning. The margin of the provider is added to the output.
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
 * Returns the usage of an answer that was ended early: the most that the answer's provider may bill, because the provider reports no more.
 * @param most the most tokens of its prompt and its parts, including the tokens that the provider may have written since then
 */
export function cutUsage({ reported, impossible }: Meter, most: ExpectedTokens): MeasuredUsage {
  const usage = {
    ...(reported ?? plainUsage(0, 0)),
    inputTokens: reported?.inputTokens || most.inputTokens,
    outputTokens: most.outputMax,
  };
  return { usage, estimated: true, impossible };
}
