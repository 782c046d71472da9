import { Type } from '@sinclair/typebox';
import { always, named, shape, text, textOrNull, word } from '../../core/define/fields.ts';
import { ERROR_TYPES } from './error.ts';

export const MessagesError = named('MessagesError', 'The body of every error.', {
  type: always('error'),
  error: shape('The error.', {
    type: word(ERROR_TYPES, 'The type of the error, as Anthropic names it.'),
    message: text('One or two sentences for people.'),
    details: shape('Details for programs, depending on the code.', {
      error_code: text('The error code for programs, as in the list of errors.', 'insufficient_quota'),
      param: Type.Optional(text('Path of the field at fault.', 'messages[0].content')),
    }),
  }),
  request_id: textOrNull('The ID of the request, for the operator; null in a stream.', 'req_0a4x1wm3zk0'),
});
