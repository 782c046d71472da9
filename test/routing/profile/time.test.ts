import { describe, expect, test } from 'bun:test';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { MessageReading } from '../../../src/routing/profile/reading.ts';
import { profile, READER } from '../../support/chat-body.ts';
import { GROWTH_MAX, growthOf, LARGER, type Shape } from '../../support/in-time.ts';
import { made, result } from '../../support/tool-messages.ts';
import { user } from './prompts.ts';

const MB = 1_000_000;

/** Texts that could take a reader long: a part, and how often the largest prompt repeats it. */
const HOSTILE: Readonly<Record<string, readonly [part: string, times: number]>> = {
  'ten million equal letters': ['a', 10 * MB],
  newlines: ['\n', 10 * MB],
  digits: ['1', 10 * MB],
  'digits and signs': ['1+', 5 * MB],
  'digits and blanks': ['1 +1 ', 2 * MB],
  keywords: ['let ', 2 * MB],
  'lines of keywords': ['def x\n', MB],
  'lines that almost are code': [`${'class A'.padEnd(160, 'x')}\n`, 60_000],
  'equals signs': ['=', 10 * MB],
  'tabs and blanks': ['\t ', 5 * MB],
  'imports without an end': ['import a.', MB],
  'letters and powers': ['x^', 5 * MB],
  surrogates: ['\ud83d', 2 * MB],
  braces: ['{', 10 * MB],
  fences: ['```', 3 * MB],
  quotes: ['"', 10 * MB],
  'quotes that never end': [" 'a", 3 * MB],
  'blocks without an end': ['<a>\n', 2 * MB],
  'ends without a block': ['</a>\n', 2 * MB],
  'blocks upon blocks': ['<a>x</a>\n', MB],
  'blocks of material upon blocks': ['<doc>x</doc>\n', MB / 16],
  'blocks of material without lines': ['<doc>x</doc>', MB / 16],
  'blocks of material that contain much': [`<doc>${'x'.repeat(300)}</doc>`, MB / 50],
  'words of the lexicon': ['translate summarize how do you say ', MB / 4],
  'beginnings of phrases': ['how do you ', MB],
  'words of experts': ['prove that even a compact group draft a b c contract compare this clause ', MB / 8],
  ideographs: ['翻译总结', 2 * MB],
  marks: ['\u0301', 10 * MB],
};

/** Expects that the time grows by less than `GROWTH_MAX` while an input grows to this many parts. */
async function expectLinear(parts: number, shape: Shape): Promise<void> {
  expect(await growthOf(shape, { leastMs: 0, partsMax: Math.ceil(parts / LARGER) })).toBeLessThan(GROWTH_MAX);
}

const profileOf =
  (messages: ChatMessage[]): (() => unknown) =>
  () =>
    profile({ messages });

describe('the time to read is at most linear', () => {
  for (const [name, [part, times]] of Object.entries(HOSTILE)) {
    test(`in the length of a prompt of ${name}`, async () => {
      await expectLinear(times, (parts) => profileOf([user(part.repeat(parts))]));
      await expectLinear(times, (parts) => {
        const text = part.repeat(parts);
        return () => new MessageReading(text, READER.texts);
      });
    });
  }

  test('in the number of messages', async () => {
    await expectLinear(20_000, (parts) =>
      profileOf(Array.from({ length: parts }, () => user('def f(x): '.repeat(20)))),
    );
  });

  const agents: typeof HOSTILE = {
    ...HOSTILE,
    'names of errors': ['Error', MB],
    'counts of failures': ['1 failed ', MB],
    'lines of stacks': [' at a:1', MB],
    'parts of paths': ['/tmp/', MB],
  };
  for (const [name, [part, times]] of Object.entries(agents)) {
    test(`in the length of an agent’s calls and results of ${name}`, async () => {
      await expectLinear(times, (parts) => {
        const text = part.repeat(parts);
        const command = JSON.stringify({ command: text.slice(0, MB), patch: text.slice(0, MB) });
        const calls = (at: number): ChatMessage[] => [
          { role: 'assistant', content: null, tool_calls: [made(`c${at}`, 'run', at % 2 === 0 ? command : text)] },
          result(`c${at}`, text),
        ];
        return profileOf([user('Run it.'), ...Array.from({ length: 4 }, (_, at) => calls(at)).flat(), user(text)]);
      });
    });
  }

  test('in the number of messages after an agent’s calls', async () => {
    const calls: ChatMessage[] = [
      { role: 'assistant', content: null, tool_calls: [made('c', 'run', '{}')] },
      result('c', 'Error: 1 failed'),
    ];
    await expectLinear(10_000, (parts) =>
      profileOf(Array.from({ length: parts }, (_, at) => [user(`go on with ${at}`), ...(at % 50 ? [] : calls)]).flat()),
    );
  });

  test('in the number of follow-ups', async () => {
    await expectLinear(20_000, (parts) => profileOf(Array.from({ length: parts }, () => user('and again?'))));
  });
});
