import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { isObject, listOf } from '../json/object.ts';
import type { Members } from '../json/original.ts';
import { keepSource } from '../json/source.ts';
import { ADDRESS_PATTERN } from '../money/holder-address.ts';
import type { RoutingTerms, SentFallbacks } from '../request/conversation.ts';
import { SENT_FALLBACKS_MAX } from '../request/fallbacks.ts';
import { TEXT_REMEDY } from '../schema/errors.ts';
import { nullable } from '../schema/nullable.ts';

export const RouteStrategy = Type.Object(
  {
    cost_weight: nullable(
      Type.Number({ minimum: 0, description: 'How much cost counts. Only the ratio of the weights matters.' }),
    ),
    quality_weight: nullable(
      Type.Number({ minimum: 0, description: 'How much quality counts. Only the ratio of the weights matters.' }),
    ),
    latency_weight: nullable(
      Type.Number({
        minimum: 0,
        default: 0,
        description: 'How much latency counts. Only the ratio of the weights matters.',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Weights for the choice of the model. Signalbox applies them with the strategy `weighted`.',
    [TEXT_REMEDY]: 'It is an object with weights. To use a strategy, set `model` to a selector such as `auto-fast`.',
  },
);

/** For amounts that callers of the API state. People state amounts of policies and keys in other units, too. */
const IN_CREDITS = { [TEXT_REMEDY]: 'It is a number of Credits, without a unit.' } as const;

export const RouteConstraints = Type.Object(
  {
    max_cost_credits: nullable(
      Type.Number({ ...IN_CREDITS, minimum: 0, description: 'The highest acceptable expected cost, in Credits.' }),
    ),
    max_latency_ms: nullable(
      Type.Integer({
        minimum: 1,
        description: 'The longest acceptable expected time to the end of the answer, in ms.',
      }),
    ),
    min_output_tokens: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description:
          'The lowest acceptable cap on the output, in tokens. Signalbox excludes models that cannot return this many tokens. It may not exceed `max_tokens`.',
      }),
    ),
    required_languages: nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 64,
        description: 'Programming languages that the model must support. Aliases such as `js` and `golang` work.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Hard limits on the choice of the model.' },
);

export const BudgetLimit = Type.Number({
  ...IN_CREDITS,
  exclusiveMinimum: 0,
  description: 'The most Credits that this request may consume. This is a hard limit.',
});

export const AgentWallet = Type.String({
  maxLength: 128,
  // The pattern is only for the OpenAPI document: the reader refuses other texts with a better message.
  allOf: [{ pattern: ADDRESS_PATTERN }],
  description: 'Address of the wallet for x402 settlement: `0x` and 40 hex digits.',
});

/** The fields that Signalbox adds to the requests of every dialect. */
export const ROUTING_FIELDS = {
  route_strategy: nullable(RouteStrategy),
  constraints: nullable(RouteConstraints),
  budget_limit: nullable(BudgetLimit),
  agent_wallet: nullable(AgentWallet),
};

const FallbackList = (description: string) =>
  nullable(
    Type.Array(Type.String({ description: 'The ID of a model.' }), { maxItems: SENT_FALLBACKS_MAX, description }),
  );

/**
 * The fields in which a request lists the models to try next, for the OpenAPI document. The schemas that read requests do not have them, see
 * `sentFallbacks`.
 */
const FALLBACK_FIELDS = {
  fallbacks: FallbackList(
    'The models to try next, in this order, if the model fails, is rate-limited or has no room for the prompt. The list replaces the fallbacks of the policy, or the next best models of a selector. With `gateway.request_fallbacks: false` in the policy, this is an unknown field.',
  ),
  models: FallbackList(
    "OpenRouter's name of `fallbacks`. It may also contain `model` itself. In a request without `model`, the first entry is the model. `fallbacks` counts if a request has both.",
  ),
};

/** Returns the schema of a request with the fields for fallbacks, for the OpenAPI document. */
export const withFallbackFields = <T extends TObject>(request: T): TObject => ({
  ...request,
  properties: { ...request.properties, ...FALLBACK_FIELDS },
});

type OrNull<T extends TSchema> = Static<T> | null | undefined;

/**
 * Signalbox's own fields, as a request body has them. Signalbox's own fields may be null in a body, because not every dialect drops nulls.
 */
interface StatedRouting {
  readonly route_strategy?: OrNull<typeof RouteStrategy>;
  readonly constraints?: OrNull<typeof RouteConstraints>;
  readonly budget_limit?: OrNull<typeof BudgetLimit>;
  readonly agent_wallet?: OrNull<typeof AgentWallet>;
}

/**
 * Returns the list of fallbacks that a request states in a field that is not in the schema: where the policy ignores these fields, they may
 * be fields of a provider and have any value. `models` is OpenRouter's name of the field.
 */
export function sentFallbacks({ fallbacks, models }: Members): SentFallbacks | undefined {
  if (fallbacks != null) return { field: 'fallbacks', value: fallbacks };
  return models == null ? undefined : { field: 'models', value: models };
}

/** Returns a body whose `model` is the first entry of its `models`, as at OpenRouter, if the body states no `model`. */
export function withFirstOfModels(body: unknown): unknown {
  if (!isObject(body) || body.model != null) return body;
  const [model] = listOf(body.models);
  return typeof model === 'string' ? keepSource(body, { ...body, model }) : body;
}

/** Reads the fields that Signalbox adds to a request. */
export function routingOf(
  body: StatedRouting,
  metadata: RoutingTerms['metadata'],
  fallbacks: SentFallbacks | undefined = undefined,
): RoutingTerms {
  const { route_strategy: weights, constraints } = body;
  return {
    fallbacks,
    weights: weights
      ? { cost: weights.cost_weight, quality: weights.quality_weight, latency: weights.latency_weight }
      : undefined,
    costCreditsMax: constraints?.max_cost_credits,
    latencyMsMax: constraints?.max_latency_ms,
    outputTokensMin: constraints?.min_output_tokens ?? undefined,
    languages: constraints?.required_languages,
    budgetCredits: body.budget_limit ?? undefined,
    agentWallet: body.agent_wallet ?? undefined,
    metadata,
  };
}
