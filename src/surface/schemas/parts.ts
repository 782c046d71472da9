import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { FAILURE_KINDS } from '../../contract/parts.ts';

/**
 * Helpers for the schemas of answers. Answers are left open (`additionalProperties` is not set):
 * within `/v1` fields are added, and a client made from the document must not mind.
 */
export function named<Properties extends TProperties>(title: string, description: string, properties: Properties) {
  return Type.Object(properties, { title, description });
}

export const orNull = <Schema extends TSchema>(schema: Schema, description: string, ...examples: unknown[]) =>
  Type.Union([schema, Type.Null()], { description, ...(examples.length > 0 && { examples }) });

/** One of some words. */
export const word = <Word extends string>(words: readonly Word[], description: string, ...examples: Word[]) =>
  Type.Union(
    words.map((each) => Type.Literal(each)),
    { description, ...(examples.length > 0 && { examples }) },
  );

export const credits = (description: string, example: number) =>
  Type.Number({ description: `${description} In Credits, at most 6 decimals.`, examples: [example] });

export const tokens = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] });

export const milliseconds = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description: `${description} In ms.`, examples: [example] });

export const unixTime = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description} Unix time in seconds.`, examples: [1_793_000_000] });

export const moment = (description: string, example = '2026-11-20T09:30:00.000Z') =>
  Type.String({ description: `${description} ISO 8601, UTC.`, examples: [example] });

export const momentOrNull = (description: string, ...examples: string[]) =>
  orNull(Type.String(), `${description} ISO 8601, UTC.`, ...examples);

/** The fields of a list. */
export const listOf = <Items extends TSchema>(items: Items, description?: string) => ({
  object: Type.Literal('list', { description: 'Always `list`.' }),
  data: Type.Array(items, description === undefined ? {} : { description }),
});

export const failureKind = word(FAILURE_KINDS, 'The kind of failure.');

export const modelId = (description: string, example = 'gpt-6-luna') =>
  Type.String({ description, examples: [example] });

export const decisionId = Type.String({
  description: 'Names the decision; `GET /v1/decisions/{id}` explains it.',
  examples: ['dec_0a4x1wm3zk0'],
});

export const policyRevision = Type.String({
  description: 'Names the policy in force when the decision was made.',
  examples: ['95f1a7d5f908027b'],
});

export const routeReason = Type.String({
  description:
    'Why this model, as a short and stable label: `pinned`, or the selector and the strategy. `:explored` is appended when another model than the best was drawn, to learn, and `:fallback` when the first choice failed.',
  examples: ['auto:balanced', 'pinned', 'auto:balanced:fallback', 'auto:balanced:explored'],
});

export const upstreamRequestId = orNull(
  Type.String({ examples: ['req_011CT3xgr1oV8B9YvDbBMeQx'] }),
  'The provider’s own name of the request, for its support; null where it gave none.',
);
export const rawFinishReasons = Type.Array(Type.String({ examples: ['end_turn'] }), {
  description: 'Why each choice ended, in the provider’s own words.',
});
