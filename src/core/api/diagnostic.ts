import { Type } from '@sinclair/typebox';
import { named, shape, text, word } from './parts.ts';

const place = {
  file: text('Path of the file.', 'policies/models.yaml'),
  line: Type.Integer({ minimum: 1, description: 'Counts from 1.' }),
  column: Type.Integer({ minimum: 1, description: 'Counts from 1, in UTF-16 units.' }),
  length: Type.Integer({ minimum: 1, description: 'How many columns it takes.' }),
};

export const PolicyDiagnostic = named('PolicyDiagnostic', 'One problem of a policy, with its place.', {
  severity: word(['error', 'warning'], 'Errors keep a policy from serving.'),
  code: text('The problem for programs. Codes are never renamed.', 'unknown-key'),
  message: text('The problem for people.'),
  ...place,
  expected: Type.Optional(text('The form that would be correct.')),
  hint: Type.Optional(text('The probable intention, or the way to fix the problem.')),
  related: Type.Optional(
    shape('A related place.', {
      place: shape('Where it is.', place),
      message: text('The meaning of this place.'),
    }),
  ),
});
