import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage, ChatTool } from '../../../src/core/api/chat-request.ts';
import { PromptReader } from '../../../src/routing/profile/prompt-reader.ts';
import { TextMemory } from '../../../src/routing/profile/text-memory.ts';
import { tries } from '../../deep/effort.ts';
import { type ChatBody, profile } from '../../support/chat-body.ts';
import { chatRequest } from '../../support/model-request.ts';
import { profile as read } from '../../support/profile.ts';
import { user } from './prompts.ts';

/** Only a few texts, so that each occurs again in other contexts. */
const question = fc.constantFrom(
  'and now?',
  'fix it',
  'translate it',
  'write a haiku',
  'run',
  'prove it: 3 + 4 = 7',
  'ok',
);
const system = fc.constantFrom('', 'Translate everything into French.', 'You write SQL.');
const earlier = fc.constantFrom('', 'Write a function that sorts a list.', 'Summarize this letter.', 'thanks');
const isAmidTools = fc.boolean();
const tools = fc.constantFrom<ChatTool[]>(
  [],
  ...['run', 'get_weather'].map((name): ChatTool[] => [{ type: 'function', function: { name } }]),
);

const request = fc.record({ question, system, earlier, isAmidTools, tools }).map((one): ChatBody => {
  const messages: ChatMessage[] = [];
  if (one.system) messages.push({ role: 'system', content: one.system });
  if (one.earlier) messages.push(user(one.earlier), { role: 'assistant', content: 'Here it is.' });
  messages.push(user(one.question));
  if (one.isAmidTools) messages.push({ role: 'tool', tool_call_id: 'call_1', content: 'done' });
  return { messages, ...(one.tools.length > 0 && { tools: one.tools }) };
});

test('a message that is cached is read as if it were read for the first time, in any context', () => {
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 12 }), (requests) => {
      for (const one of requests) expect(profile(one)).toEqual(read(chatRequest(one), new PromptReader()));
    }),
    tries('a remembered message is guessed as a new one', 100, 5_000),
  );
});

describe('a memory of texts', () => {
  const chars = (size: number): string => 'x'.repeat(size);

  test('the cache reads a text twice, however often it occurs', () => {
    const memory = new TextMemory<string>(20_000);
    let reads = 0;
    const read = (text: string) => `${text} read ${++reads} times`;
    for (let at = 0; at < 50; at++) {
      memory.of('again', read);
      for (const time of [1, 2]) memory.of(`other ${at}`, () => `${time}`);
    }
    expect(memory.of('again', read)).toBe('again read 2 times');
  });

  /** Makes texts as from a template. The texts differ only in a name of fixed length in the middle. */
  const withName = (name: number): string => `${chars(200)} ${String(name).padStart(6, '0')} ${chars(200)}`;

  test('the cache reads each text twice, even if many texts have the same length and ends, and never confuses them', () => {
    const memory = new TextMemory<string>(400_000);
    let reads = 0;
    const read = (text: string): string => {
      reads++;
      return text;
    };
    for (let time = 0; time < 9; time++) {
      for (let name = 0; name < 40; name++) expect(memory.of(withName(name), read)).toBe(withName(name));
    }
    expect(reads).toBeLessThanOrEqual(2 * 40);
    expect(memory.size).toBe(40);
  });

  test('the cache remembers texts that differ only in a number when they occur again after each other', () => {
    const memory = new TextMemory<string>(400_000);
    let reads = 0;
    const read = (text: string): string => {
      reads++;
      return text;
    };
    for (let time = 0; time < 9; time++)
      for (let task = 0; task < 40; task++) memory.of(`Task ${1_000 + task * 7}: ${chars(200)}`, read);
    expect(reads).toBeLessThan(3 * 40);
  });

  test('the cache never confuses texts with the same length and ends while generations are replaced', () => {
    const memory = new TextMemory<string>(20_000);
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 40 }), (names) => {
        for (const name of names) expect(memory.of(withName(name), (text) => text)).toBe(withName(name));
      }),
      tries('a memory of texts never takes one for another', 100, 5_000),
    );
  });

  test('the cache keeps nothing of a text that occurs once', () => {
    const memory = new TextMemory<number>(20_000);
    for (let at = 0; at < 50; at++) memory.of(`once ${at}`, () => 0);
    expect(memory.size).toBe(0);
  });

  test('the cache forgets texts that do not occur again, and never keeps a very long text', () => {
    const memory = new TextMemory<number>(20_000);
    let reads = 0;
    const read = () => ++reads;
    for (let time = 0; time < 3; time++) memory.of('a while', read);
    expect(reads).toBe(2);
    for (let at = 0; at < 50; at++) for (const time of [1, 2]) memory.of(`other ${at}`, () => time);
    expect(memory.size).toBeLessThanOrEqual(8);
    memory.of('a while', read);
    expect(reads).toBe(3);
    for (let time = 0; time < 3; time++) memory.of(chars(100_000), read);
    expect(reads).toBe(6);
  });
});
