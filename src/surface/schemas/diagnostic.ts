import { Type } from '@sinclair/typebox';
import { named, word } from './parts.ts';

const place = {
  file: Type.String({ description: 'Path of the file.', examples: ['policies/models.yaml'] }),
  line: Type.Integer({ minimum: 1, description: 'Counts from 1.' }),
  column: Type.Integer({ minimum: 1, description: 'Counts from 1, in UTF-16 units.' }),
  length: Type.Integer({ minimum: 1, description: 'How many columns it takes.' }),
};

export const PolicyDiagnostic = named('PolicyDiagnostic', 'One problem of a policy, with its place.', {
  severity: word(['error', 'warning'], 'Errors keep a policy from serving.'),
  code: Type.String({ description: 'The problem for programs. Codes are never renamed.', examples: ['unknown-key'] }),
  message: Type.String({ description: 'The problem for people.' }),
  ...place,
  expected: Type.Optional(Type.String({ description: 'The form that would be correct.' })),
  hint: Type.Optional(Type.String({ description: 'The probable intention, or the way to fix the problem.' })),
  related: Type.Optional(
    Type.Object(
      {
        place: Type.Object(place, { description: 'Where it is.' }),
        message: Type.String({ description: 'The meaning of this place.' }),
      },
      { description: 'A related place.' },
    ),
  ),
});
