import { describe, expect, test } from 'bun:test';
import type { WireRequest } from '../support/dialects/dialect.ts';
import { gemini } from '../support/dialects/gemini.ts';

const user = (...parts: object[]) => ({ role: 'user', parts });
const model = (...parts: object[]) => ({ role: 'model', parts });
const hello = user({ text: 'Hello' });
const call = { functionCall: { name: 'f', args: {} } };
const result = { functionResponse: { name: 'f', response: { output: 'found' } } };
const declared = (...declarations: object[]) => ({ tools: [{ functionDeclarations: declarations }] });
const config = (generationConfig: object) => ({ generationConfig });
const parameters = (schema: object) => declared({ name: 'f', parameters: schema });
const mode = (functionCallingConfig: object) => ({
  ...declared({ name: 'f' }),
  toolConfig: { functionCallingConfig },
});

function requestOf(name: string, change: object): WireRequest {
  const text = JSON.stringify({ contents: [hello], ...change });
  return {
    method: 'POST',
    path: `/v1beta/models/${name}:generateContent`,
    query: new URLSearchParams(),
    headers: new Headers({ 'x-goog-api-key': 'k' }),
    text,
    body: JSON.parse(text),
  };
}

const refusalOf = (change: object, name = 'gemini-2.5-flash') =>
  JSON.stringify(gemini.refusal(requestOf(name, change), 'k')?.body ?? null);

/** Requests that the API refuses, text of its answer, and the model, `gemini-2.5-flash` by default. */
const REFUSED: Readonly<Record<string, readonly [change: object, words: string, model?: string]>> = {
  'a name that it does not know': [{ stream: true }, 'Unknown name \\"stream\\": Cannot find field.'],
  'OpenAI’s name of the cap': [config({ max_tokens: 1 }), "at 'generation_config'"],
  'a keyword of JSON Schema in its own form': [
    parameters({ type: 'object', properties: { a: { type: 'string', const: 'x' } } }),
    "at 'tools[0].function_declarations[0].parameters.properties[0].value'",
  ],
  'no contents': [{ contents: [] }, 'contents is not specified'],
  'no parts': [{ contents: [user()] }, 'must not be empty'],
  'an empty part': [{ contents: [user({})] }, 'must have one initialized field'],
  'a part of two kinds': [{ contents: [user({ text: 'a', ...call })] }, 'oneof'],
  'OpenAI’s role': [{ contents: [hello, { role: 'assistant', parts: [{ text: 'a' }] }] }, 'valid role'],
  'an image of an unknown type': [
    { contents: [user({ inlineData: { mimeType: 'image/bmp', data: 'AAAA' } })] },
    'Unsupported MIME type: image/bmp',
  ],
  'arguments as a text': [
    { contents: [hello, model({ functionCall: { name: 'f', args: '{}' } }), user(result)] },
    'protobuf.Struct',
  ],
  'a response that is no object': [
    { contents: [hello, model(call), user({ functionResponse: { name: 'f', response: 'found' } })] },
    'protobuf.Struct',
  ],
  'a call without its response': [{ contents: [hello, model(call), hello] }, 'number of function response parts'],
  'fewer responses than calls': [{ contents: [hello, model(call, call), user(result)] }, 'number of function response'],
  'a response without a call': [{ contents: [hello, user(result)] }, 'immediately after a function call turn'],
  'a response of another name': [
    { contents: [hello, model(call), user({ functionResponse: { name: 'g', response: {} } })] },
    'does not match',
  ],
  'a call without its signature': [
    { contents: [hello, model(call), user(result)] },
    'thought_signature',
    'gemini-3-pro',
  ],
  'a signature of somebody else’s': [
    { contents: [hello, model({ ...call, thoughtSignature: 'AAAA' }), user(result)] },
    'Corrupted thought signature',
    'gemini-3-pro',
  ],
  'a last word of the model’s': [{ contents: [hello, model({ text: 'Hi' })] }, 'end with a user role', 'gemini-4-neon'],
  'two functions of one name': [declared({ name: 'f' }, { name: 'f' }), 'Duplicate function declaration'],
  'a name with a blank': [declared({ name: 'a b' }), 'Invalid function name'],
  'an object without properties': [parameters({ type: 'object', properties: {} }), 'should be non-empty for OBJECT'],
  'a list of nothing': [parameters({ type: 'array' }), 'missing field'],
  'several types': [parameters({ type: ['string', 'null'] }), 'Proto field is not repeating'],
  'an enumeration of numbers': [parameters({ type: 'integer', enum: [1] }), 'only allowed for STRING type'],
  'OpenAI’s word for a mode': [mode({ mode: 'REQUIRED' }), 'function_calling_config.mode'],
  'names beside a free choice': [mode({ mode: 'AUTO', allowedFunctionNames: ['f'] }), 'only when'],
  'a stranger’s name': [mode({ mode: 'ANY', allowedFunctionNames: ['g'] }), 'not a declared function'],
  'a mode without functions': [{ toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, 'without function_decl'],
  'a temperature above two': [config({ temperature: 2.1 }), '[0.0, 2.0]'],
  'six stop sequences': [config({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }), 'at most 5'],
  'a cap of nothing': [config({ maxOutputTokens: 0 }), 'must be positive'],
  'nine candidates': [config({ candidateCount: 9 }), '[1, 8]'],
  'two candidates of the newer': [config({ candidateCount: 2 }), 'Multiple candidates', 'gemini-3-pro'],
  penalties: [config({ presencePenalty: 1 }), 'Penalty is not enabled'],
  'a schema without its type': [config({ responseJsonSchema: {} }), 'application/json'],
  'JSON beside functions': [
    { ...declared({ name: 'f' }), ...config({ responseMimeType: 'application/json' }) },
    'unsupported',
  ],
  'a level of an older model': [config({ thinkingConfig: { thinkingLevel: 'LOW' } }), 'level is not supported'],
  'a level and a budget': [config({ thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 1 } }), 'only one'],
  'a budget of the newest': [config({ thinkingConfig: { thinkingBudget: 1024 } }), 'not supported', 'gemini-4-neon'],
  'the least level of the newer': [
    config({ thinkingConfig: { thinkingLevel: 'MINIMAL' } }),
    'MINIMAL is not supported',
    'gemini-3.8-flash',
  ],
  'logprobs that are not asked for': [config({ logprobs: 3 }), 'response_logprobs'],
};

