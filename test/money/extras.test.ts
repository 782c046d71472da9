import { expect, test } from 'bun:test';
import { sortExtras } from '../../src/money/extras.ts';
import { openaiChat } from '../../src/surface/openai-chat/surface.ts';

test('a plugin that writes into the extras of one request fails, and reaches no other request', () => {
  const { request } = openaiChat.read({ model: 'auto', messages: [{ role: 'user', content: 'hi' }] }, new Headers());
  const sorted = () => sortExtras(request, { passthrough: new Set(['*']) });
  const { passed, dropped } = sorted();
  expect(() => Object.assign(passed, { of: 'another caller' })).toThrow(TypeError);
  expect(() => Object.assign(dropped, ['of another caller'])).toThrow(TypeError);
  expect(sorted()).toEqual({ passed: {}, dropped: [] });
});
