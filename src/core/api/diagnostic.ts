import { Type } from '@sinclair/typebox';
import { named, shape, text, word } from '../define/fields.ts';

const place = {
  file: text('Path of the file.', 'policies/models.yaml'),
  line: Type.Integer({ minimum: 1, description: 'The line, counted from 1.' }),
  column: Type.Integer({ minimum: 1, description: 'The column, counted from 1, in UTF-16 units.' }),
  length: Type.Integer({ minimum: 1, description: 'The number of columns that the problem covers.' }),
};

export const PolicyDiagnostic = named('PolicyDiagnostic', 'One problem in a policy, with its location.', {
  severity: word(['error', 'warning'], 'An error prevents the policy from becoming active; a warning does not.'),
  code: text('The kind of problem, for programs. Codes never change.', 'unknown-key'),
  message: text('What is wrong, for people.'),
  ...place,
  expected: Type.Optional(text('The form that would be correct.')),
  hint: Type.Optional(text('What was probably intended, or how to fix the problem.')),
  related: Type.Optional(
    shape('A related place.', {
      place: shape('Where it is.', place),
      message: text('How this location is related to the problem.'),
    }),
  ),
});
