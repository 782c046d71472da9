import { isContent, type StreamPart } from '../contract/parts.ts';
import { tokenWeight } from '../core/tokens.ts';
import { plainUsage, type Usage } from '../core/usage.ts';
import { AnswerMark } from './answer-mark.ts';

/** Of the time that an answer took, its reader waited for so much where the pace was the upstream's. */
const OWN_PACE_SHARE = 0.9;

/** A raw finish reason is a word; what else an upstream may say there is nobody's to see. */
const WORD = /^[A-Za-z_ -]{1,40}$/;

/** Watches one attempt's parts go by and counts what they will cost. */
export class Meter {
  /** The usage last reported by the upstream. */
  reported: Usage | null = null;
  /** More came behind it: it may have been a count of what there was so far. */
  isOutdated = false;
  /** When the first content part came, ms on the exchange's clock. */
  firstContentAt: number | null = null;
  /** Time spent waiting for the upstream once content had come, ms. */
  waited = 0;
  /** Why each choice ended, in the provider's own words. */
  readonly finishReasons: string[] = [];
  /** A choice ended at the cap. */
  isCut = false;
  /** A choice was ended by a filter. */
  isFiltered = false;
  /** What the answer says, as a figure. */
  readonly mark = new AnswerMark();
  #lastContentAt = 0;
  #weight = 0;
  /** The weight when usage was last reported. */
  #reportedWeight = 0;

  observe(parts: readonly StreamPart[], now: number): void {
    for (const part of parts) {
      if (part.type === 'usage') {
        this.reported = part.usage;
        this.isOutdated = false;
        this.#reportedWeight = this.#weight;
      } else if (isContent(part)) {
        this.isOutdated = true;
        this.firstContentAt ??= now;
        this.#lastContentAt = now;
        this.mark.add(part);
        if ('text' in part) this.#weight += tokenWeight(part.text);
        else if (part.type === 'tool-call') this.#weight += tokenWeight(part.arguments) + tokenWeight(part.name ?? '');
        else if (part.type === 'finish') {
          this.finishReasons[part.choice] = WORD.test(part.raw) ? part.raw : '';
          this.isCut ||= part.reason === 'length';
          this.isFiltered ||= part.reason === 'content_filter';
        }
      }
    }
  }

  /** From the first content part to the last, ms. */
  get contentMs(): number {
    return this.firstContentAt === null ? 0 : this.#lastContentAt - this.firstContentAt;
  }

  /** Whether the answer took its time because of the upstream, and not because of who read it. */
  get isOwnPace(): boolean {
    return this.waited >= OWN_PACE_SHARE * this.contentMs;
  }

  /** Output tokens seen, counted here. */
  get counted(): number {
    return Math.ceil(this.#weight);
  }

  /** Of these, those that came behind the last report: it cannot have them. */
  get unreported(): number {
    return Math.ceil(this.#weight - this.#reportedWeight);
  }
}

export interface Measured {
  readonly usage: Usage;
  /** True when any of it was counted here. */
  readonly estimated: boolean;
}

/**
 * The usage of an answer that came to its end: as reported, else as counted. A report without a prompt, or
 * without the output that was seen, says nothing of it, and one that came before the end nothing of what followed: no
 * answer is free for want of figures.
 */
export function completeUsage(meter: Meter, { inputTokens, outputMax }: Expected): Measured {
  const { reported } = meter;
  // Counted here it can come out above the cap, which no upstream has broken by that.
  const counted = Math.min(meter.counted, outputMax);
  if (!reported) return { usage: plainUsage(inputTokens, counted), estimated: true };
  const isWhole = reported.inputTokens !== 0 && (reported.outputTokens !== 0 || counted === 0);
  if (isWhole && !meter.isOutdated) return { usage: reported, estimated: false };
  const sinceReport = Math.min(reported.outputTokens + meter.unreported, outputMax);
  const usage = {
    ...reported,
    inputTokens: reported.inputTokens || inputTokens,
    outputTokens: meter.isOutdated
      ? Math.max(reported.outputTokens, counted, sinceReport)
      : reported.outputTokens || counted,
  };
  return { usage, estimated: true };
}

/** What is known of an attempt beforehand, in tokens. */
export interface Expected {
  /** The prompt on this model, media included. */
  readonly inputTokens: number;
  /** Output that the upstream may make at most: cap × choices. */
  readonly outputMax: number;
}

export interface Broken extends Expected {
  /** The model's output rate for all choices together, tokens per second. */
  readonly tokensPerSecond: number;
  /** Time since the first part was seen, or else since it was to be expected. May be negative. */
  readonly outputMs: number;
}

/**
 * The usage of an answer that was cut: the prompt, and of the output the largest of what was
 * counted, what was reported, and what the model will have made in the time.
 */
export function brokenUsage(meter: Meter, expected: Broken): Measured {
  const { inputTokens, outputMax, tokensPerSecond, outputMs } = expected;
  const made = Math.min(outputMax, Math.ceil((tokensPerSecond * Math.max(0, outputMs)) / 1000));
  const { reported } = meter;
  const counted = Math.min(meter.counted, outputMax);
  const output = Math.max(counted, reported?.outputTokens ?? 0, made);
  if (!reported) return { usage: plainUsage(inputTokens, output), estimated: true };
  const prompt = reported.inputTokens || inputTokens;
  return { usage: { ...reported, inputTokens: prompt, outputTokens: output }, estimated: true };
}