describe('Google’s API refuses', () => {
  for (const [what, [change, words, name]] of Object.entries(REFUSED)) {
    test(what, () => {
      const refusal = refusalOf(change, name);
      expect(refusal).toContain('"code":400');
      expect(refusal).toContain(words);
    });
  }

  test('a request without a key', () => {
    expect(gemini.refusal({ ...requestOf('gemini-3-pro', {}), headers: new Headers() }, 'k')).toMatchObject({
      status: 403,
      body: { error: { status: 'PERMISSION_DENIED' } },
    });
  });
});

describe('Google’s API accepts', () => {
  const TAKEN: Readonly<Record<string, readonly [change: object, model: string]>> = {
    'calls of turns gone by without a signature': [
      { contents: [hello, model(call), user(result), model({ text: 'Found.' }), hello] },
      'gemini-3-pro',
    ],
    'only the first call signed': [
      {
        contents: [
          hello,
          model({ ...call, thoughtSignature: 'skip_thought_signature_validator' }, call),
          user(result, result),
        ],
      },
      'gemini-3-pro',
    ],
    'a schema beside functions in newer models': [
      {
        ...declared({ name: 'f', parametersJsonSchema: { type: 'object' } }),
        ...config({ responseMimeType: 'application/json', responseJsonSchema: { type: ['object', 'null'] } }),
      },
      'gemini-3-pro',
    ],
  };
  for (const [what, [change, name]] of Object.entries(TAKEN)) {
    test(what, () => expect(refusalOf(change, name)).toBe('null'));
  }
});
