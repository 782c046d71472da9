import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { profile } from '../../support/chat-body.ts';
import { assistant, promptsOf, user } from './prompts.ts';

const under = (content: string, ...messages: ChatMessage[]) =>
  profile({ messages: [{ role: 'system', content }, ...messages] }).task;

const AGENT = `You are Loom, a coding agent working in the repository. You read files, edit them and run the tests. Keep diffs small and
follow the style of the project. Never commit without being asked. Answer in at most four lines.\n\n# Tools\n${'Prefer the search tool to guessing names. '.repeat(60)}`;

describe('a system prompt', () => {
  test('a system prompt with an instruction sets the task, and the message is its object', () => {
    expect(
      under('You classify tickets into billing, technical or other. Reply with the label.', user('How do I pay?')),
    ).toBe('classification');
    expect(under('Translate everything the user writes into German.', user('Where is the station?'))).toBe(
      'translation',
    );
    expect(
      under('Generate SQL for the schema users(id, name). Return only SQL.', user('who signed up last week?')),
    ).toBe('coding');
    expect(
      under(
        'Summarize whatever the user sends in one sentence.',
        user('The bridge is closed until May. Buses go round it.'),
      ),
    ).toBe('summarization');
    expect(under('Extract name, date and amount as JSON.', user('Ann Lee paid 30 euros on 3 May.'))).toBe('extraction');
    expect(under('Traduis en anglais tout ce que l’utilisateur écrit.', user('Le magasin ferme à midi.'))).toBe(
      'translation',
    );
  });

  test('a system prompt counts in the role `developer` and in parts too', () => {
    const text = 'Translate everything the user writes into German. Output only the translation.';
    const messages = [user('Where is the station?')];
    expect(profile({ messages: [{ role: 'developer', content: text }, ...messages] }).task).toBe('translation');
    const parts: ChatMessage = { role: 'system', content: [{ type: 'text', text }] };
    expect(profile({ messages: [parts, ...messages] }).task).toBe('translation');
  });

  test('a system prompt provides the programming language if the question does not', () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Generate PostgreSQL for the question. Return only SQL.' },
      user('who signed up last week?'),
    ];
    expect(profile({ messages }).languagesSeen).toEqual(['sql']);
  });

  test('a system prompt of an agent does not change small talk and other requests', () => {
    const before = [user('the login test fails'), assistant('Fixed.')];
    expect(under(AGENT, ...before, user('thanks!'))).toBe('chat');
    expect(under(AGENT, user('hello'))).toBe('chat');
    expect(under(AGENT, user('write a birthday poem for my dad'))).toBe('writing');
  });

  test('a system prompt of an agent that serves people does not indicate coding', () => {
    const agents = ['You are a polite bank agent.', 'You are a polite agent for a bank. Help with accounts and cards.'];
    for (const content of agents) {
      expect(['chat', 'general']).toContain(under(content, user("I can't log in")));
      expect(under(content, user('How do I sort a list in Python?'))).toBe('coding');
    }
    expect(under('You are a coding agent in the repository.', user('make the login test pass'))).toBe('coding');
  });

  test('a system prompt that only gives a role leaves most tasks unchanged', () => {
    const personas = [
      'You are a very capable assistant who gives short and correct answers.',
      'You are Otto, the virtual assistant of Halvorsen Outdoor. You help customers with tents, boots and orders. Be kind and brief. Never talk about politics.',
      'Du bist ein hilfsbereiter Assistent der Firma Nordlicht. Antworte freundlich und in ganzen Sätzen.',
    ];
    const prompts = promptsOf('frozen').filter(({ request }) => request.messages[0]?.role === 'user');
    for (const content of personas) {
      const same = prompts.filter(
        ({ request }) =>
          under(content, ...request.messages) === profile({ messages: request.messages }).task || request.tools?.length,
      );
      expect(same.length / prompts.length).toBeGreaterThan(0.8);
    }
  });

  test('a system prompt is read at its beginning and end, whatever its length', () => {
    const filler = 'The company was founded in 1921 and makes kettles. ';
    fc.assert(
      fc.property(fc.integer({ min: 30, max: 3_000 }), (times) => {
        const head = `Translate everything the user writes into German. Output only the translation.\n\n`;
        const [a, b] = [times, times + 500].map((n) => under(head + filler.repeat(n), user('Where is the station?')));
        expect(a).toBe(b!);
      }),
      { numRuns: 50 },
    );
  });

  test('a system prompt sets no task without a message', () => {
    expect(under('Translate everything into German.')).toBe('general');
  });
});

describe('a system prompt that is cached', () => {
  const question = { role: 'user', content: 'My card was charged twice, is that a bug?' } as const;
  const under = (content: string) => profile({ messages: [{ role: 'system', content }, question] });

  test('has the same reading as the first time, even after others have removed it from the cache', () => {
    const orders = ['Translate everything into German.', 'You classify tickets as bug, billing, other.'];
    const first = orders.map(under);
    expect(first[0]).not.toEqual(first[1]);
    expect(orders.map(under)).toEqual(first);
    for (let i = 0; i < 200; i++) under(`You are assistant number ${i}.`);
    expect(orders.map(under)).toEqual(first);
  });
});
