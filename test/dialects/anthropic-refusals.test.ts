import { describe, expect, test } from 'bun:test';
import { anthropic } from '../support/dialects/anthropic.ts';
import type { WireRequest } from '../support/dialects/dialect.ts';

const hello = { role: 'user', content: 'Hello' };
const tool = { name: 'f', input_schema: { type: 'object' } };
const call = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const result = { type: 'tool_result', tool_use_id: 'c1', content: 'found' };
const said = (...content: object[]) => ({ role: 'assistant', content });
const told = (...content: object[]) => ({ role: 'user', content });
const cached = { type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } };
const strict = (schema: object) => ({ output_config: { format: { type: 'json_schema', schema } } });
const budget = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });

function requestOf(change: object, headers: Record<string, string> = {}): WireRequest {
  const body = { model: 'claude-sonnet-4-6', max_tokens: 2000, messages: [hello], ...change };
  const given = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...headers };
  const text = JSON.stringify(body);
  const query = new URLSearchParams();
  return { method: 'POST', path: '/v1/messages', query, headers: new Headers(given), text, body: JSON.parse(text) };
}

const refusalOf = (change: object) => JSON.stringify(anthropic.refusal(requestOf(change), 'k')?.body ?? null);

/** Requests that the API refuses, and text of its answer. */
const REFUSED: Readonly<Record<string, readonly [change: object, words: string]>> = {
  'a member that it does not know': [{ n: 1 }, 'n: Extra inputs are not permitted'],
  'no cap': [{ max_tokens: undefined }, 'max_tokens: Field required'],
  'a cap above the model’s': [{ max_tokens: 128_001 }, 'maximum allowed number of output tokens'],
  'no messages': [{ messages: [] }, 'at least one message'],
  'OpenAI’s role for results': [{ messages: [hello, { role: 'tool', content: 'x' }] }, 'Unexpected role'],
  'a name on a message': [{ messages: [{ ...hello, name: 'x' }] }, 'messages.0.name: Extra inputs'],
  'an empty message': [{ messages: [{ role: 'user', content: '' }] }, 'must have non-empty content'],
  'an empty text': [{ messages: [told({ type: 'text', text: '' })] }, 'text content blocks must be non-empty'],
  'a blank text': [{ messages: [told({ type: 'text', text: ' ' })] }, 'non-whitespace text'],
  'OpenAI’s part for images': [{ messages: [told({ type: 'image_url', image_url: {} })] }, "Input tag 'image_url'"],
  'an image of an unknown type': [
    { messages: [told({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } })] },
    'media_type',
  ],
  'an image by http': [
    { messages: [told({ type: 'image', source: { type: 'url', url: 'http://a.test/a.png' } })] },
    'Only HTTPS',
  ],
  'a last word of the assistant’s': [{ messages: [hello, said({ type: 'text', text: 'Hi' })] }, 'prefill'],
  'a blank at the end of one': [
    { model: 'claude-opus-4-5', messages: [hello, said({ type: 'text', text: 'Hi ' })] },
    'trailing whitespace',
  ],
  'instructions amid the messages': [
    { messages: [hello, { role: 'system', content: 'Be kind.' }] },
    "role 'system' is not supported",
  ],
  'a call without its result': [{ messages: [hello, said(call), hello] }, 'without `tool_result` blocks'],
  'a result that comes late': [
    { messages: [hello, said(call), told({ type: 'text', text: 'So:' }, result)] },
    'without `tool_result` blocks',
  ],
  'a result of no call': [{ messages: [hello, said({ type: 'text', text: 'a' }), told(result)] }, 'unexpected'],
  'two results of one call': [{ messages: [hello, said(call), told(result, result)] }, 'single result'],
  'an ID twice': [{ messages: [hello, said(call), told(result), said(call), told(result)] }, 'must be unique'],
  'an ID with a dot': [{ messages: [hello, said({ ...call, id: 'a.b' }), told(result)] }, 'should match pattern'],
  'an input that is no object': [{ messages: [hello, said({ ...call, input: '{}' })] }, 'valid dictionary'],
  'a signature of somebody else’s': [
    { messages: [hello, said({ type: 'thinking', thinking: 'Hm', signature: 'AAAA' }, call), told(result)] },
    'Invalid `signature`',
  ],
  'no thinking before a call amid a turn': [
    { ...budget(1024), tools: [tool], messages: [hello, said(call), told(result)] },
    'Expected `thinking`',
  ],
  'five marks for the cache': [{ system: [cached, cached, cached, cached, cached] }, 'maximum of 4 blocks'],
  'two tools of one name': [{ tools: [tool, tool] }, 'Tool names must be unique.'],
  'a name with a dot': [{ tools: [{ ...tool, name: 'a.b' }] }, 'tools.0.custom.name'],
  'OpenAI’s form of a tool': [{ tools: [{ type: 'function', function: tool }] }, 'Extra inputs'],
  'a tool that takes no object': [{ tools: [{ ...tool, input_schema: {} }] }, 'input_schema.type'],
  'a tool that takes this or that': [
    { tools: [{ ...tool, input_schema: { type: 'object', anyOf: [] } }] },
    'at the top level',
  ],
  'a choice without tools': [{ tool_choice: { type: 'any' } }, 'only be specified while providing tools'],
  'a choice of a stranger': [{ tools: [tool], tool_choice: { type: 'tool', name: 'g' } }, 'not found'],
  'OpenAI’s word for a choice': [{ tools: [tool], tool_choice: 'required' }, 'tool_choice'],
  'a forced call where the model thinks': [
    { ...budget(1024), tools: [tool], tool_choice: { type: 'any' } },
    'forces tool use',
  ],
  'a forced call of the newest': [
    { model: 'claude-opus-5-5', tools: [tool], tool_choice: { type: 'any' } },
    'not supported on this model',
  ],
  'a budget that is too small': [budget(1000), 'greater than or equal to 1024'],
  'a budget as large as the cap': [budget(2000), 'must be greater than'],
  'a budget for the newest': [{ model: 'claude-opus-5-5', ...budget(1024) }, 'thinking.type.enabled'],
  'no thinking of the newest': [
    { model: 'claude-opus-5-5', thinking: { type: 'disabled' } },
    '\\"thinking.type.disabled\\" is not supported',
  ],
  'adaptive thinking of an older one': [
    { model: 'claude-haiku-4-5', thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported',
  ],
  'effort of an older one': [{ model: 'claude-haiku-4-5', output_config: { effort: 'low' } }, 'effort parameter'],
  'a temperature above one': [{ temperature: 1.5 }, 'temperature: range'],
  'a temperature of the newest': [{ model: 'claude-opus-5', temperature: 0.5 }, 'deprecated for this model'],
  'a temperature while it thinks': [{ thinking: { type: 'adaptive' }, temperature: 0.5 }, 'may only be set to 1'],
  'temperature and top_p': [{ temperature: 0.5, top_p: 0.9 }, 'cannot both be specified'],
  'a blank stop sequence': [{ stop_sequences: ['\n'] }, 'non-whitespace'],
  'a schema with a bound': [
    strict({ type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, additionalProperties: false }),
    "'minimum' is not supported",
  ],
  'a schema that is open': [strict({ type: 'object', properties: {} }), 'additionalProperties'],
};

