import { Type } from '@sinclair/typebox';
import * as f from '../define/fields.ts';
import { ENDPOINT_LIMITS } from '../policy/endpoint-room.ts';
import { SPREAD_MODES } from '../policy/spread.ts';
import {
  afterSignal,
  attemptCredits,
  failureKind,
  modelId,
  rawFinishReasons,
  servedTier,
  upstreamRequestId,
} from './shared-fields.ts';

/**
 * The attempts of a request. Each member is stated once: the tables give the types of the program, the stored values, the answers of the API,
 * the types of the console and the documentation.
 */

const position = Type.Integer({ minimum: 0 });

export const firstPart = (from: string) =>
  f.wholeOrNull(`From ${from} to the first content, in ms; null if no content arrived.`, 430);

/** How one of several endpoints was chosen for an attempt, with everything that is needed to repeat the choice. */
export const SPREAD = {
  mode: f.word(SPREAD_MODES, 'How the requests for the model are spread.'),
  key: f.text(
    'What places the request among the endpoints: the number of its conversation, or the seed of its decision.',
    '9f2c01d4aa07e6b3',
  ),
  draw: f.count('The number of the choice in this request, counted from 0.', 0),
  eligible: f.list(position, 'The positions of the endpoints that could be tried.', [0, 1]),
  loads: f.list(Type.Number(), 'How busy each of these endpoints was.', [0.2, 0.05]),
  weights: f.list(
    Type.Number(),
    'The weight of each of these endpoints. After a failure, the weight of an endpoint returns slowly.',
    [70, 30],
  ),
  compared: f.orNull(
    f.list(position, 'The two endpoints that were compared.', [1, 0]),
    'Null unless `mode` is `least_busy` and two endpoints could be compared.',
  ),
  stays: f.flag('Whether the request stayed at the endpoint whose cache has its conversation.'),
  warm: f.orAbsent(
    null,
    f.orNull(
      f.list(position, 'The endpoints that probably had the conversation in their cache.', [1]),
      'Null in old records.',
    ),
  ),
  drawn: f.as(
    'isDrawn',
    f.orAbsent(false, f.flag('Whether the weights of the keys of a pool decided, because their figures are equal.')),
  ),
  unmeasured: f.orAbsent(
    [],
    f.list(position, 'The endpoints that `fastest` had to try, because their speed was not measured.', []),
  ),
};
export interface SpreadRecord extends f.ObjectValue<typeof SPREAD> {}
const Spread = f.viewRow<SpreadRecord>()(SPREAD);

