import type { PassedPart } from '../../contract/parts.ts';
import type { Members } from '../../core/original.ts';
import { isImpossible, plainUsage, type Usage } from '../../core/usage.ts';
import { usageMembers, wholeUsage } from './members.ts';

/** The usage of an answer that goes out as it came, as its caller sees it. */
export class PassedUsage {
  /** Whether a usage that cannot be true was left out: then the end states the whole of what was charged. */
  isReplaced = false;
  /** The last usage that can be true. */
  #soFar: Usage;

  /** @param inputTokens expected */
  constructor(inputTokens: number) {
    this.#soFar = plainUsage(inputTokens, 0);
  }

  /** Notes the usage of an event. Returns whether it can be true, or there is none. */
  accepts({ usage }: PassedPart): boolean {
    const isOdd = isImpossible(usage);
    this.isReplaced ||= isOdd;
    if (usage && !isOdd) this.#soFar = usage;
    return !isOdd;
  }

  /** Returns an event with the usage so far in place of its own. */
  correct(event: Members): Members {
    if (event.type === 'message_start')
      return { ...event, message: { ...Object(event.message), usage: wholeUsage(this.#soFar, true) } };
    return { ...event, usage: usageMembers(this.#soFar, true) };
  }
}
