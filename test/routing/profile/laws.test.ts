import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage, ChatTool } from '../../../src/core/api/chat-request.ts';
import { tries } from '../../deep/effort.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import type { Profile } from '../../support/profile.ts';
import { image, promptsOf, user } from './prompts.ts';

const intentOf = ({ task, mix, naturalLanguage, languagesSeen, output }: Profile) => ({
  task,
  mix,
  naturalLanguage,
  languagesSeen,
  output,
});

/** Pieces that the prompt reader recognizes, in any order and cut anywhere. */
const piece = fc.oneof(
  fc.string({ unit: anyCodePoint, maxLength: 40 }),
  fc.constantFrom(
    ...['```', '```python\n', '\n', '\n\n', '<document>', '</document>', '<task>', '</task>', '<div>', '"', '«', ': '],
    ...[
      'def f(x):\n',
      'let x = 1;\n',
      'Translate into French',
      'fix it',
      'क',
      '関数',
      'c++',
      '3 + 4 =',
      '$x$',
      '-',
      '?',
    ],
  ),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  text.map(user),
  text.map((one) => user([{ type: 'text', text: one }, image])),
  fc.constant(user(null)),
  text.map((content): ChatMessage => ({ role: 'assistant', content })),
  text.map((content): ChatMessage => ({ role: 'system', content })),
  text.map((content): ChatMessage => ({ role: 'tool', tool_call_id: 'call', content })),
);
const tool = fc
  .constantFrom('get_weather', 'run', 'x', 'sendEmail')
  .map((name): ChatTool => ({ type: 'function', function: { name } }));
const request: fc.Arbitrary<ProfileInput> = fc.record({
  messages: fc.array(message, { maxLength: 6 }),
  tools: fc.option(fc.array(tool, { maxLength: 3 }), { nil: undefined }),
});

describe('a profile', () => {
  test('a profile is deterministic for any messages, with shares in 64ths that sum to 1', () => {
    fc.assert(
      fc.property(request, (one) => {
        const read = profile(one);
        expect(profile(one)).toEqual(read);
        const shares = read.mix.map(({ share }) => share);
        expect(shares.every((share) => share > 0 && Number.isInteger(share * 64))).toBe(true);
        if (shares.length > 0) expect(shares.reduce((sum, share) => sum + share, 0)).toBe(1);
        expect(shares).toEqual(shares.toSorted((a, b) => b - a));
        const [first] = read.mix;
        if (first) expect(read.task).toBe(first.task);
        expect(read.languagesSeen).toEqual([...new Set(read.languagesSeen)].sort());
        expect(read.naturalLanguage).toMatch(/^(?:[a-z]{2}|und)$/);
        for (const asks of Object.values(read.output)) {
          expect(asks === null || (Number.isSafeInteger(asks) && asks > 0)).toBe(true);
        }
      }),
      tries('a profile is deterministic, with shares that sum to 1', 150, 20_000),
    );
  });

  const prompts = promptsOf('dev');
  const prompt = fc.constantFrom(...prompts.map((one) => one.request));
  const NOISE = `You are an expert engineer. Write Python functions, translate into German, summarize, classify this.
\`\`\`sql
SELECT 1;
\`\`\`
How many are 3 + 4?`;

  test('a profile never takes the natural language from a system prompt', () => {
    fc.assert(
      fc.property(prompt, text, (one, content) => {
        const read = profile({ ...one, messages: [{ role: 'system', content }, ...one.messages] });
        expect(read.naturalLanguage).toBe(profile(one).naturalLanguage);
      }),
      tries('a profile takes no natural language from a system prompt', 60, 5_000),
    );
  });

  test('a profile ignores material between tags and fences of a system prompt', () => {
    const shown = `You are a helpful assistant.\n\n<document>\n${NOISE}\n</document>`;
    const [bland, noisy] = ['You are a helpful assistant.\n\n<document>\nNothing.\n</document>', shown];
    fc.assert(
      fc.property(prompt, (one) => {
        const [a, b] = [bland, noisy].map((content) =>
          intentOf(profile({ ...one, messages: [{ role: 'system', content }, ...one.messages] })),
        );
        expect(b!.task).toBe(a!.task);
      }),
      tries('a profile ignores material of a system prompt', 40, 5_000),
    );
  });

  test('a profile ignores descriptions of offered tools', () => {
    const tool = (description: string): ChatTool => {
      const parameters = { type: 'object', description };
      return { type: 'function', function: { name: 'get_zebra', description, parameters } };
    };
    fc.assert(
      fc.property(prompt, (one) => {
        fc.pre(one.tool_choice === undefined);
        const [plain, noisy] = ['', NOISE].map((words) =>
          profile({ ...one, tools: [...(one.tools ?? []), tool(words)] }),
        );
        expect(intentOf(noisy!)).toEqual(intentOf(plain!));
        // An offered tool can change the task only to tool_use.
        const { task, naturalLanguage, languagesSeen } = profile(one);
        expect([task, 'tool_use', 'general']).toContain(noisy!.task);
        expect([noisy!.naturalLanguage, noisy!.languagesSeen]).toEqual([naturalLanguage, languagesSeen]);
      }),
      tries('a profile ignores descriptions of offered tools', 60, 5_000),
    );
  });

  test('a profile ignores reminders that software adds before or after the question, however long they are', () => {
    const reminder = `<system-reminder>\n${NOISE.repeat(30)}\n</system-reminder>`;
    fc.assert(
      fc.property(prompt, fc.boolean(), (one, isBefore) => {
        const last = one.messages.findLastIndex(({ role }) => role === 'user');
        const remind = (content: ChatMessage['content']) => {
          if (typeof content !== 'string') return content;
          return isBefore ? `${reminder}\n${content}` : `${content}\n\n${reminder}`;
        };
        const messages = one.messages.map((each, at) =>
          at === last ? { ...each, content: remind(each.content) } : each,
        );
        expect(intentOf(profile({ ...one, messages }))).toEqual(intentOf(profile(one)));
      }),
      tries('a profile ignores reminders of a harness', 100, 5_000),
    );
  });
});