/** An attempt at an endpoint. The names of endpoints, `upstream` and `key`, are for operators. */
export const ATTEMPT = {
  model: f.stored(0, f.toCallers(modelId('The model that was called.'))),
  provider: f.stored(1, f.toCallers(f.text('The provider that was called, under its name in the policy.', 'openai'))),
  upstream: f.stored(2, f.text('The provider’s own name for the model.', 'gpt-6-luna')),
  endpoint: f.stored(
    6,
    f.orAbsent(
      null,
      f.wholeOrNull(
        'The position of the endpoint among the model’s endpoints, counted from 0; null in old records.',
        0,
      ),
    ),
  ),
  start_ms: f.stored(
    9,
    f.orAbsent(null, f.wholeOrNull('From admission to the start of the attempt, in ms; null in old records.', 4)),
  ),
  ms: f.stored(3, f.toCallers(f.milliseconds('From the start of the attempt to its end.', 1_840))),
  first_part_ms: f.stored(4, firstPart('sending')),
  failure: f.stored(5, f.toCallers(f.orNull(failureKind, 'Null for a success.'))),
  status: f.stored(
    10,
    f.orAbsent(
      null,
      f.wholeOrNull(
        'For a failure, the HTTP status of the provider; null if there was none, and in old records.',
        null,
      ),
    ),
  ),
  message: f.stored(
    11,
    f.orAbsent(
      null,
      f.textOrNull(
        'For a failure, the message of the provider, at most 500 characters. Secrets, personal data, addresses and words of the request are removed. Null for callers who may not read it, and in old records.',
        null,
      ),
    ),
  ),
  request_id: f.stored(7, f.toCallers(upstreamRequestId)),
  finish_reasons: f.stored(8, f.toCallers(rawFinishReasons)),
  spread: f.stored(
    12,
    f.orAbsent(
      null,
      f.orNull(Spread, 'Null if the endpoints of the model are tried in their order, and in old records.'),
    ),
  ),
  key: f.stored(
    13,
    f.orAbsent(
      null,
      f.textOrNull(
        'The name of the provider’s key, never its value. Null if the provider has one key, for callers who may not read it, and in old records.',
        null,
      ),
    ),
  ),
  after: f.stored(
    14,
    f.toCallers(f.orAbsent(null, f.orNull(afterSignal, 'Null for attempts that followed no answer.'))),
  ),
  credits_consumed: f.stored(
    15,
    f.toCallers(
      f.as(
        'charged',
        f.orAbsent(
          null,
          f.orNull(
            attemptCredits,
            'Credits charged for the attempt; null without a charge of its own, and in old records.',
          ),
        ),
      ),
    ),
  ),
  credits_stated: f.stored(
    16,
    f.as(
      'stated',
      f.orAbsent(
        null,
        f.orNull(
          f.credits(
            'The cost that the provider states in its answer, which never changes the charge; null if it states none, for callers who may not read it, and in old records.',
            0.0124,
          ),
        ),
      ),
    ),
  ),
  credits_at_price: f.stored(
    17,
    f.as(
      'atPrice',
      f.orAbsent(
        null,
        f.orNull(
          f.credits(
            'The cost of the same usage at the price of the policy; null without `credits_stated`, and if no usage is known.',
            0.0125,
          ),
        ),
      ),
    ),
  ),
  service_tier: f.stored(
    18,
    f.toCallers(
      f.orAbsent(
        null,
        f.orNull(
          servedTier,
          'The service tier that the provider’s answer states, such as `flex`. Null if it states none, for the default tier if the request asks for none, and in old records.',
        ),
      ),
    ),
  ),
  assumed_tier: f.stored(
    19,
    f.as(
      'assumedTier',
      f.orAbsent(
        null,
        f.orNull(
          f.text(
            'The service tier whose price applied, if the answer states no tier, or a tier that the policy has no price for: the most expensive one that could apply. Null if the answer states the tier of the price, if the price has no tiers, and in old records.',
            'priority',
          ),
        ),
      ),
    ),
  ),
};
export interface AttemptRecord extends f.ObjectValue<typeof ATTEMPT> {}
export const Attempt = f.viewRow<AttemptRecord>()(ATTEMPT);
/** An attempt in `platform.attempts`. */
export const CallerAttempt = f.forCallers(Attempt);

/** An endpoint that had no room for an attempt. */
export const FullEndpoint = f.row({
  model: f.stored(0, modelId('The model of the endpoint.')),
  provider: f.stored(1, f.text('The provider of the endpoint.', 'openai')),
  upstream: f.stored(2, f.text('The provider’s own name for the model.', 'gpt-6-luna')),
  endpoint: f.stored(3, f.count('The position of the endpoint among the model’s endpoints, counted from 0.', 0)),
  limit: f.stored(4, f.word(ENDPOINT_LIMITS, 'The limit that was used up.')),
  most: f.stored(5, f.count('The figure of the limit in the policy.', 500)),
  start_ms: f.stored(6, f.milliseconds('From admission to the first time that the endpoint had no room.', 4)),
  times: f.stored(7, f.count('How often the endpoint had no room for this request.', 1)),
});
export interface FullEndpointRecord extends f.ValueOf<typeof FullEndpoint> {}
