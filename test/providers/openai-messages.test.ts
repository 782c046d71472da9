import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { messagesFor, toolsFor } from '../../plugins/providers/openai-compatible/messages.ts';
import { type DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import { tries } from '../deep/effort.ts';

const plainMessages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'What is this?' }], name: 'ann' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'A cat.' },
];
const plainTools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

test('messages and tools that need no translation are sent unchanged, without a copy', () => {
  const dropped: string[] = [];
  expect(messagesFor(plainMessages, { settings: PLAIN, reasons: true, dropped })).toBe(plainMessages);
  expect(toolsFor(plainTools, PLAIN, dropped)).toBe(plainTools);
  expect(dropped).toEqual([]);
});

const hint = fc.constantFrom({ type: 'ephemeral' }, null);
const text = fc.string({ maxLength: 12 });
const part = fc.record(
  { type: fc.constantFrom('text', 'refusal'), text, refusal: text, cache_control: hint },
  { requiredKeys: ['type'] },
);
const call = fc.record(
  { id: text, type: fc.constant('function'), function: fc.record({ name: text, arguments: text }), more: text },
  { requiredKeys: ['id', 'type', 'function'] },
);
const message = fc.record(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function'),
    content: fc.oneof(text, fc.constant(null), fc.array(part, { maxLength: 2 })),
    name: fc.option(text),
    tool_calls: fc.option(fc.array(call, { maxLength: 2 })),
    tool_call_id: text,
    function_call: fc.option(fc.record({ name: text, arguments: text })),
    refusal: fc.option(text),
    reasoning: text,
    reasoning_details: fc.array(fc.record({ text }), { maxLength: 2 }),
    cache_control: hint,
    more: text,
  },
  { requiredKeys: ['role'] },
);
const tool = fc.record(
  { type: fc.constant('function'), function: fc.record({ name: text, cache_control: hint }), cache_control: hint },
  { requiredKeys: ['type', 'function'] },
);
const settings: fc.Arbitrary<Partial<DialectSettings>> = fc.record({
  developer_role: fc.constantFrom('developer', 'system'),
  empty_content: fc.constantFrom('empty_text', 'null'),
  reasoning_history: fc.constantFrom('left_out', 'reasoning', 'reasoning_details', 'demanded'),
  unknown_members: fc.constantFrom('sent', 'left_out'),
  cache_hints: fc.constantFrom('sent', 'left_out'),
  tool_call_ids: fc.constantFrom('as_they_are', 'nine_letters'),
  leave_out: fc.constantFrom([], ['name']),
});

test('a translation does not change the original, and translating its result changes nothing more', () => {
  const law = 'the translation of messages never changes the original';
  fc.assert(
    fc.property(fc.array(message), fc.array(tool), settings, (messages, tools, own) => {
      const before = structuredClone({ messages, tools });
      const dialect = { ...PLAIN, ...own };
      const sent = messagesFor(messages, { settings: dialect, reasons: false, dropped: [] });
      const sentTools = toolsFor(tools, dialect, []);
      expect({ messages, tools }).toEqual(before);
      const dropped: string[] = [];
      expect(messagesFor(sent, { settings: dialect, reasons: false, dropped })).toEqual(sent);
      expect(toolsFor(sentTools, dialect, dropped)).toBe(sentTools);
      expect(dropped).toEqual([]);
    }),
    tries(law, 200, 20_000),
  );
});

test('the adapter omits an earlier answer without content, because servers reject it', () => {
  const asked = { role: 'user', content: 'Go on.', cache_control: { type: 'ephemeral' } };
  const thought = { role: 'assistant', content: null, refusal: null, reasoning_details: [{ text: 'Hm.' }] };
  const called = { ...plainMessages[2], reasoning_content: 'Hm.' };
  const dropped: string[] = [];
  expect(messagesFor([thought, called, asked], { settings: PLAIN, reasons: true, dropped })).toEqual([
    plainMessages[2]!,
    { role: 'user', content: 'Go on.' },
  ]);
  // The paths refer to the caller's messages.
  expect(dropped).toEqual(['messages[2].cache_control']);
  const reader: DialectSettings = { ...PLAIN, reasoning_history: 'reasoning_details' };
  const { refusal: _, ...kept } = thought;
  expect(messagesFor([thought], { settings: reader, reasons: true, dropped: [] })).toEqual([{ ...kept, content: '' }]);
});

test.each(['reasoning_content', 'reasoning', 'demanded'] as const)(
  'readable reasoning alone is not sent as a message, even to a server that accepts reasoning (%s)',
  (reasoning_history) => {
    const thought = { role: 'assistant', content: null, reasoning_content: 'Hm.' };
    const said = { ...thought, content: 'So.' };
    const [first, ...others] = messagesFor([thought, said], {
      settings: { ...PLAIN, reasoning_history },
      reasons: true,
      dropped: [],
    });
    expect([first!.content, others]).toEqual(['So.', []]);
  },
);
