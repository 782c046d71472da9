import { Type } from '@sinclair/typebox';
import { HEALTH } from '../../core/readings.ts';
import { listOf, named, orNull, word } from '../../surface/schemas/parts.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const quantiles = (description: string) =>
  orNull(
    Type.Object({
      p50: Type.Number({ description: 'The median.' }),
      p90: Type.Number({ description: 'The 90th percentile.' }),
    }),
    `${description} Null without measurements.`,
  );

const EndpointStatus = named('EndpointStatus', 'The health and speed of one upstream model at one provider.', {
  provider: Type.String({ description: 'Name of the provider in the policy.', examples: ['openai'] }),
  model: Type.String({ description: 'ID of the model in the policy.', examples: ['gpt-6-luna'] }),
  upstream: Type.String({ description: 'The provider’s name for the model.', examples: ['gpt-6-luna-2026-09-01'] }),
  state: word(
    Object.keys(HEALTH),
    '`ejected`: the circuit breaker is open; `cooling`: after a 429; `misconfigured`: the provider refuses the key.',
  ),
  retry_at: orNull(
    Type.String({ examples: ['2026-11-20T09:30:12.000Z'] }),
    'The time from which it is tried again, ISO 8601, UTC. Null where it may be tried now.',
  ),
  ttft_ms: quantiles('Time to the first token, ms.'),
  warm_ttft_ms: quantiles('Time to the first token where most of the prompt was in the provider’s cache, ms.'),
  tokens_per_second: quantiles('Rate of output.'),
  attempts: Type.Record(Type.String(), Type.Integer(), {
    description: 'Attempts by outcome: `ok`, `dropped`, or the kind of failure.',
    examples: [{ ok: 1_204, timeout: 7 }],
  }),
  retries: count('Attempts of requests that had tried this provider before.'),
  retries_denied: count('Retries that the provider’s retry budget denied.'),
  ejections: count('How often the circuit breaker opened.'),
});

export const EndpointList = named(
  'EndpointList',
  'The endpoints of the policy in force.',
  listOf(EndpointStatus, 'By provider, model and upstream model.'),
);

const quality = (description: string) => orNull(Type.Number(), description);

export const LearningStatus = named('LearningStatus', 'What outcomes have taught.', {
  mode: word(['off', 'shadow', 'on'], '`shadow` learns, and decides nothing.'),
  estimator: Type.String({ description: 'The plugin that learns.', examples: ['learned'] }),
  outcomes: Type.Array(
    Type.Object({
      source: word(['caller', 'checks', 'retry'], 'Who judged the answer.'),
      outcomes: count('How many are stored.'),
      learnt: Type.Number({ description: 'The weight that they count with.' }),
      withheld: count('Scores that did not count, because the key had its share.'),
    }),
    { description: 'By source.' },
  ),
  examples: count('Answers that can still be scored.'),
  checkpoint: orNull(
    Type.Object({
      through: Type.String({ description: 'The time of its last outcome, ISO 8601, UTC.' }),
      behind: count('Later outcomes.'),
    }),
    'The last stored memory; null before the first.',
  ),
  brier: Type.Object(
    { declared: quality('Of the declared qualities.'), estimated: quality('Of the estimated qualities.') },
    { description: 'Mean squared errors against the latest scores of callers; null before any.' },
  ),
  models: Type.Array(
    Type.Object({
      model: Type.String({ description: 'ID of the model.' }),
      task: orNull(Type.String(), 'Null for all tasks together.'),
      outcomes: Type.Number({ description: 'The weight of its outcomes.' }),
      declared: share('The quality that the policy declares.'),
      learnt: share('The quality with the outcomes.'),
      difference_points: Type.Number({ description: 'The difference, in hundredths.' }),
    }),
    { description: 'Models with outcomes.' },
  ),
  keys: Type.Array(
    Type.Object({
      key_id: orNull(Type.String(), 'Null for all keys that are not counted one by one.'),
      learnt: Type.Number({ description: 'The weight of its outcomes, halved each week.' }),
      share: share('Its share of all weight.'),
      share_of_chats: share('Its share of all chats.'),
      bound: orNull(Type.Number(), 'The greatest weight that it may have; null for no bound.'),
      is_at_bound: Type.Boolean({ description: 'Whether further outcomes of it do not count.' }),
    }),
    { description: 'Who taught most, first.' },
  ),
  faults: Type.Array(Type.String(), { description: 'Failures of the estimator, as sentences.' }),
});
