import { type Static, Type } from '@sinclair/typebox';
import { nullable, nullableMembers } from '../../core/nullable.ts';
import { ChatRequest } from '../openai-chat/request.ts';

/** Inputs of a request at most, as at OpenAI. */
const INPUTS_MAX = 2048;

const Text = Type.String({ minLength: 1 });
const Tokens = Type.Array(Type.Integer({ minimum: 0, maximum: 4_294_967_295 }), { minItems: 1 });

const { route_strategy, constraints, budget_limit, agent_wallet } = ChatRequest.properties;

/** The request for embeddings: OpenAI's, with Signalbox's additions. Like that of chat, it is check, type and documentation. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The ID of an embedding model, or a selector with a `vector_space`.',
    }),
    input: Type.Union(
      [
        Text,
        Type.Array(Text, { minItems: 1, maxItems: INPUTS_MAX }),
        Tokens,
        Type.Array(Tokens, { minItems: 1, maxItems: INPUTS_MAX }),
      ],
      { description: `A text, a list of at most ${INPUTS_MAX} texts, or the same as tokens of the model’s tokenizer.` },
    ),
    dimensions: nullable(
      Type.Integer({ minimum: 1, maximum: 65_536, description: 'Length of the vectors. Default: the model’s own.' }),
    ),
    encoding_format: nullable(
      Type.Union([Type.Literal('float'), Type.Literal('base64')], {
        description: '`float` (default), or `base64` of 32-bit floats, little-endian.',
      }),
    ),
    user: nullable(Type.String()),
    metadata: nullable(nullableMembers(Type.String())),
    route_strategy,
    constraints,
    budget_limit,
    agent_wallet,
  },
  { additionalProperties: true, $id: 'EmbeddingsRequest' },
);
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** The fields that the gateway itself understands. Anything else is an extra. */
export const KNOWN_FIELDS: ReadonlySet<string> = new Set(Object.keys(EmbeddingsRequest.properties));
