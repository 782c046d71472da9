import { type Static, Type } from '@sinclair/typebox';
import { Dimensions, Input } from '../../core/api/embedding-query.ts';
import { ROUTING_FIELDS } from '../../core/api/routing-fields.ts';
import { nullable, nullableMembers } from '../../core/nullable.ts';

/** The request for embeddings: OpenAI's, with Signalbox's additions. Like that of chat, it is check, type and documentation. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The ID of an embedding model, or a selector with a `vector_space`.',
    }),
    input: Input,
    dimensions: nullable(Dimensions),
    encoding_format: nullable(
      Type.Union([Type.Literal('float'), Type.Literal('base64')], {
        description: '`float` (default), or `base64` of 32-bit floats, little-endian.',
      }),
    ),
    user: nullable(Type.String()),
    metadata: nullable(nullableMembers(Type.String())),
    ...ROUTING_FIELDS,
  },
  { additionalProperties: true, $id: 'EmbeddingsRequest' },
);
export type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** The fields that the gateway itself understands. Anything else is an extra. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(EmbeddingsRequest.properties);
