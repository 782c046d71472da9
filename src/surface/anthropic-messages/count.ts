import { type Static, Type } from '@sinclair/typebox';
import { type ModelRequest, modelRequest } from '../../core/model-request.ts';
import { compileRead } from '../../core/validation.ts';
import { named, tokens, word } from '../schemas/parts.ts';
import { checkMessages } from './check.ts';
import { MESSAGES_READER } from './reader.ts';
import { messageFields } from './request.ts';

/** The body of a count: the fields of a request that its prompt is made of. */
export const CountRequest = Type.Object(messageFields, { additionalProperties: true, $id: 'MessagesCountRequest' });

/** The answer to a count. */
export const PromptTokens = named('MessagesCount', 'The size of a prompt.', {
  input_tokens: tokens('Input tokens.', 2_095),
  basis: word(
    ['counted', 'estimated'],
    '`counted` where the model’s tokenizer is shipped and has counted the texts, `estimated` for other models and for selectors. An extension: clients skip it.',
  ),
});

const checked = compileRead(CountRequest);

/**
 * Reads the body of a count as the request that it stands for.
 * @throws SignalboxError for the field at fault.
 */
export function readCount(body: unknown): ModelRequest {
  const count: Static<typeof CountRequest> = checked(body);
  checkMessages(count);
  return modelRequest({ ...count, max_tokens: 1 }, MESSAGES_READER);
}
