import { type Static, type TSchema, Type } from '@sinclair/typebox';
import type { RoutingTerms } from '../conversation.ts';
import { ADDRESS_PATTERN } from '../holder-address.ts';
import { nullable } from '../nullable.ts';
import { TEXT_REMEDY } from '../schema-errors.ts';

export const RouteStrategy = Type.Object(
  {
    cost_weight: nullable(Type.Number({ minimum: 0, description: 'How much cost counts. Only the ratio matters.' })),
    quality_weight: nullable(Type.Number({ minimum: 0, description: 'How much quality counts.' })),
    latency_weight: nullable(Type.Number({ minimum: 0, default: 0, description: 'How much latency counts.' })),
  },
  {
    additionalProperties: false,
    description: 'Routes by these weights with the strategy `weighted`.',
    [TEXT_REMEDY]: 'It holds weights. To name a strategy, put a selector such as `auto-fast` into `model`.',
  },
);

export const RouteConstraints = Type.Object(
  {
    max_cost_credits: nullable(Type.Number({ minimum: 0, description: 'Ceiling of the expected cost, in Credits.' })),
    max_latency_ms: nullable(
      Type.Integer({ minimum: 1, description: 'Ceiling of the expected latency to the end, in ms.' }),
    ),
    min_output_tokens: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description:
          'Least output that the answer may be capped at, in tokens: leaves out models that cannot return so much. At most `max_tokens`.',
      }),
    ),
    required_languages: nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 64,
        description: 'Programming languages the model must handle; aliases such as `js` and `golang` are known.',
      }),
    ),
  },
  { additionalProperties: false, description: 'Hard limits on what may be chosen.' },
);

export const BudgetLimit = Type.Number({
  exclusiveMinimum: 0,
  description: 'Most Credits that this request may consume. Hard.',
});

export const AgentWallet = Type.String({
  maxLength: 128,
  // For the document: the reader refuses other texts, with what would be right.
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

type OrNull<T extends TSchema> = Static<T> | null | undefined;

/** As a body has them: not every dialect drops nulls. */
interface StatedRouting {
  readonly route_strategy?: OrNull<typeof RouteStrategy>;
  readonly constraints?: OrNull<typeof RouteConstraints>;
  readonly budget_limit?: OrNull<typeof BudgetLimit>;
  readonly agent_wallet?: OrNull<typeof AgentWallet>;
}

/** Reads the fields that Signalbox adds, beside the metadata of the request. */
export function routingOf(body: StatedRouting, metadata: RoutingTerms['metadata']): RoutingTerms {
  const { route_strategy: weights, constraints } = body;
  return {
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
