import { expect, test } from 'bun:test';
import { chatBodyOf } from '../../plugins/providers/openai-compatible/body.ts';
import type { Conversation } from '../../src/core/request/conversation.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import { readChatRequest } from '../../src/dialects/openai-chat/reader.ts';
import { chatRequest } from '../support/model-request.ts';

/** Returns the neutral form of a request, as if it had arrived in another dialect. */
function foreign({
  operation,
  model,
  stream,
  conversation,
  settings,
  routing,
  extras,
  headers,
  names,
}: ModelRequest): ModelRequest {
  const original = { dialect: 'another', body: {} };
  const self: ModelRequest = {
    ...{
      operation,
      model,
      stream,
      conversation,
      settings,
      routing,
      extras,
      headers,
      names,
      original,
      embedding: null,
      inputs: null,
      dimensions: undefined,
    },
    toolsText: '',
    originalAt: () => undefined,
    edit: () => self,
    answerFormatOf: () => undefined,
  };
  return self;
}

/** Returns a conversation without its paths, which differ by dialect. */
const withoutPlaces = (conversation: Conversation): unknown =>
  JSON.parse(JSON.stringify(conversation, (name, value) => (name === 'at' || name === 'valueAt' ? undefined : value)));

test('a request of another dialect is translated, and a request of this dialect is passed on unchanged', () => {
  const request = chatRequest({
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,AA==', filename: 'a.txt' } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No.' }],
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'look' } },
    response_format: { type: 'json_schema', json_schema: { name: 'form', schema: { type: 'object' }, strict: true } },
    ...{ temperature: 0.5, top_p: 0.9, n: 2, stop: ['END'], seed: 7, logprobs: true, top_logprobs: 2, user: 'u1' },
    ...{ frequency_penalty: 0.1, presence_penalty: 0.2, logit_bias: { '7': 1 }, reasoning_effort: 'low' },
    parallel_tool_calls: false,
  });
  expect(chatBodyOf(request, false)).toBe(request.original.body);
  const body = chatBodyOf(foreign(request), false);
  const { messages, ...rest } = JSON.parse(JSON.stringify(body));
  const back = readChatRequest({ model: 'auto', messages, ...rest });
  expect(withoutPlaces(back.conversation)).toEqual(withoutPlaces(request.conversation));
  const settingsOf = ({ settings: { outputTokensMax: _, ...own } }: ModelRequest) => JSON.parse(JSON.stringify(own));
  expect(settingsOf(back)).toEqual(settingsOf(request));
});
