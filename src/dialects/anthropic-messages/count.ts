import { type Static, Type } from '@sinclair/typebox';
import { named, tokens, word } from '../../core/api/parts.ts';
import { type ModelRequest, modelRequest } from '../../core/model-request.ts';
import { compileRead } from '../../core/validation.ts';
import { unsupportedThread } from '../../gateway/prompt/threads.ts';
import { checkMessages } from './check.ts';
import { requestHeaders } from './headers.ts';
import { MESSAGES_READER } from './reader.ts';
import { MessagesRequest, messageFields } from './request.ts';

/** The body of a count: the fields of a request that its prompt is made of, and those that the policy's rules go by. */
export const CountRequest = Type.Object(
  { ...messageFields, metadata: MessagesRequest.properties.metadata },
  { additionalProperties: true, $id: 'MessagesCountRequest' },
);

/** The answer to a count. */
export const PromptTokens = named('MessagesCount', 'The size of a prompt.', {
  input_tokens: tokens('Input tokens.', 2_095),
  basis: word(
    ['counted', 'provider', 'estimated'],
    '`counted` by the model’s tokenizer, where it is shipped; `provider` by the model’s service; else, and for selectors, `estimated`. An extension: clients skip it.',
  ),
});

const checked = compileRead(CountRequest);

/**
 * Reads the body of a count as the request that it stands for.
 * @throws SignalboxError for the field at fault.
 */
export function readCount(body: unknown, headers: Headers): ModelRequest {
  const count: Static<typeof CountRequest> = checked(body);
  checkMessages(count);
  if (Reflect.get(count, 'thread') != null)
    throw unsupportedThread('The tokens of a history elsewhere cannot be counted.');
  // A count writes nothing, so limits of an answer do not apply.
  return modelRequest({ ...count, constraints: null, max_tokens: 1 }, MESSAGES_READER, requestHeaders(headers));
}
