import { describe, expect, test } from 'bun:test';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import { callerMessage } from '../support/caller-message.ts';
import { providerCall } from '../support/provider-call.ts';
import { streamed, wireRequest } from '../support/wire-request.ts';
import { fixture, geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const NEW = 'gemini-3.8-flash';
const OLD = 'gemini-2.5-flash';

const partsOfStream = (name: string) => streamed(adapter, fixture(name));

/** Returns the user's and the model's turns in the next request. */
function givenBack(message: ChatMessage, upstream = NEW): unknown {
  const results = (message.tool_calls ?? []).map(
    ({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'r' }),
  );
  const messages: ChatMessage[] = [
    { role: 'user', content: 'Hi' },
    message,
    ...results,
    { role: 'user', content: 'And?' },
  ];
  const { contents } = wireRequest(adapter, providerCall({ messages }, { upstream })).body;
  return (contents as unknown[]).slice(0, 2);
}
const turn = (...parts: object[]) => [
  { role: 'user', parts: [{ text: 'Hi' }] },
  { role: 'model', parts },
];

describe('a thinking signature is sent back to the model on its original part', () => {
  test('of a call', () => {
    const body = fixture('tool-call.json');
    const [part] = JSON.parse(body).candidates[0].content.parts;
    expect(givenBack(callerMessage(adapter.reply(body)))).toEqual(turn(part));
  });

  test('if it belongs to the first of parallel calls, which alone has one', () => {
    expect(givenBack(callerMessage(partsOfStream('parallel-calls.sse')))).toEqual(
      turn(
        {
          functionCall: { id: 'a1b2c3d4', name: 'get_weather', args: { city: 'Paris' } },
          thoughtSignature: 'EqABCp0BAXLI2nxPar4llelS1gA==',
        },
        { functionCall: { id: 'e5f6g7h8', name: 'get_weather', args: { city: 'Tōkyō', days: [1, 2] } } },
      ),
    );
  });

  test('if it belongs to the text, even if it arrived after the text', () => {
    expect(givenBack(callerMessage(partsOfStream('thinking.sse')))).toEqual(
      turn({ text: 'The sum is 129.', thoughtSignature: 'EjQKMgFyyNp8tiVKYI89Tex7S1g==' }),
    );
  });

  test('if it belongs to text before calls, or to no text at all', () => {
    const functionCall = { id: 'c', name: 'f', args: {} };
    const answer = (...parts: object[]) =>
      adapter.reply(JSON.stringify({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }));
    for (const parts of [
      [
        { text: 'Look.', thoughtSignature: 'ofText' },
        { functionCall, thoughtSignature: 'ofCall' },
      ],
      [
        { text: '', thoughtSignature: 'ofText' },
        { functionCall, thoughtSignature: 'ofCall' },
      ],
    ]) {
      expect(givenBack(callerMessage(answer(...parts)))).toEqual(turn(...parts));
    }
  });
});

describe('signatures in other forms', () => {
  const call = (id: string, more: object = {}) => ({
    id,
    type: 'function' as const,
    function: { name: 'f', arguments: '{}' },
    ...more,
  });
  const part = (id: string, thoughtSignature?: string) => ({
    functionCall: { id, name: 'f', args: {} },
    ...(thoughtSignature && { thoughtSignature }),
  });
  const detail = (more: object) => ({ type: 'reasoning.encrypted', format: 'google-gemini-v1', index: 0, ...more });

  test('are read from LiteLLM’s fields of a call', () => {
    const calls = [call('a', { provider_specific_fields: { thought_signature: 'S' } })];
    expect(givenBack({ role: 'assistant', content: null, tool_calls: calls })).toEqual(turn(part('a', 'S')));
  });

  test('stay with the call if the message repeats them, as the OpenAI Agents SDK does', () => {
    const extra_content = { google: { thought_signature: 'S' } };
    const message = {
      role: 'assistant' as const,
      content: null,
      tool_calls: [call('a', { extra_content })],
      extra_content,
    };
    expect(givenBack(message)).toEqual(turn(part('a', 'S')));
  });

  test('are read from OpenRouter’s details: for the named call, otherwise for the step', () => {
    const message = (details: object[], content: string | null, ...calls: ReturnType<typeof call>[]): ChatMessage => {
      const made = { role: 'assistant' as const, content, tool_calls: calls, reasoning_details: details };
      return made;
    };
    const named = [detail({ data: 'S', id: 'b' })];
    expect(givenBack(message(named, null, call('a'), call('b')), OLD)).toEqual(
      turn({ functionCall: { name: 'f', args: {} } }, { functionCall: { name: 'f', args: {} }, thoughtSignature: 'S' }),
    );
    expect(givenBack(message([detail({ data: 'S' })], 'Look.', call('a')))).toEqual(
      turn({ text: 'Look.' }, part('a', 'S')),
    );
    expect(givenBack(message([detail({ type: 'reasoning.text', signature: 'S' })], 'Hello.'))).toEqual(
      turn({ text: 'Hello.', thoughtSignature: 'S' }),
    );
    const foreign = { ...detail({ data: 'S' }), format: 'anthropic-claude-v1' };
    expect(givenBack(message([foreign, 7 as never], 'Hello.'))).toEqual(turn({ text: 'Hello.' }));
  });

  test('that are missing are replaced for the first call of a step if the model requires one', () => {
    const message: ChatMessage = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] };
    expect(givenBack(message)).toEqual(turn(part('a', 'skip_thought_signature_validator'), part('b')));
    expect(JSON.stringify(givenBack(message, OLD))).not.toContain('thoughtSignature');
  });

  test('that are not strings are ignored', () => {
    const odd = { google: { thought_signature: 7 } };
    const message = { role: 'assistant' as const, content: 'Hi', extra_content: odd, reasoning_details: 'x' };
    expect(givenBack(message)).toEqual(turn({ text: 'Hi' }));
    const odder = { ...message, extra_content: { google: [] } };
    expect(givenBack(odder)).toEqual(turn({ text: 'Hi' }));
  });
});
