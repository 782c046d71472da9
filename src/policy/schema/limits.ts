import type { Static, TObject } from '@sinclair/typebox';
import { optional, whole } from '../../core/define/fields.ts';
import type { KeyLimits } from '../../core/people/caller.ts';

const most = (example: number, description: string) =>
  optional(whole(description, { minimum: 1, maximum: 1_000_000_000, example }));

/** The figures of a rate limit: a limit of the policy, a team, a member or a token's subject. */
export const RATE_KEYS = {
  requests_per_minute: most(
    600,
    'The most chat and route requests in a minute. All of them may arrive at once; used capacity then returns evenly over a minute.',
  ),
  tokens_per_minute: most(
    400_000,
    'The most chat tokens in a minute, input and output together. A request first counts with its estimate, and at its end with its actual usage.',
  ),
  concurrent_streams: most(20, 'The most chat requests with `stream: true` at the same time.'),
};

/** Returns the figures of a rate limit under their names in the code; null for figures that are not stated. */
export const ratesOf = (stated: Partial<Static<TObject<typeof RATE_KEYS>>>): KeyLimits => ({
  requestsPerMinute: stated.requests_per_minute ?? null,
  tokensPerMinute: stated.tokens_per_minute ?? null,
  concurrentStreams: stated.concurrent_streams ?? null,
});
