import { type SchemaOptions, type StringOptions, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { LEFT_OUT_REASONS } from '../decision/decision.ts';
import { ANSWER_SIGNALS, FAILURE_KINDS } from '../decision/failure-kinds.ts';

/**
 * Helpers for the schemas of answers. Schemas of answers stay open (`additionalProperties` is not set), because fields may be added within
 * `/v1`, and a client generated from the OpenAPI document must accept added fields.
 */
export function named<Properties extends TProperties>(title: string, description: string, properties: Properties) {
  return Type.Object(properties, { title, description });
}

/** For objects that may have members beyond the schema's. */
export const open = { additionalProperties: true } as const;

/** An object in a request that keeps members which the schema does not name. */
export const openShape = <Properties extends TProperties>(properties: Properties, options: SchemaOptions = {}) =>
  Type.Object(properties, { ...open, ...options });

/** The schema of an open object with a fixed `type`. */
export const tagged = <Tag extends string, Properties extends TProperties>(
  type: Tag,
  properties: Properties,
  options: SchemaOptions = {},
) => openShape({ type: Type.Literal(type), ...properties }, options);

/**
 * An open object with any `type` except the given ones, which have schemas of their own. The static type of the object's `type` is a
 * literal, so that the compiler can tell the variants of a union apart.
 */
export const otherThan = (types: readonly string[], ofType: StringOptions = {}, options: SchemaOptions = {}) => {
  const type = Type.String({ pattern: `^(?!(?:${types.join('|')})$)`, ...ofType });
  return openShape({ type: Type.Unsafe<'(unnamed)'>(type) }, options);
};

/** A member that may be left out or null; null is kept. */
export const optional = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

/** The schema of an object inside another object. */
export const shape = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Object(properties, { description });

/** An object inside another object, in which every member is optional. */
export const partialShape = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Partial(shape(description, properties));

/** The body of a request to Signalbox's own routes, or an object inside such a body. The schema refuses unknown members. */
export const body = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Object(properties, { additionalProperties: false, description });

/** A body in which every member is optional. The schema refuses unknown members. */
export const partialBody = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Partial(body(description, properties));

const shown = (description: string, examples: readonly unknown[]) => ({
  description,
  ...(examples.length > 0 && { examples }),
});

export const text = (description: string, ...examples: string[]) => Type.String(shown(description, examples));

export const figure = (description: string, ...examples: number[]) => Type.Number(shown(description, examples));

export const count = (description: string, ...examples: number[]) =>
  Type.Integer({ minimum: 0, ...shown(description, examples) });

/** The schema of a number from 0 to 1. */
export const share = (description: string, ...examples: number[]) =>
  Type.Number({ minimum: 0, maximum: 1, ...shown(description, examples) });

export const flag = (description: string, ...examples: boolean[]) => Type.Boolean(shown(description, examples));

export const always = <Value extends string>(value: Value) =>
  Type.Literal(value, { description: `Always \`${value}\`.` });

export const arrayOf = <Items extends TSchema>(items: Items, description: string, ...examples: unknown[][]) =>
  Type.Array(items, shown(description, examples));

export const textList = (description: string, ...examples: string[][]) =>
  arrayOf(Type.String(), description, ...examples);

export const orNull = <Schema extends TSchema>(schema: Schema, description: string, ...examples: unknown[]) =>
  Type.Union([schema, Type.Null()], shown(description, examples));

/** The schema of a list of objects. */
export const rows = <Fields extends TProperties>(description: string, fields: Fields, ...examples: unknown[][]) =>
  arrayOf(Type.Object(fields), description, ...examples);

/** The schema of a map whose names are free. */
export const mapOf = <Value extends TSchema>(value: Value, description: string, ...examples: object[]) =>
  Type.Record(Type.String(), value, shown(description, examples));

/** The schema of an object, or null. */
export const shapeOrNull = <Fields extends TProperties>(description: string, fields: Fields, ...examples: unknown[]) =>
  orNull(Type.Object(fields), description, ...examples);

/** The schema of a text, or null. */
export const textOrNull = (description: string, ...examples: (string | null)[]) =>
  orNull(Type.String(), description, ...examples);

/** The member `alias` of an answer or a recommendation. */
export const aliasUsed = Type.Optional(
  text(
    'The name that the request used as `model`, if it is an alias or another name of a selector or model. Absent otherwise.',
    'claude-sonnet-5-5',
  ),
);

/** Describes `output_capped_by`. @param what the cap that was lowered @param none the value if neither a fund nor the model lowered it */
export const cappedByText = (what: string, none: 'Absent' | 'Null'): string =>
  `What lowered ${what}: the name of a budget, \`balance\`, or \`model\` for the model’s own maximum. ${none} if none of them did. \`budget_limit\` and the context window are not reported.`;

/** The schema of a list of texts, or null. */
export const textListOrNull = (description: string, ...examples: (string[] | null)[]) =>
  orNull(Type.Array(Type.String()), description, ...examples);

/** The schema of a value that is true, false or null. */
export const flagOrNull = (description: string, ...examples: boolean[]) =>
  orNull(Type.Boolean(), description, ...examples);

/** The schema of a number, or null. */
export const figureOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Number(), description, ...examples);

