import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { startGuarded } from './support.ts';

const upstream = useUpstream();
/** A card number that loses digits when JSON is parsed, and one that does not. */
const LONG_CARD = '4111111111111111110';
const CARD = '4111111111111111';
/** Stands for a number without quotes in a body. */
const NUMBER = 'a number';

const GUARDS = ['block', 'mask'].map(
  (action) =>
    `  - { name: ${action}s, guard: personal-data, settings: { kinds: [card] }, on: [input, output], on_match: ${action}, when: 'request.user == "${action}"' }`,
);

const HI = { role: 'user', content: 'Hi.' };
const TOOL = { type: 'function', function: { name: 'pay', parameters: { type: 'object' } } };
const call = (args: string) => ({
  role: 'assistant',
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: args } }],
});
const RESULT = { role: 'tool', tool_call_id: 'c1', content: 'Paid.' };

/** Bodies of chat completions with a number somewhere. */
const BODIES: Readonly<Record<string, object>> = {
  'in a member that is passed on': { messages: [HI], verbosity: { cards: [1, NUMBER], id: 'a' } },
  'as a member that is passed on': { messages: [HI], verbosity: NUMBER },
  'in a member of a message that is passed on': { messages: [{ ...HI, größe: { card: NUMBER } }] },
  'in a member of a tool that is passed on': { messages: [HI], tools: [{ ...TOOL, cards: [NUMBER] }] },
  'in a schema': {
    messages: [HI],
    tools: [{ ...TOOL, function: { name: 'pay', parameters: { type: 'object', default: { card: NUMBER } } } }],
  },
  'in the arguments of a call': { messages: [HI, call(`{"card":[${NUMBER}]}`), RESULT] },
  'in arguments with a point and an exponent': {
    messages: [HI, call(`{"card":${LONG_CARD[0]}.${LONG_CARD.slice(1)}e18}`), RESULT],
  },
};

async function expectBlocked(response: Response): Promise<void> {
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('content_blocked')]);
}

describe('a guard of numbers', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startGuarded(upstream.url, GUARDS.join('\n'));
  });
  afterAll(() => box.stop());

  const send = (body: object, number: string, user: string, key?: string) => {
    const text = JSON.stringify({ model: 'best', user, ...body })
      .replaceAll(`"${NUMBER}"`, number)
      .replaceAll(NUMBER, number);
    const headers = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    return box.post('/v1/chat/completions', null, { body: text, ...headers });
  };
  const sentSince = (before: number) => JSON.stringify(upstream.requests.slice(before).map(({ body }) => body));

  test.each(Object.entries(BODIES))('finds a card %s, also if it has 19 digits', async (_, body) => {
    for (const number of [CARD, LONG_CARD]) {
      const before = upstream.requests.length;
      await expectBlocked(await send(body, number, 'block'));
      const answer = await send(body, number, 'mask');
      expect([number, answer.status, await answer.text()]).toEqual([number, 200, expect.any(String)]);
      const sent = sentSince(before);
      expect([number, sent.includes('411111111111'), /\[card:[a-p]{12}\]/.test(sent)]).toEqual([number, false, true]);
    }
  });

  test('lets numbers that are no cards pass, and the numbers of settings', async () => {
    const [first] = Object.values(BODIES);
    for (const body of [
      { ...first, seed: 4_111_111_111_111_111 },
      { ...first, n: 1 },
    ]) {
      const before = upstream.requests.length;
      const answer = await send(body, '4111111111111111111', 'block');
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
      expect(upstream.requests.length).toBe(before + 1);
    }
  });

  test('finds a card of 19 digits in each turn of a conversation that is kept in memory', async () => {
    const key = await box.makeKey('--name', 'kept');
    const messages: object[] = [{ role: 'user', content: 'A long beginning. '.repeat(400) }];
    for (const _ of [1, 2, 3, 4]) {
      messages.push({ ...HI, customer: { card: NUMBER } });
      await expectBlocked(await send({ messages }, LONG_CARD, 'block', key));
      const before = upstream.requests.length;
      expect((await send({ messages }, LONG_CARD, 'mask', key)).status).toBe(200);
      expect(sentSince(before)).not.toContain('411111111111');
      messages.push({ role: 'assistant', content: 'Yes?' });
    }
  });

  test('finds a card of 19 digits in the arguments of an answer', async () => {
    upstream.next({ toolCalls: [{ name: 'pay', arguments: `{"card":${LONG_CARD}}` }] });
    const answer = await (await send({ messages: [HI], tools: [TOOL] }, CARD, 'mask')).text();
    expect([answer.includes('411111111111'), answer.includes('[card:')]).toEqual([false, true]);
  });

  test.each(['\u00a0', '\u202f'])('finds a card whose groups have %j between them', async (space) => {
    const content = `My card is ${['4111', '1111', '1111', '1111'].join(space)}.`;
    await expectBlocked(await send({ messages: [{ role: 'user', content }] }, '', 'block'));
  });
});

/** Members with the names of state, where no model has state. */
const STATES: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'in an example of a tool': [
    '/v1/messages',
    {
      max_tokens: 100,
      messages: [HI],
      tools: [{ name: 'pay', input_schema: { type: 'object' }, input_examples: [{ signature: CARD, id: CARD }] }],
    },
  ],
  'in a tool': [
    '/v1/chat/completions',
    { messages: [HI], tools: [{ ...TOOL, encrypted_content: CARD, x: { type: 'thinking', signature: CARD } }] },
  ],
  'in a message': ['/v1/chat/completions', { messages: [{ ...HI, signature: CARD, thought_signature: CARD }] }],
  'in an answer of a model': [
    '/v1/chat/completions',
    { messages: [HI, { role: 'assistant', content: 'A', signature: CARD }] },
  ],
  'in a part of a message': [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi.', encrypted_content: CARD }] }] },
  ],
  'in a member that is passed on': [
    '/v1/chat/completions',
    { messages: [HI], more: { reasoning_details: [{ signature: CARD, data: CARD, type: 'reasoning.encrypted' }] } },
  ],
};

describe('a guard of members with the names of state', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startGuarded(
      upstream.url,
      '  - { name: cards, guard: personal-data, settings: { kinds: [card] }, on_match: block }',
    );
  });
  afterAll(() => box.stop());

  test.each(Object.entries(STATES))('inspects them %s', async (_, [path, body]) => {
    await expectBlocked(await box.post(path, { model: 'best', ...body }));
  });

  test('does not inspect them in thoughts, calls and results of a provider', async () => {
    const thoughts = [{ type: 'reasoning.text', text: 'I think.', signature: CARD }];
    const before = upstream.requests.length;
    const answer = await box.post('/v1/chat/completions', {
      model: 'best',
      messages: [
        HI,
        { ...call('{}'), reasoning_details: thoughts, extra_content: { google: { thought_signature: CARD } } },
        RESULT,
      ],
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    expect(upstream.requests.length).toBe(before + 1);
  });
});
