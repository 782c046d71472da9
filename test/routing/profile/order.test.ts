import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { profile } from '../../support/chat-body.ts';

const read = (system: string, content: string) =>
  profile({
    messages: [
      { role: 'system', content: system },
      { role: 'user', content },
    ],
  });
const taskOf = (system: string, content: string) => read(system, content).task;

const ORDERS: readonly (readonly [task: string, system: string])[] = [
  ['translation', 'Translate into German'],
  ['translation', 'Translate everything into German.'],
  ['translation', 'You are a translator. Output Spanish only.'],
  ['translation', 'Your job is to translate into Italian.'],
  ['translation', 'Übersetze ins Englische.'],
  ['translation', 'Traduis en anglais.'],
  ['writing', 'You proofread. Return the corrected text only.'],
  ['summarization', 'Summarize what the user sends in one sentence.'],
  ['classification', 'You classify tickets as bug, billing, other.'],
  ['extraction', 'Extract names and dates as JSON.'],
  ['coding', 'Generate SQL for the given question. Schema: orders(id, customer, total, created_at)'],
  ['coding', 'You write SQL queries for our warehouse. Tables: users(id, name), orders(id, user_id, total)'],
];
const MESSAGES = [
  "I'd like to cancel my subscription.",
  'How do I install Node?',
  'How do I write a for loop in Python?',
  'Where is the train station?',
  'I has went too the store yesterday and buyed milk.',
  'Write quicksort in Go',
  'top ten customers last month',
  'How many orders did each user make?',
];

describe('a system prompt that consists mainly of one instruction', () => {
  test('applies to every message', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ORDERS), fc.constantFrom(...MESSAGES), ([task, system], message) => {
        expect([system, message, taskOf(system, message)]).toEqual([system, message, task]);
      }),
      { numRuns: 200 },
    );
  });

  test('lets the user change the subject, greet and thank', () => {
    for (const [, system] of ORDERS) {
      expect(taskOf(system, 'actually, write a poem about the sea')).toBe('writing');
      expect(taskOf(system, 'thanks!')).toBe('chat');
      expect(taskOf(system, 'hello')).toBe('chat');
      expect(taskOf(system, 'Thanks, that is all for today!')).toBe('chat');
    }
  });

  test('does not count as an instruction if it is conditional, about the answer, or one duty among others', () => {
    expect(taskOf('You write about SQL for beginners.', 'Write a haiku about rain')).toBe('writing');
    const loose = [
      'You are a helpful assistant. Summarize your answer at the end.',
      'You help customers of a bank. Translate when the user asks for it.',
      'You are a friendly tutor of Spanish. Correct mistakes when asked.',
      'You are a summarization researcher.',
      'You are a senior engineer. Fix bugs and improve code.',
    ];
    for (const system of loose) {
      expect([system, taskOf(system, 'Write a for loop in Python')]).toEqual([system, 'coding']);
      expect([system, taskOf(system, 'What is the tallest mountain in Africa?')]).toEqual([system, 'general']);
    }
  });
});
