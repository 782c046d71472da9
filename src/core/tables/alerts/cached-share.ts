import { Type } from '@sinclair/typebox';
import { figure, word } from '../../define/fields.ts';
import type { AlertSubject } from '../../people/alert.ts';
import { type AlertFindings, defineAlert, type SubjectId } from './define.ts';
import { windowMinutes } from './keys.ts';
import { lengthOf, percent } from './words.ts';

/** With fewer input tokens in a window, the share of cached tokens is not meaningful. */
export const CACHED_INPUT_MIN = 100_000;
/** With fewer requests of a key or an endpoint in a window, a single long prompt could decide its share. */
export const CACHED_PROMPTS_MIN = 20;
/** The share of cached tokens counts as recovered only at this multiple of the rule's limit. The margin prevents repeated alerts. */
const CACHED_AGAIN = 1.1;

const EACH = {
  key: 'Each key of a caller.',
  endpoint: 'Each endpoint; for a provider with several keys, each of them.',
} as const;
/** The kinds of subject that the event can watch one by one. */
export type CachedEach = keyof typeof EACH;

/** Input tokens, and how many of them providers read from their caches. */
export interface CachedShare {
  readonly input: number;
  readonly cached: number;
  /** The number of requests. */
  readonly prompts: number;
}

/** The cached share of a key or an endpoint. */
export interface SubjectShare extends CachedShare {
  readonly id: string;
  /** The name for sentences, such as `key ci (key_…)`. */
  readonly title: string;
  readonly details: AlertSubject;
}

interface CachedReadings {
  /** @returns the input tokens of the last `windowMs` ms */
  tokensWithin(windowMs: number): CachedShare;
  /** @returns the input tokens of the last `windowMs` ms, of each key or endpoint with the most input */
  sharesWithin(each: CachedEach, windowMs: number): readonly SubjectShare[];
}

interface CachedRule {
  readonly below: number;
  readonly windowMs: number;
  /** Null for all requests together. */
  readonly each: CachedEach | null;
}

/** The share of input tokens in a time window that providers read from their caches. */
export const cachedShare = defineAlert({
  on: 'cached_share',
  means: 'The share of the input that providers read from their caches is too low.',
  about: 'input tokens, if providers had less than the share `below` in a cache',
  often: 'at the beginning, and when the share is a tenth above `below` again',
  counts: 'tokens',
  keys: {
    below: figure('the share of input tokens below which an alert is sent, above 0 and at most 1.', {
      exclusiveMinimum: 0,
      maximum: 1,
      example: 0.4,
    }),
    window_minutes: windowMinutes(60),
    each: Type.Optional(
      word(
        EACH,
        'whose share is compared. Default: the share of all requests together. A server watches the 200 keys and the 200 endpoints with the most input.',
        'key',
      ),
    ),
  },
  read: ({ below, window_minutes: minutes, each = null }): CachedRule => ({ below, windowMs: minutes * 60_000, each }),
  find(rule, readings: CachedReadings, found) {
    const { each, windowMs } = rule;
    if (each === null) judge(['cached'], readings.tokensWithin(windowMs), rule, found);
    else {
      for (const one of readings.sharesWithin(each, windowMs)) judge(['cached', each, one.id], one, rule, found, one);
    }
  },
});

/** @param subject the key or endpoint; absent for all requests together */
function judge(
  id: SubjectId,
  { input, cached, prompts }: CachedShare,
  { below, windowMs }: CachedRule,
  found: AlertFindings,
  subject?: SubjectShare,
): void {
  const share = input === 0 ? 0 : cached / input;
  const isKnown = input >= CACHED_INPUT_MIN && (!subject || prompts >= CACHED_PROMPTS_MIN);
  const isWell = share >= Math.min(1, below * CACHED_AGAIN);
  const [of, whose] = subject ? [`of ${subject.title} in`, 'its'] : ['of', 'your'];
  const again = subject ? ` of ${subject.title}` : '';
  found.noteLasting(id, {
    isDown: isKnown ? share < below || (isWell ? false : null) : null,
    down: `Providers had only ${percent(share)} of the input tokens ${of} the last ${lengthOf(windowMs)} in their caches, less than ${percent(below)}. The beginning of ${whose} prompts may have changed.`,
    up: () => `Providers have ${percent(share)} of the input tokens${again} in their caches again.`,
    details: { ...subject?.details, share, below, input_tokens: input, cached_tokens: cached },
  });
}
