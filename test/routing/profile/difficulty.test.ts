import { describe, expect, test } from 'bun:test';
import { framed, framesOf, HELD_OUT, promptsOf as labelled } from '../../../bench/profile-fit.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import { promptsOf, system, user } from './prompts.ts';

const difficultyOf = (question: string, standing?: string, more: Partial<ProfileInput> = {}) =>
  profile({ messages: [...(standing ? [system(standing)] : []), user(question)], ...more }).difficulty;

const EASY = [
  ...[
    'hi',
    'Hello!',
    'Good morning',
    'thanks!',
    'Thank you so much, bye',
    'Hallo, wie geht es dir?',
    '¡Gracias!',
    '你好',
  ],
  ...['17 * 23', 'What is 17 * 23?', '2+2', 'what is 15% of 80', 'Wie viel ist 12 mal 9?', '7 x 8 = ?', '12 + 30 - 5'],
  'Translate "good morning" into Spanish.',
  'How do you say "thank you" in Japanese?',
  'Is this review positive or negative? "The soup was cold and the waiter rude."',
  'What is the capital of France?',
  ...["What's the capital of Mongolia?", 'capital of Peru', 'the capital city of Kenya?', '日本の首都はどこですか?'],
  ...['法国的首都是哪里？', '프랑스의 수도는 어디인가요?', 'Какая столица Чехии?', 'Jaka jest stolica Czech?'],
  'What is the opposite of hot?',
];

const MERELY_SHORT = [
  ...['Is P = NP?', 'Is 2^61-1 prime?', 'Prove that 1 + 1 = 2', '9817 * 4421', '∫ x e^x dx'],
  ...[
    'What is 2 + 2 in the ring Z/3?',
    'Is 91 prime?',
    '17^23 mod 5',
    'Solve x + 3 = 7',
    'What is the largest known prime?',
  ],
  ...['Factor 8051', '2 + 2 = 5, true or false? Explain.', 'sqrt(2) + sqrt(3)', 'Why is 0! = 1?', '1 2 3'],
  ...['Why?', 'Explain quantum gravity', 'Who was the third wife of Henry IV of Castile?', 'What is consciousness?'],
  ...[
    'What is the capital of structural power in Bourdieu?',
    'capital of Bourdieu and its critics',
    'Who wrote Hamlet?',
    'write a haiku',
    'fix it',
    'center a div',
    'What is Python?',
  ],
  'Translate "To be, or not to be, that is the question: whether \'tis nobler in the mind to suffer the slings and arrows" into Latin.',
  'Translate the idiom "kick the bucket" into Polish.',
  'Write a poem in Spanish: "night"',
  'Is this argument valid? "All cats are mortal. Socrates is mortal. So Socrates is a cat." yes or no',
  'Is this sarcastic or sincere? "Great, another meeting."',
  'Hello, can you prove that the square root of 2 is irrational?',
  'hi, my chest hurts and my left arm is numb',
  'thanks, now refactor the parser',
  'nice. now in Rust',
  'Which is correct?\nA. 2\nB. 3\nC. 4\nD. 5',
  'Fact or opinion, and why: "The tax is too high."',
  'I feel so alone today.',
];

describe('difficulty', () => {
  test('the difficulty is easy for a greeting, thanks, a small sum, a label, a line to translate, or a primary school fact', () => {
    expect(EASY.filter((question) => difficultyOf(question) !== 'easy')).toEqual([]);
  });

  test('the difficulty is usual for requests that are merely short', () => {
    expect(MERELY_SHORT.filter((question) => difficultyOf(question) !== 'usual')).toEqual([]);
  });

  test('the difficulty is usual for every exam question', () => {
    expect(promptsOf('exams').filter(({ request }) => profile(request).difficulty === 'easy')).toEqual([]);
  });

  test('the difficulty is usual for code, reasons, texts to summarize, actions and media', () => {
    const tasks = ['coding', 'reasoning', 'summarization', 'extraction', 'writing', 'vision', 'tool_use'];
    const sets = ['dev', 'acts', 'everyday', 'everyday-more', 'terse', 'traps', 'talks', 'standing', 'frozen'];
    const prompts = sets.flatMap(promptsOf).filter(({ task }) => tasks.includes(task));
    const easy = prompts.filter(({ request }) => profile(request).difficulty === 'easy');
    expect(easy.length / prompts.length).toBeLessThan(0.01);
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
    expect(profile({ messages: [user([{ type: 'text', text: 'hi' }, image])] }).difficulty).toBe('usual');
  });

  test('the difficulty depends on the last question alone: no system prompt and no earlier question changes it', () => {
    const long = `Classify the ticket: billing, technical, other. ${'A refund that is late counts as technical. '.repeat(8)}`;
    const proof =
      'Prove that every continuous map of the closed disc to itself has a fixed point, without homology. Where does the argument fail in infinite dimensions? Give a counterexample with all details.';
    const before = [user(proof), { role: 'assistant', content: 'Sure.' } as const];
    for (const question of [...EASY, ...MERELY_SHORT, proof]) {
      const { hard, difficulty } = profile({ messages: [user(question)] });
      for (const around of [[system('You are a helpful assistant.')], [system(long)], before])
        expect(profile({ messages: [...around, user(question)] })).toMatchObject({ hard, difficulty });
    }
    expect(difficultyOf(proof)).toBe('hard');
  });

  test('a text around a question seldom changes whether it is hard, even one that nothing was fitted to', () => {
    const prompts = labelled('authors/a08').filter(({ request }, at) => at % 5 === 0 && !request.tools);
    const frames = framesOf(HELD_OUT.frames).filter((_, at) => at % 8 === 0);
    const changed = prompts.flatMap((prompt) =>
      frames.flatMap((frame) => {
        const wrapped = framed(prompt, frame);
        const isHard = profile(prompt.request).difficulty === 'hard';
        return wrapped === null ? [] : Number((profile(wrapped.request).difficulty === 'hard') !== isHard);
      }),
    );
    expect(changed.length).toBeGreaterThan(1_000);
    expect(changed.reduce((sum, one) => sum + one, 0) / changed.length).toBeLessThan(0.2);
  });
});
