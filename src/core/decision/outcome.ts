import { Type } from '@sinclair/typebox';
import * as f from '../define/fields.ts';
import { ERROR_CODES } from '../errors.ts';
import type { Usage } from '../money/usage.ts';
import { CACHE_RESULTS, CACHE_SKIPS } from '../policy/cache.ts';
import { Attempt, FullEndpoint, firstPart } from './attempt.ts';
import { cappedByText, decisionId, insteadOfOrNull } from './shared-fields.ts';
import { Call, Verdict } from './verdict.ts';

/** The result of the cache for a request. */
export const cacheWord = f.orNull(
  f.word([...CACHE_RESULTS, ...CACHE_SKIPS], 'A word.'),
  'What the cache did: `hit`, `partial` (embeddings of which it had some) or `miss`; or why it does not apply: `sampled` (neither `temperature: 0` nor a `seed`), `condition` (`when` is false), `unrepeatable` (such as tools that a provider runs), `no_store` (the header `cache-control`), `wallet`, `playground`, or `no_team`. Null if the policy has no cache, and for refused requests.',
  'miss',
);

/** How a request ended. Each member is stated once, as in `attempt.ts`. */
export const OUTCOME = {
  status: f.stored(
    0,
    f.word(
      ['completed', 'failed', 'broken', 'abandoned'],
      '`failed`: no attempt returned content. `broken`: the answer was cut off. `abandoned`: the caller disconnected, the server stopped, or the server had no memory left for the answer.',
    ),
  ),
  error: f.stored(
    1,
    f.orNull(f.word(ERROR_CODES, 'A code.'), 'The error that the caller received; null if the request succeeded.'),
  ),
  attempts: f.stored(2, f.list(Attempt, 'The attempts in the order in which they were made.')),
  usage: f.stored(3, f.inProgram<Usage | null>()),
  estimated: f.stored(4, f.flag('True if Signalbox counted the tokens itself.')),
  credits_consumed: f.stored(5, f.as('charged', f.credits('Charged for the request.', 0.09))),
  cost_saved_credits: f.stored(
    6,
    f.as('saved', f.credits('The saving compared with the baseline model; negative if the choice cost more.', 0.081)),
  ),
  first_part_ms: f.stored(7, firstPart('admission')),
  total_ms: f.stored(8, f.milliseconds('From admission to the end.', 1_850)),
  output_capped_by: f.stored(
    9,
    f.as(
      'cappedBy',
      f.textOrNull(cappedByText('the cap on the output, whether the answer reached it or not', 'Null'), null),
    ),
  ),
  usage_replaced: f.stored(
    10,
    f.flag(
      'True if the answer was passed through unchanged except for its usage. Signalbox replaced the usage by its own count, because the provider’s usage was missing or impossible.',
      false,
    ),
  ),
  adapted: f.stored(
    11,
    f.orAbsent(
      [],
      f.list(
        Type.String(),
        'Fields of the request that reached the model in another form, as in `platform.adapted`.',
        [],
      ),
    ),
  ),
  full: f.stored(
    12,
    f.orAbsent(
      [],
      f.list(
        FullEndpoint,
        'Endpoints that the request skipped, or waited for, because a limit in the policy was used up.',
      ),
    ),
  ),
  guards: f.stored(13, f.orAbsent([], f.list(Verdict, 'What guards found in the request and in the answer.'))),
  guard_calls: f.stored(18, f.orAbsent([], f.list(Call, 'The calls of guards to models of the policy.'))),
  repeats: f.stored(
    15,
    f.orAbsent(
      null,
      f.orNull(
        f.id('dec_', decisionId),
        'The decision whose answer the cache repeated; null for an answer of a model.',
      ),
    ),
  ),
  cache: f.stored(16, f.orAbsent(null, cacheWord)),
};

/** Members of an outcome that only the record has. */
const RECORDED = {
  /** The names of the guards that apply to the request. */
  guarded_by: f.stored(14, f.orAbsent([], f.textList('The names of the guards that apply to the request.'))),
  spared: f.stored(
    17,
    f.orAbsent(null, f.orNull(f.credits('The price of the answers that the cache repeated.', 0.09))),
  ),
  instead_of: f.stored(19, f.orAbsent(null, insteadOfOrNull())),
};

/** The outcome of a decision in its record. */
export interface DecisionOutcome extends f.ObjectValue<typeof OUTCOME & typeof RECORDED> {}
export const RecordedOutcome = f.viewRow<DecisionOutcome>()({ ...OUTCOME, ...RECORDED });
