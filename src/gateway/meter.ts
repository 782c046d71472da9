import { isContent, type StreamPart } from '../contract/parts.ts';
import type { Facts } from '../core/facts.ts';
import { tokenWeight } from '../core/tokens.ts';
import { plainUsage, type Usage } from '../core/usage.ts';

/** Watches one attempt's parts go by and counts what they will cost. */
export class Meter {
  /** The usage last reported by the upstream. */
  reported: Usage | null = null;
  /** When the first content part came, ms on the exchange's clock. */
  firstContentAt: number | null = null;
  #weight = 0;

  observe(parts: readonly StreamPart[], now: number): void {
    for (const part of parts) {
      if (part.type === 'usage') this.reported = part.usage;
      else if (isContent(part)) {
        this.firstContentAt ??= now;
        if ('text' in part) this.#weight += tokenWeight(part.text);
        else if (part.type === 'tool-call') this.#weight += tokenWeight(part.arguments) + tokenWeight(part.name ?? '');
      }
    }
  }

  /** Output tokens seen, counted here. */
  get counted(): number {
    return Math.ceil(this.#weight);
  }
}

export interface Measured {
  readonly usage: Usage;
  /** True when any of it was counted here. */
  readonly estimated: boolean;
}

/** The usage of an answer that came to its end: as reported, else as counted. */
export function completeUsage(meter: Meter, facts: Facts): Measured {
  if (meter.reported) return { usage: meter.reported, estimated: false };
  return { usage: plainUsage(facts.inputTokens, meter.counted), estimated: true };
}

export interface Broken {
  /** Output tokens that the upstream may have made at most: cap × choices. */
  readonly outputMax: number;
  /** The model's output rate for all choices together, tokens per second. */
  readonly tokensPerSecond: number;
  /** Time since the first part was seen, or else since it was to be expected. May be negative. */
  readonly outputMs: number;
}

/**
 * The usage of an answer that was cut: the prompt, and of the output the largest of what was
 * counted, what was reported, and what the model will have made in the time.
 */
export function brokenUsage(meter: Meter, facts: Facts, { outputMax, tokensPerSecond, outputMs }: Broken): Measured {
  const made = Math.min(outputMax, Math.ceil((tokensPerSecond * Math.max(0, outputMs)) / 1000));
  const { reported } = meter;
  const output = Math.max(meter.counted, reported?.outputTokens ?? 0, made);
  if (!reported) return { usage: plainUsage(facts.inputTokens, output), estimated: true };
  return { usage: { ...reported, outputTokens: output }, estimated: true };
}