describe('Anthropic’s API refuses', () => {
  for (const [what, [change, words]] of Object.entries(REFUSED)) {
    test(what, () => expect(refusalOf(change)).toContain(words));
  }

  test('a request without its version, and one without a key', () => {
    const { headers } = requestOf({});
    headers.delete('anthropic-version');
    expect(anthropic.refusal({ ...requestOf({}), headers }, 'k')).toMatchObject({ status: 400 });
    expect(anthropic.refusal(requestOf({}, { 'x-api-key': 'wrong' }), 'k')).toMatchObject({ status: 401 });
  });

  test('thinking moved behind text by the newest models, but not by older ones', () => {
    const [bound, free] = ['claude-opus-5-5', 'claude-sonnet-4-6'].map((model) => {
      const asked = requestOf({ model });
      const { content } = anthropic.reply(asked, {
        reasoning: 'Hm',
        toolCalls: [{ id: 'c1', name: 'f', arguments: '{}' }],
      }) as {
        readonly content: object[];
      };
      return refusalOf({ model, messages: [{ ...hello, content: 'Good day' }, said(...content), told(result)] });
    });
    expect(bound).toContain('bound to a different conversation');
    expect(free).toBe('null');
  });
});

describe('Anthropic’s API accepts', () => {
  const TAKEN: Readonly<Record<string, object>> = {
    'neighbours of one role': { messages: [hello, hello] },
    'instructions amid the messages of the newest': {
      model: 'claude-opus-5-5',
      messages: [hello, { role: 'system', content: 'Be kind.' }],
    },
    'results first, and words behind them': {
      tools: [tool],
      messages: [hello, said(call), told(result, { type: 'text', text: 'Well?' })],
    },
    'a cap and effort of the newest': {
      model: 'claude-opus-5-5',
      max_tokens: 128_000,
      output_config: { effort: 'max' },
    },
    'a last word of the assistant’s in older ones': {
      model: 'claude-opus-4-5',
      messages: [hello, said({ type: 'text', text: 'Hi' })],
    },
  };
  for (const [what, change] of Object.entries(TAKEN)) test(what, () => expect(refusalOf(change)).toBe('null'));
});
