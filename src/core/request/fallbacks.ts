import type { FAILURE_KINDS } from '../decision/failure-kinds.ts';

/** The reasons for which a listed fallback is tried. */
export const FALLBACK_REASONS = ['error', 'rate_limit', 'context', 'refused'] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

/** The IDs of the models to try next, in order, for each reason. A list is not followed further: only the lists of the request count. */
export interface FallbackLists extends Readonly<Record<FallbackReason, readonly string[]>> {
  /** Whose list it is. */
  readonly by: 'policy' | 'request';
}

/** The most models that a request may list. */
export const SENT_FALLBACKS_MAX = 8;

const NONE: readonly string[] = [];

/**
 * Returns the lists for models that are stated without a reason. They are tried for every reason except `refused`, because a refused answer
 * is paid.
 */
export const listsFor = (models: readonly string[], by: FallbackLists['by']): FallbackLists => ({
  by,
  error: models,
  rate_limit: models,
  context: models,
  refused: NONE,
});

/** Returns the models of all lists, each once, in the order of the reasons. */
export const listedModels = (lists: FallbackLists): readonly string[] => [
  ...new Set(FALLBACK_REASONS.flatMap((reason) => lists[reason])),
];

/** Returns the IDs of a named model and of its fallbacks, each once, in the order in which they are tried. */
export const withFallbacks = (first: string, lists: FallbackLists): readonly string[] => [
  first,
  ...listedModels(lists).filter((id) => id !== first),
];

/** Returns the lists with only the models that `isKept` accepts; undefined if none is left. */
export function keptLists(lists: FallbackLists, isKept: (model: string) => boolean): FallbackLists | undefined {
  const { by, error, rate_limit, context, refused } = lists;
  const kept: FallbackLists = {
    by,
    error: error.filter(isKept),
    rate_limit: rate_limit.filter(isKept),
    context: context.filter(isKept),
    refused: refused.filter(isKept),
  };
  return FALLBACK_REASONS.some((reason) => kept[reason].length > 0) ? kept : undefined;
}

/** Returns the first listed model that is not in `tried`, in the list of the first reason that has such a model. */
export function nextListed(
  lists: FallbackLists,
  reasons: readonly FallbackReason[],
  tried: readonly string[],
): string | undefined {
  for (const reason of reasons) {
    const next = lists[reason].find((id) => !tried.includes(id));
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
