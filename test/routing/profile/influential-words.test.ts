import { describe, expect, test } from 'bun:test';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import type { InfluentialWord } from '../../../src/routing/profile/influential-words.ts';
import { influentialWords } from '../../support/chat-body.ts';
import { user } from './prompts.ts';

const textsOf = (words: readonly InfluentialWord[], of: InfluentialWord['of'] = 'question') =>
  words.flatMap((word) => (word.of === of ? [word.text] : [])).join(' ');

describe('influential words', () => {
  test('influential words occur in the request, make the task more likely, and are at most six', () => {
    const text = 'Translate "good morning" into French, please';
    const words = influentialWords({ messages: [user(text)] }, 'translation');
    expect(textsOf(words)).toMatch(/Translate.*French/);
    expect(words.length).toBeLessThanOrEqual(6);
    for (const word of words) {
      expect(text).toContain(word.text);
      expect(word.adds).toBeGreaterThan(0);
    }
  });

  test('influential words are found in the system prompt and in the question before', () => {
    const system: ChatMessage = {
      role: 'system',
      content: 'You classify tickets into billing or technical. Reply with the label only.',
    };
    expect(
      textsOf(
        influentialWords({ messages: [system, user('My card was charged twice')] }, 'classification'),
        'system prompt',
      ),
    ).toMatch(/classify/);
    const talk: ChatMessage[] = [
      user('Write a Python function that parses dates'),
      { role: 'assistant', content: 'def f(): ...' },
      user('again'),
    ];
    expect(textsOf(influentialWords({ messages: talk }, 'coding'), 'question before')).toMatch(/Python|function/);
  });

  test('words that a text repeats are returned once', () => {
    const words = influentialWords(
      { messages: [user('Translate "cat" into French and "dog" into French.')] },
      'translation',
    );
    expect(words.filter(({ text }) => text.includes('French'))).toHaveLength(1);
  });

  test('influential words are found in scripts without spaces', () => {
    expect(textsOf(influentialWords({ messages: [user('写一个Python函数，把列表倒过来')] }, 'coding'))).toContain(
      '函数',
    );
  });

  test('there are no influential words for an image or an empty message, and a long text takes a few milliseconds', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
    expect(influentialWords({ messages: [user([image])] }, 'vision')).toEqual([]);
    expect(influentialWords({ messages: [] }, 'general')).toEqual([]);
    expect(
      influentialWords(
        { messages: [user(`Summarize these minutes.\n\n${'The town met. '.repeat(20_000)}`)] },
        'summarization',
      ).length,
    ).toBeGreaterThan(0);
  });
});
