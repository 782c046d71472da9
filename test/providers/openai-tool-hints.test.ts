import { expect, test } from 'bun:test';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

const hint = { cache_control: { type: 'ephemeral' } };
const tools = [
  { type: 'function' as const, function: { name: 'f' }, ...hint },
  { type: 'function' as const, function: { name: 'g', ...hint } },
];

test('hints on tools and their functions are dropped and reported', () => {
  const { body, dropped } = wireRequest(openaiAdapter(), providerCall({ tools }));
  expect(body.tools).toEqual([
    { type: 'function', function: { name: 'f' } },
    { type: 'function', function: { name: 'g' } },
  ]);
  expect(dropped).toEqual(['tools[0].cache_control', 'tools[1].function.cache_control']);
});

test('they are kept where the server supports them', () => {
  const { body } = wireRequest(openaiAdapter({ cache_hints: 'sent' }), providerCall({ tools }));
  expect(body.tools).toEqual(tools);
});
