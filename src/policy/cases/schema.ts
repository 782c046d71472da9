import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { RouteChat, RouteQuery } from '../../core/api/route-query.ts';
import { RouteConstraints } from '../../core/api/routing-fields.ts';
import { closed, figure, flag, optional, text, word } from '../../core/define/fields.ts';
import { excludes, excludesEach, policyAmount, writtenAs } from '../../core/define/policy-words.ts';
import { USER_ROLES } from '../../core/people/people.ts';
import { ESCALATION_NAMES } from '../../core/request/escalation.ts';
import { TIERS } from '../../core/request/tiers.ts';
import { withoutNull } from '../../core/schema/nullable.ts';

const query = RouteChat.properties;
const { operation, input, dimensions } = RouteQuery.properties;
function stated(schema: TSchema, example: unknown, description?: string) {
  const inner = withoutNull(schema);
  return Type.Optional({ ...inner, examples: [example], description: description ?? inner.description });
}
const MESSAGES = { ...query.messages, description: 'The conversation. Signalbox reads the task and the size from it.' };
const COST = 'The highest acceptable expected cost: Credits, or a text such as `0.02 USD`.';
const limits: TProperties = withoutNull(RouteConstraints).properties;
/** The limits of a route query. The policy may state their amount as a text. */
export const ConstraintsText = Type.Object(
  { ...limits, max_cost_credits: optional(policyAmount({ minimum: 0, example: 2 }, COST, '0.02 USD')) },
  {
    additionalProperties: false,
    examples: [{ max_cost_credits: 2 }],
    description: RouteConstraints.description ?? '',
  },
);
/** The schemas of the API for route queries, with other examples. */
const ROUTE_QUERY = {
  task_type: stated(
    query.task_type,
    'coding',
    'Task of the request. It replaces the task that Signalbox reads from `messages`.',
  ),
  estimated_input_tokens: stated(
    query.estimated_input_tokens,
    500,
    'Expected input tokens. They replace the size of `messages`.',
  ),
  estimated_output_tokens: stated(
    query.estimated_output_tokens,
    200,
    'Expected output tokens; `max_tokens` still caps them.',
  ),
  operation: stated(operation, 'embed'),
  input: stated(input, ['How signals were worked.']),
  dimensions: stated(dimensions, 256),
  messages: stated(MESSAGES, [{ role: 'user', content: 'hi' }]),
  constraints: Type.Optional(ConstraintsText),
  route_strategy: stated(query.route_strategy, { cost_weight: 0.3, quality_weight: 0.7 }),
};
const labels = (description: string, example: Record<string, string>) =>
  Type.Record(Type.String(), Type.String(), { default: {}, examples: [example], description });
const name = (description: string, example: string) => text(description, { minLength: 1, maxLength: 256, example });

const CaseKeyText = closed(
  'The API key of the request.',
  {
    id: text('ID of the key.', { minLength: 1, maxLength: 64, default: 'case' }),
    labels: labels('Labels of the key.', { department: 'legal' }),
    models: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        examples: [['gpt-5-mini']],
        description: 'Models that the key may use. Default: all.',
      }),
    ),
  },
  { default: {}, ...writtenAs('id: {value}') },
);

