import type { FAILURE_KINDS } from './failure-kinds.ts';

/** A reason for which a listed fallback is tried. */
interface ReasonDefinition {
  /** Whether the models of a list without reasons are tried for it. They are not if the failed attempt is paid. */
  readonly isUsual: boolean;
  /** When the models of its list are tried, for editors and the reference. */
  readonly means: string;
  /** The same in a sentence about a decision: `after an error`. */
  readonly when: string;
  /** An example of its list. */
  readonly example: readonly string[];
}

export const FALLBACK_REASONS = {
  error: {
    isUsual: true,
    means: 'If the model is not available, fails or does not answer in time, or cannot serve the request.',
    when: 'after an error',
    example: ['b'],
  },
  rate_limit: {
    isUsual: true,
    means: 'If the provider limits the request rate.',
    when: 'after a rate limit',
    example: ['b'],
  },
  context: {
    isUsual: true,
    means: 'If the prompt is too long for the model. This is decided before the call if possible.',
    when: 'if the prompt is too long',
    example: ['long'],
  },
  refused: {
    isUsual: false,
    means:
      'If the model or a content filter refuses to answer, before the caller has received content. The refused answer is paid, and the next attempt needs room in the budget.',
    when: 'after a refused answer',
    example: ['c'],
  },
} as const satisfies Readonly<Record<string, ReasonDefinition>>;
export type FallbackReason = keyof typeof FALLBACK_REASONS;

/** The reasons in the order in which they are listed. */
export const REASON_NAMES = Object.keys(FALLBACK_REASONS) as readonly FallbackReason[];

/** Returns a value for each reason. */
export const byReason = <Value>(make: (reason: FallbackReason) => Value): Record<FallbackReason, Value> =>
  Object.fromEntries(REASON_NAMES.map((reason) => [reason, make(reason)])) as Record<FallbackReason, Value>;

/**
 * The IDs of the models to try next, in order, for each reason. Absent: none, also in a record that is older than the reason. A list is not
 * followed further: only the lists of the request count.
 */
export interface FallbackLists extends Readonly<Partial<Record<FallbackReason, readonly string[]>>> {
  /** Whose list it is. */
  readonly by: 'policy' | 'request';
}

/** The most models that a request may list. */
export const SENT_FALLBACKS_MAX = 8;

const NONE: readonly string[] = [];

/** Returns the models that are tried for a reason, in order. */
export const listFor = (lists: FallbackLists, reason: FallbackReason): readonly string[] => lists[reason] ?? NONE;

/** Returns the lists for models that are stated without a reason. */
export const listsFor = (models: readonly string[], by: FallbackLists['by']): FallbackLists => ({
  by,
  ...byReason((reason) => (FALLBACK_REASONS[reason].isUsual ? models : NONE)),
});

/** Returns the models of all lists, each once, in the order of the reasons. */
export const listedModels = (lists: FallbackLists): readonly string[] => [
  ...new Set(REASON_NAMES.flatMap((reason) => listFor(lists, reason))),
];

/** Returns the IDs of a named model and of its fallbacks, each once, in the order in which they are tried. */
export const withFallbacks = (first: string, lists: FallbackLists): readonly string[] => [
  first,
  ...listedModels(lists).filter((id) => id !== first),
];

/** Returns the lists that `listOf` gives; undefined if all are empty. */
export function filledLists(
  by: FallbackLists['by'],
  listOf: (reason: FallbackReason) => readonly string[],
): FallbackLists | undefined {
  const lists = byReason(listOf);
  return REASON_NAMES.some((reason) => lists[reason].length > 0) ? { by, ...lists } : undefined;
}

/** Returns the lists with only the models that `isKept` accepts; undefined if none is left. */
export const keptLists = (lists: FallbackLists, isKept: (model: string) => boolean): FallbackLists | undefined =>
  filledLists(lists.by, (reason) => listFor(lists, reason).filter(isKept));

/** Returns the first listed model that is not in `tried`, in the list of the first reason that has such a model. */
export function nextListed(
  lists: FallbackLists,
  reasons: readonly FallbackReason[],
  tried: readonly string[],
): string | undefined {
  for (const reason of reasons) {
    const next = listFor(lists, reason).find((id) => !tried.includes(id));
    if (next !== undefined) return next;
  }
  return undefined;
}

/**
 * Returns the reason for which another model is tried after a failed attempt.
 * @param ofFilter whether a content filter of the provider refused the prompt
 */
export function reasonOfFailure(kind: (typeof FAILURE_KINDS)[number], ofFilter = false): FallbackReason {
  if (ofFilter) return 'refused';
  if (kind === 'context') return 'context';
  return kind === 'rate_limited' ? 'rate_limit' : 'error';
}
