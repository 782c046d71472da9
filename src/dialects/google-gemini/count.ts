import { Type } from '@sinclair/typebox';
import { count, named, openShape, word } from '../../core/define/fields.ts';
import { isObject } from '../../core/json/object.ts';
import { nullable } from '../../core/schema/nullable.ts';
import { compileRead } from '../../core/schema/validation.ts';
import type { CountRoute } from '../surface.ts';
import { plainBody } from './plain-body.ts';
import { readGenerate } from './reader.ts';
import { GenerateRequest } from './request.ts';

const CountRequest = Type.Object(
  {
    contents: Type.Optional(GenerateRequest.properties.contents),
    generateContentRequest: nullable(
      openShape({}, { description: 'A whole request, with `contents`, tools and a system instruction.' }),
    ),
  },
  { additionalProperties: true, $id: 'CountTokensRequest' },
);

const checkedWhole = compileRead(Type.Pick(CountRequest, ['generateContentRequest']));

const CountedTokens = named('CountTokensResponse', 'The size of a prompt.', {
  totalTokens: count('Input tokens.', 19),
  basis: word(
    ['counted', 'provider', 'estimated'],
    '`counted`: the model’s tokenizer, which Signalbox includes, counted the tokens. `provider`: the model’s provider counted them. `estimated`: Signalbox estimated them, always for a selector. This is an extension of the API.',
  ),
});

/** `:countTokens`. */
export const countTokens: CountRoute = {
  kind: 'count',
  method: 'POST',
  path: '/v1beta/models/{model}:countTokens',
  alsoAt: ['/v1/models/{model}:countTokens'],
  docs: {
    summary: 'Count the tokens of a prompt, as in Gemini’s API',
    description:
      'Returns the number of prompt tokens in `contents` or in a whole `generateContentRequest`. Costs nothing.',
    request: CountRequest,
    requests: {
      simple: { summary: 'A greeting', value: { contents: [{ parts: [{ text: 'Say hello.' }] }] } },
    },
    answer: { schema: CountedTokens, description: 'The tokens.', example: { totalTokens: 19, basis: 'estimated' } },
    errorField: 'contents',
  },
  read({ body, params, headers }) {
    const plain = plainBody(body);
    const whole = isObject(plain) ? (checkedWhole(plain).generateContentRequest ?? plain) : plain;
    // A count produces no answer, so limits of an answer do not apply. The path states the model.
    const counted = isObject(whole) ? { ...whole, model: null, constraints: null } : whole;
    return readGenerate(counted, params.model, headers, false).request;
  },
  answer: ({ inputTokens, basis }) => ({ totalTokens: inputTokens, basis }),
};