const GIVEN = {
  model: text('A selector or the ID of a model, as callers send it in `model`.', {
    minLength: 1,
    maxLength: 256,
    default: 'auto',
  }),
  ...ROUTE_QUERY,
  body: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      examples: [{ system: 'Be brief.', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 }],
      description:
        'A whole request body of any API dialect, instead of the other fields of the request. Its shape, or the key `dialect`, shows which dialect it is.',
    }),
  ),
  metadata: labels('The `metadata` of the request.', { interactive: 'true' }),
  key: CaseKeyText,
  team: Type.Optional(
    closed(
      'The team that the key belongs to. If the policy declares the team, its terms apply. Default: none.',
      {
        name: text('Name of the team.', { minLength: 1, maxLength: 128, example: 'search' }),
        id: text('ID of the team.', { minLength: 1, maxLength: 64, default: 'case' }),
      },
      writtenAs('name: {value}'),
    ),
  ),
  user: Type.Optional(
    closed(
      'The user that the key belongs to, with the terms for members of its team or the organization. Default: none.',
      {
        name: text('Name of the user.', { maxLength: 128, default: '', example: 'Ada' }),
        id: text('ID of the user.', { minLength: 1, maxLength: 64, default: 'case' }),
        role: word(USER_ROLES, 'Role of the user.', { default: 'member', example: 'lead' }),
      },
      writtenAs('name: {value}'),
    ),
  ),
  escalated: Type.Optional(
    word(
      ESCALATION_NAMES,
      'The signal of failure that escalates the conversation, as if its latest answer had failed. It counts if `escalate.on` lists it and tiers decide about the request. Default: only the signals in `messages`.',
      'repeated_question',
    ),
  ),
  answer: Type.Optional(
    Type.String({
      maxLength: 100_000,
      examples: ['{"city": "Oslo",}'],
      description: 'The text that the model answers, which guards inspect. Default: guards inspect only the request.',
    }),
  ),
  time: optional(
    text('Time of the request. Default: a fixed Wednesday, 12:00 UTC.', {
      pattern:
        '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d)?(Z|[+-]\\d\\d:\\d\\d)$',
      expected: 'a date and time with an offset, such as 2026-10-07T02:30:00Z',
      example: '2026-10-07T02:30:00Z',
    }),
  ),
};
export const GivenText = closed(
  'The request of the test case: a route query, or a whole body, with its key, metadata and time.',
  GIVEN,
  {
    default: {},
    ...excludes('body', ...Object.keys(ROUTE_QUERY), 'team', 'user'),
  },
);

/** Keys with which a case describes the expected choice. */
const OF_THE_CHOICE = {
  model: Type.Optional(
    Type.Union([name('A model.', 'sim-coder'), Type.Array(name('A model.', 'sim-coder'), { minItems: 1 })], {
      expected: 'the ID of a model, or a list of them',
      examples: ['sim-coder'],
      description: 'ID of the model that must be chosen, or a list of IDs of which one must be chosen.',
    }),
  ),
  provider: Type.Optional(
    name(
      'Provider of the first endpoint of the chosen model. With `spread`, a provider of its first group of endpoints.',
      'openai-eu',
    ),
  ),
  reason: Type.Optional(name('The `route_reason` of the choice.', 'auto:usual')),
  tier: Type.Optional(word(TIERS, 'The tier of the selector that must decide.', 'strong')),
  cost_below_credits: optional(policyAmount({ exclusiveMinimum: 0, example: 1 }, COST, '0.02 USD')),
  latency_below_ms: optional(
    figure('The longest acceptable expected time to the end of the answer, in ms.', {
      exclusiveMinimum: 0,
      example: 5000,
    }),
  ),
  quality_above: optional(
    figure('The lowest acceptable expected quality.', { minimum: 0, exclusiveMaximum: 1, example: 0.7 }),
  ),
};

export const ExpectText = closed(
  'The result that the decision must have. State at least one key.',
  {
    ...OF_THE_CHOICE,
    task: Type.Optional(name('The task that Signalbox must recognise.', 'coding')),
    rejected: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      default: {},
      examples: [{ 'qwen3-coder-local': 'legal-stays-in-the-eu' }],
      description: 'Model → the constraint, or the kind of reason, that must reject it.',
    }),
    blocked: Type.Optional(name('The guard that must refuse the request, or block its answer.', 'no-secrets')),
    masked: Type.Array(name('A guard.', 'personal-data'), {
      default: [],
      examples: [['personal-data']],
      description: 'The guards that must mask a text of the request, or of its answer.',
    }),
    repaired: Type.Array(name('A guard.', 'forms'), {
      default: [],
      examples: [['forms']],
      description: 'The guards that must repair the answer.',
    }),
    cached: Type.Optional(
      flag(
        'Whether the `cache` of the policy applies to the request, so that an equal request gets the same answer again.',
        { examples: [true] },
      ),
    ),
    refused: Type.Optional(name('The expected error code, if the request must be refused.', 'no_eligible_model')),
  },
  { minProperties: 1, ...excludesEach(['refused', 'blocked'], Object.keys(OF_THE_CHOICE)) },
);

export type ExpectText = Static<typeof ExpectText>;

export const CaseText = closed('A test case of the policy: a request, and the decision that the policy must make.', {
  name: text('The fact that the test case proves.', {
    minLength: 1,
    maxLength: 200,
    example: 'legal work never leaves the EU',
  }),
  given: GivenText,
  expect: ExpectText,
});
export type CaseText = Static<typeof CaseText>;
