import { describe, expect, test } from 'bun:test';
import { framedPrompts, framesOf, HELD_OUT, promptsOf } from '../../../bench/profile-fit.ts';
import { readQuestion } from '../../../src/routing/profile/question.ts';
import { COLUMN, COLUMNS, SHIPPED_WORDS } from '../../../src/routing/profile/word-table.ts';
import { profile, READER } from '../../support/chat-body.ts';

const asked = (message: string): string => {
  const { text, lines } = readQuestion(message, READER.tables);
  return lines.map(({ from, to }) => text.slice(from, to)).join('\n');
};

describe('a frame around a question', () => {
  test.each([
    [
      'Please read the following and provide your answer.\n\nWho wrote Middlemarch?\n\nAnswer:',
      'Who wrote Middlemarch?',
    ],
    ['how do I reset a Fritzbox?\n\nYour answer:', 'how do I reset a Fritzbox?'],
    ['Beantworte bitte die folgende Frage.\n\nWie lange kocht ein Ei?', 'Wie lange kocht ein Ei?'],
    ['Who wrote Middlemarch?\n\nThanks so much in advance!', 'Who wrote Middlemarch?'],
  ])('is left out of %j', (message, question) => {
    expect(asked(message)).toBe(question);
  });

  test.each([
    'Translate the following into French:\n\nThe shop is closed on Mondays.',
    'Summarize this report.\n\nThe council met on Monday and closed the bridge.',
    'Extract the name and the date from this mail:\n\nDear Ada, we meet on 4 May. Bo',
    'Write a poem about the sea.',
    'Thanks!',
  ])('is no part of %j, which names a task or says nothing else', (message) => {
    expect(asked(message).replace(/\s/g, '')).toBe(message.replace(/\s/g, ''));
  });

  test('asks for the length of the answer', () => {
    const of = (content: string) => profile({ messages: [{ role: 'user', content }] }).output.stated;
    expect(of('Please read the following question.\n\nWhy do bees dance?\n\nAnswer in at most 50 words.')).toBe(75);
  });

  /** Returns the share of held-out requests that keep their task in a frame that nothing was fitted to. */
  function staying(): number {
    const prompts = promptsOf('authors/a08').filter(
      ({ standing, task }, at) => at % 3 === 0 && standing === undefined && task !== 'vision',
    );
    const taskOf = new Map(prompts.map(({ id, request }) => [id, profile(request).task]));
    const framed = framedPrompts(prompts, framesOf(HELD_OUT.frames), 1);
    return framed.filter(({ id, request }) => profile(request).task === taskOf.get(id)).length / framed.length;
  }

  test('changes the task of few requests, and of more if no sentence is recognized as a frame', () => {
    const share = staying();
    const figures = SHIPPED_WORDS.slice();
    let without = 1;
    try {
      for (let at = COLUMN.frame; at < figures.length; at += COLUMNS) SHIPPED_WORDS[at] = 0;
      READER.forget();
      without = staying();
    } finally {
      SHIPPED_WORDS.set(figures);
      // Other tests must not get readings of the changed table.
      READER.forget();
    }
    expect(share).toBeGreaterThan(0.75);
    expect(share).toBeGreaterThan(without);
  });
});
