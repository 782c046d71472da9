import { type Static, Type } from '@sinclair/typebox';
import { count, named, word } from '../../core/define/fields.ts';
import { modelRequest } from '../../core/request/model-request.ts';
import { unsupportedThread } from '../../core/request/thread-errors.ts';
import { compileRead } from '../../core/schema/validation.ts';
import type { CountRoute } from '../surface.ts';
import { checkMessages } from './check.ts';
import { requestHeaders } from './headers.ts';
import { MESSAGES_READER } from './reader.ts';
import { MessagesRequest, messageFields } from './request.ts';

/** The body of a token count: the fields that form the prompt, and the fields that the policy's rules use. */
const CountRequest = Type.Object(
  { ...messageFields, metadata: MessagesRequest.properties.metadata },
  { additionalProperties: true, $id: 'MessagesCountRequest' },
);

/** The answer to a token count. */
const PromptTokens = named('MessagesCount', 'The size of a prompt.', {
  input_tokens: count('Input tokens.', 2_095),
  basis: word(
    ['counted', 'provider', 'estimated'],
    '`counted`: the model’s tokenizer, which Signalbox includes, counted the tokens. `provider`: the model’s provider counted them. `estimated`: Signalbox estimated them, always for a selector. This is an extension of the API.',
  ),
});

const checked = compileRead(CountRequest, 'messages');

const EXAMPLE = { model: 'auto', system: 'Be brief.', messages: [{ role: 'user', content: 'Say hello.' }] };

/** `POST /v1/messages/count_tokens`. */
export const countTokens: CountRoute = {
  kind: 'count',
  method: 'POST',
  path: '/v1/messages/count_tokens',
  docs: {
    summary: 'Count the tokens of a message',
    description:
      'Returns the number of prompt tokens in these messages, tools and system prompt. Costs nothing. If `model` names a model, its provider counts the tokens if it can.',
    request: CountRequest,
    requests: { simple: { summary: 'A greeting', value: EXAMPLE } },
    answer: { schema: PromptTokens, description: 'The tokens.', example: { input_tokens: 19, basis: 'estimated' } },
    errorField: 'messages[0].content',
  },
  read({ body, headers }) {
    const count: Static<typeof CountRequest> = checked(body);
    checkMessages(count);
    if (Reflect.get(count, 'thread') != null)
      throw unsupportedThread('The tokens of a history that a provider keeps cannot be counted.');
    // A token count produces no answer, so limits of an answer do not apply.
    return modelRequest({ ...count, constraints: null, max_tokens: 1 }, MESSAGES_READER, requestHeaders(headers));
  },
  answer: ({ inputTokens, basis }) => ({ input_tokens: inputTokens, basis }),
};