/** The schema of a whole number, or null. */
export const wholeOrNull = (description: string, ...examples: (number | null)[]) =>
  orNull(Type.Integer(), description, ...examples);

/** The schema of one of a fixed list of words. */
export const word = <const Word extends string>(words: readonly Word[], description: string, ...examples: Word[]) =>
  Type.Unsafe<Word>(
    Type.Union(
      words.map((each) => Type.Literal(each)),
      shown(description, examples),
    ),
  );

export const credits = (description: string, example: number) =>
  figure(`${description} In Credits, at most 6 decimals.`, example);

/** An exact decimal, as text, because a JSON number would lose digits. */
export const usd = (description: string, example: string) => text(`${description} In USD, an exact decimal.`, example);

export const tokens = count;

export const milliseconds = (description: string, example: number) => count(`${description} In ms.`, example);

export const unixTime = (description: string) => count(`${description} Unix time in seconds.`, 1_793_000_000);

export const moment = (description: string, example = '2026-11-20T09:30:00.000Z') =>
  text(`${description} ISO 8601, UTC.`, example);

export const momentOrNull = (description: string, ...examples: string[]) =>
  textOrNull(`${description} ISO 8601, UTC.`, ...examples);

/** The fields of an answer that is a list. */
export const listOf = <Items extends TSchema>(items: Items, description?: string) => ({
  object: always('list'),
  data: Type.Array(items, description === undefined ? {} : { description }),
});

export const failureKind = word(
  [...FAILURE_KINDS, 'refused', ...ANSWER_SIGNALS],
  'The kind of failure. `refused`: the model or a content filter refused to answer, and a fallback followed. `malformed_call`, `broken_schema` and `empty_answer`: the answer did not have the form that the request wants, and another model was tried.',
);

export const afterSignal = word(
  ANSWER_SIGNALS,
  'What was wrong with the earlier answer to the same request, if a model of the strong tier was then tried. Absent for other attempts.',
);
export const attemptCredits = credits(
  'The charge for this attempt. Absent if it was not charged, or if none before the last attempt was charged.',
  0.03,
);

export const modelId = (description: string, example = 'gpt-6-luna') => text(description, example);

export const decisionId = text('ID of the decision. `GET /v1/decisions/{id}` explains it.', 'dec_0a4x1wm3zk0');

export const policyRevision = text(
  'The policy revision that was active when the decision was made. If models were found at servers of the operator, a hyphen and a hash of them follow.',
  '95f1a7d5f908027b',
);

export const routeReason = text(
  'Why this model was chosen, as a short and stable label: `pinned`, or the selector and the strategy. `:fallback` is appended if the first choice failed, or if the model that the request names was left out, and `:second_attempt` if its answer did not have the form that the request wants and the answer comes from a model of the strong tier. Earlier versions appended `:explored` if they picked a model other than the best at random.',
  'auto:usual',
  'pinned',
  'auto:usual:fallback',
  'auto:usual',
);

const insteadOfFields = {
  model: modelId('The model that the request names.', 'gpt-6-astra'),
  reason: word(
    LEFT_OUT_REASONS,
    'Why it was left out: the kind of its rejection, as in an explanation, or the state of its endpoints. /docs/guide/route/fallback.md explains the words.',
    'cooling',
  ),
  text: text('The reason in words.', 'it is unavailable for now: its provider asked for a pause'),
};
const INSTEAD_OF = 'The model that the request names, if it was not called and a fallback was used instead.';

export const insteadOf = shape(`${INSTEAD_OF} Absent otherwise.`, insteadOfFields);

export const insteadOfOrNull = (more = '') =>
  shapeOrNull(`${INSTEAD_OF} Null otherwise${more}.`, insteadOfFields, null);

export const upstreamRequestId = textOrNull(
  'The provider’s own ID of the request, for its support; null if the provider sent none.',
  'req_011CT3xgr1oV8B9YvDbBMeQx',
);
export const rawFinishReasons = arrayOf(
  Type.String({ examples: ['end_turn'] }),
  'Why each choice of the answer ended, in the provider’s own words.',
);
