import { describe, test } from 'bun:test';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { readQuestion } from '../../../src/routing/profile/question.ts';
import { QuestionReading } from '../../../src/routing/profile/reading.ts';
import { profile, READER } from '../../support/chat-body.ts';
import { inTime } from '../../support/in-time.ts';
import { made, result } from '../../support/tool-messages.ts';
import { user } from './prompts.ts';

const MB = 1_000_000;

const HOSTILE: Record<string, string> = {
  'ten million equal letters': 'a'.repeat(10 * MB),
  newlines: '\n'.repeat(10 * MB),
  digits: '1'.repeat(10 * MB),
  'digits and signs': '1+'.repeat(5 * MB),
  'digits and blanks': '1 +1 '.repeat(2 * MB),
  keywords: 'let '.repeat(2 * MB),
  'lines of keywords': 'def x\n'.repeat(MB),
  'lines that almost are code': `${'class A'.padEnd(160, 'x')}\n`.repeat(60_000),
  'equals signs': '='.repeat(10 * MB),
  'tabs and blanks': '\t '.repeat(5 * MB),
  'imports without an end': 'import a.'.repeat(MB),
  'letters and powers': 'x^'.repeat(5 * MB),
  surrogates: '\ud83d'.repeat(5 * MB),
  braces: '{'.repeat(10 * MB),
  fences: '```'.repeat(3 * MB),
  quotes: '"'.repeat(10 * MB),
  'quotes that never end': " 'a".repeat(3 * MB),
  'blocks without an end': '<a>\n'.repeat(2 * MB),
  'ends without a block': '</a>\n'.repeat(2 * MB),
  'blocks upon blocks': '<a>x</a>\n'.repeat(MB),
  'blocks of material upon blocks': '<doc>x</doc>\n'.repeat(MB / 4),
  'blocks of material without lines': '<doc>x</doc>'.repeat(MB / 4),
  'blocks of material that contain much': `<doc>${'x'.repeat(300)}</doc>`.repeat(MB / 50),
  'words of the lexicon': 'translate summarize how do you say '.repeat(MB / 4),
  'beginnings of phrases': 'how do you '.repeat(MB),
  'words of experts': 'prove that even a compact group draft a b c contract compare this clause '.repeat(MB / 8),
  ideographs: '翻译总结'.repeat(2 * MB),
  marks: '\u0301'.repeat(10 * MB),
};

describe('time', () => {
  for (const [name, text] of Object.entries(HOSTILE)) {
    test(`the time to read a prompt is bounded for ${name}`, async () => {
      await inTime(1_000, () => profile({ messages: [user(text)] }));
      await inTime(400, () => new QuestionReading(readQuestion(text, READER.tables), READER.tables));
    });
  }

  test('the time to read a prompt is at most linear in the number of messages', async () => {
    const messages = Array.from({ length: 20_000 }, () => user('def f(x): '.repeat(20)));
    await inTime(2_000, () => profile({ messages }));
  });

  test('the time to read the progress of an agent is bounded, whatever its calls and results contain', async () => {
    for (const text of [
      ...Object.values(HOSTILE),
      'Error'.repeat(MB),
      '1 failed '.repeat(MB),
      ' at a:1'.repeat(MB),
      '/tmp/'.repeat(MB),
    ]) {
      const command = JSON.stringify({ command: text.slice(0, MB), patch: text.slice(0, MB) });
      const calls = (at: number): ChatMessage[] => [
        { role: 'assistant', content: null, tool_calls: [made(`c${at}`, 'run', at % 2 === 0 ? command : text)] },
        result(`c${at}`, text),
      ];
      const messages = [user('Run it.'), ...Array.from({ length: 4 }, (_, at) => calls(at)).flat(), user(text)];
      await inTime(1_000, () => profile({ messages }));
    }
  });

  test('the time to read the progress of an agent does not grow with the number of messages after its calls', async () => {
    const calls: ChatMessage[] = [
      { role: 'assistant', content: null, tool_calls: [made('c', 'run', '{}')] },
      result('c', 'Error: 1 failed'),
    ];
    const messages = Array.from({ length: 10_000 }, (_, at) => [
      user(`go on with ${at}`),
      ...(at % 50 === 0 ? calls : []),
    ]);
    await inTime(1_000, () => profile({ messages: messages.flat() }));
  });

  test('the time to read a prompt is the time of a few questions, however long the chain of follow-ups is', async () => {
    const messages = Array.from({ length: 20_000 }, () => user('and again?'));
    await inTime(2_000, () => profile({ messages }));
  });
});
