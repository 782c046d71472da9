import { describe, expect, test } from 'bun:test';
import type { WireRequest } from '../support/dialects/dialect.ts';
import { openai } from '../support/dialects/openai.ts';

const tool = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false };
const chatTool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const hello = { role: 'user', content: 'Hello' };
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'c1', output: 'found' };
const effort = (said: string) => ({ reasoning: { effort: said } });
const format = (said: object) => ({ text: { format: said } });

function refusalOf(path: string, body: object): string {
  const text = JSON.stringify(body);
  const headers = new Headers({ authorization: 'Bearer k' });
  const request: WireRequest = {
    method: 'POST',
    path: `/v1${path}`,
    query: new URLSearchParams(),
    headers,
    text,
    body: JSON.parse(text),
  };
  return JSON.stringify(openai.refusal(request, 'k')?.body ?? null);
}
const ofResponse = (change: object) => refusalOf('/responses', { model: 'gpt-6-luna', input: [hello], ...change });
const ofChat = (change: object) =>
  refusalOf('/chat/completions', { model: 'gpt-6-luna', messages: [hello], ...change });

/** Requests that the API refuses, and text of its answer. */
const REFUSED: Readonly<Record<string, readonly [change: object, words: string]>> = {
  'chat’s messages': [{ messages: [hello] }, "Unknown parameter: 'messages'"],
  'a seed': [{ seed: 1 }, "Unknown parameter: 'seed'"],
  'a stop': [{ stop: ['END'] }, "Unknown parameter: 'stop'"],
  'chat’s cap': [{ max_completion_tokens: 100 }, "Unknown parameter: 'max_completion_tokens'"],
  'chat’s effort': [{ reasoning_effort: 'low' }, "Unknown parameter: 'reasoning_effort'"],
  'a small cap': [{ max_output_tokens: 15 }, 'Expected a value >= 16, but got 15 instead'],
  'a temperature': [{ temperature: 1 }, "'temperature' is not supported with this model"],
  'an effort that the model has not': [effort('minimal'), "'none', 'low', 'medium', 'high', 'xhigh', 'max'"],
  'no reasoning of one that always reasons': [{ model: 'gpt-6-astra', ...effort('none') }, "'none' is not supported"],
  'the most effort of an older one': [{ model: 'gpt-5.4', ...effort('max') }, "'max' is not supported"],
  'chat’s form of a tool': [{ tools: [chatTool] }, "Unknown parameter: 'tools[0].function'"],
  'a tool that is strict unsaid': [{ tools: [{ ...tool, strict: undefined }] }, "'additionalProperties' is required"],
  'a tool without parameters': [{ tools: [{ ...tool, parameters: undefined }] }, 'Invalid schema'],
  'a name with a dot': [{ tools: [{ ...tool, name: 'a.b' }] }, 'tools[0].name'],
  'a choice of a stranger': [{ tools: [tool], tool_choice: { type: 'function', name: 'g' } }, 'not found'],
  'chat’s form of a choice': [
    { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } },
    'tool_choice',
  ],
  'a choice by a strange word': [{ tools: [tool], tool_choice: 'any' }, 'Invalid value'],
  'chat’s form of a schema': [format({ type: 'json_schema', json_schema: { name: 's', schema: {} } }), 'json_schema'],
  'a schema without a name': [format({ type: 'json_schema', schema: {} }), 'text.format.name'],
  'a role for results': [{ input: [{ role: 'tool', content: 'x' }] }, "Invalid value: 'tool'"],
  'a name on a message': [{ input: [{ ...hello, name: 'x' }] }, "Unknown parameter: 'input[0].name'"],
  'chat’s parts': [{ input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] }, "Invalid value: 'text'"],
  'an assistant’s input': [
    { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
    "Supported values are: 'output_text', 'refusal'",
  ],
  'a phase of a user’s': [{ input: [{ ...hello, phase: 'commentary' }] }, 'phase'],
  'a result of no call': [{ input: [hello, result] }, 'No tool call found for function call output with call_id c1'],
  'a result before its call': [{ input: [result, call] }, 'No tool call found'],
  'a call without its result': [{ input: [hello, call] }, 'No tool output found for function call c1'],
  'reasoning that it does not keep': [
    { store: false, input: [hello, { type: 'reasoning', id: 'rs_1', summary: [] }, call, result] },
    'Items are not persisted',
  ],
  'reasoning without a summary': [
    { input: [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAA' }, call, result] },
    "Missing required parameter: 'input[0].summary'",
  ],
};

describe('OpenAI’s Responses API refuses', () => {
  for (const [what, [change, words]] of Object.entries(REFUSED)) {
    test(what, () => expect(ofResponse(change)).toContain(words));
  }
});

describe('OpenAI’s Responses API accepts', () => {
  const TAKEN: Readonly<Record<string, object>> = {
    'tools beside an effort': { tools: [tool], ...effort('high') },
    'the most effort': effort('max'),
    'calls whose results come later': {
      input: [hello, call, { ...call, call_id: 'c2' }, result, { ...result, call_id: 'c2' }],
    },
    'a text for all input': { input: 'Hello' },
    'what was said before': { input: [hello, { role: 'assistant', content: 'Hi' }, { ...hello, content: 'So?' }] },
  };
  for (const [what, change] of Object.entries(TAKEN)) test(what, () => expect(ofResponse(change)).toBe('null'));
});

describe('OpenAI’s chat completions', () => {
  const words = "To use function tools, use /v1/responses or set reasoning_effort to 'none'.";

  test.each(['gpt-5.4', 'gpt-5.6-terra', 'gpt-6-luna', 'gpt-6-astra'])('refuse %s tools with an effort', (model) => {
    expect(ofChat({ model, tools: [chatTool], reasoning_effort: 'low' })).toContain(words);
    expect(ofChat({ model, tools: [chatTool] })).toContain(words);
    expect(ofChat({ model, reasoning_effort: 'low' })).toBe('null');
  });

  test('accept tools without an effort, for models that can', () => {
    expect(ofChat({ tools: [chatTool], reasoning_effort: 'none' })).toBe('null');
    expect(ofChat({ model: 'gpt-6-astra', tools: [chatTool], reasoning_effort: 'none' })).toContain('not supported');
    expect(ofChat({ model: 'gpt-5', tools: [chatTool], reasoning_effort: 'low' })).toBe('null');
  });

  test('lack the effort `max`', () => {
    expect(ofChat({ model: 'gpt-6-astra', reasoning_effort: 'max' })).toContain("'max' is not supported");
  });
});
