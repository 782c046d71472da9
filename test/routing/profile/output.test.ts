import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage, ChatTool } from '../../../src/core/api/chat-request.ts';
import { schemaTokens } from '../../../src/routing/profile/schema-length.ts';
import { tries } from '../../deep/effort.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import { system, user } from './prompts.ts';

const output = (question: string | readonly ChatMessage[], more: Partial<ProfileInput> = {}) =>
  profile({ messages: typeof question === 'string' ? [user(question)] : [...question], ...more }).output;
const stated = (...request: Parameters<typeof output>) => output(...request).stated;

const TEXT = 'The committee met on Tuesday and agreed to postpone the repair of the bridge until the spring. '.repeat(
  20,
);

describe('the length of an answer, stated in words', () => {
  test.each([
    ['Write an essay of 2,000 words about bees.', 3_000],
    ['Write a 1.5 page essay about bees.', 1_050],
    ['Écris un texte de 2 000 mots sur les abeilles.', 3_000],
    ['Write 100-150 words about bees.', 225],
    ['Describe bees in 3 paragraphs of 100 words.', 360],
    ['Describe bees in two sentences.', 60],
    ['Beschreibe die Bienen in drei Sätzen.', 90],
    ['Explain bees in 5 bullet points.', 150],
    ['Give me 10 ideas for a birthday party.', 250],
    ['Dame 5 ejemplos de mamíferos.', 125],
    ['用200字介绍蜜蜂。', 300],
    ['Опиши пчёл в трёх предложениях.', 90],
    ['Write a product description of at most 400 characters.', 100],
  ])('is read: %s', (question, tokens) => {
    expect(stated(question)).toBe(tokens);
  });

  test.each([
    ['en', 'Describe bees in 2 paragraphs.', 240],
    ['ar', 'صف النحل في 5 جمل.', 150],
    ['cs', 'Popiš včely ve 3 odstavcích.', 360],
    ['de', 'Beschreibe die Bienen mit höchstens 400 Zeichen.', 100],
    ['es', 'Describe las abejas en 2 párrafos.', 240],
    ['fr', 'Décris les abeilles en 2 paragraphes.', 240],
    ['hi', 'मधुमक्खियों पर 50 शब्दों का निबंध लिखो।', 75],
    ['id', 'Jelaskan lebah dalam 2 paragraf.', 240],
    ['it', 'Descrivi le api in 2 paragrafi.', 240],
    ['ja', 'ミツバチについて200文字で説明してください。', 300],
    ['ko', '꿀벌을 3 문단으로 설명해 줘.', 360],
    ['nl', 'Beschrijf de bijen in 50 woorden.', 75],
    ['pl', 'Opisz pszczoły w 50 słowach.', 75],
    ['pt', 'Descreva as abelhas em 2 parágrafos.', 240],
    ['ru', 'Опиши пчёл в 2 абзацах.', 240],
    ['tr', 'Arıları 2 paragrafta anlat.', 240],
    ['uk', 'Опиши бджіл у 2 абзацах.', 240],
    ['vi', 'Hãy mô tả con ong trong 2 đoạn.', 240],
    ['zh', '用3段介绍蜜蜂。', 360],
  ])('is read in nineteen languages: %s', (_, question, tokens) => {
    expect(stated(question)).toBe(tokens);
  });

  test('ignores counts of other things', () => {
    for (const question of [
      'What is a haiku?',
      'Write a function that returns the first 3 words of a string.',
      'Write a regex for passwords of 12 characters.',
      'Why is the sky blue?',
    ])
      expect(stated(question)).toBeNull();
  });

  test('comes from the system prompt, unless the user states another length', () => {
    const one = system('You are a trivia bot. Answer in one word.');
    expect(stated([one, user('What is the capital of France?')])).toBe(4);
    expect(stated([one, user('What is the capital of France? Explain it in 3 sentences.')])).toBe(90);
    expect(stated([system('You are a helpful, concise assistant.'), user('Why is the sky blue?')])).toBeNull();
  });

  test('never decreases if the request asks for more', () => {
    const unit = fc.constantFrom('words', 'sentences', 'paragraphs', 'pages', 'bullet points', 'ideas');
    const count = fc.integer({ min: 1, max: 5_000 });
    fc.assert(
      fc.property(count, count, unit, (a, b, of) => {
        const [few, many] = [Math.min(a, b), Math.max(a, b)];
        const asks = (number: number) => stated(`Write an essay about bees in ${number} ${of}.`)!;
        expect(asks(many)).toBeGreaterThanOrEqual(asks(few));
      }),
    );
  });
});

describe('the length of an answer, estimated from its text', () => {
  test('is the length of the text for a translation', () => {
    const tokens = stated(`Translate into German: ${TEXT}`)!;
    expect(tokens).toBeGreaterThan(300);
    expect(tokens).toBeLessThan(500);
    expect(stated('Translate into German: Good morning')).toBeLessThan(15);
    expect(
      stated([user(`Summarize: ${TEXT}`), { role: 'assistant', content: TEXT }, user('Translate that to French')]),
    ).toBeGreaterThan(300);
  });

  test('is at most a share of the text for a summary', () => {
    const { stated: said, atMost } = output(`Summarize this text: ${TEXT}`);
    expect(said).toBeNull();
    expect(atMost).toBeGreaterThan(80);
    expect(atMost).toBeLessThan(200);
    expect(stated(`Summarize this text in one sentence: ${TEXT}`)).toBe(30);
  });

  test('is short for a greeting, thanks and a small sum', () => {
    for (const easy of ['hi', 'Hello, how are you?', 'Thanks!', '17 * 23'])
      expect(output(easy).atMost).toBeLessThanOrEqual(40);
    for (const other of [
      'hi, write a poem about my dog and the sea please',
      'Prove from the axioms of set theory that 2 + 2 = 4, with every single step.',
    ])
      expect(output(other).atMost).toBeNull();
  });
});

const object = (properties: Record<string, unknown>) => ({ type: 'object', properties });
const format = (schema: Record<string, unknown>): Partial<ProfileInput> => ({
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
});
const THREE = object({ name: { type: 'string' }, age: { type: 'integer' }, city: { type: 'string' } });

describe('the length of an answer, estimated from a schema', () => {
  test('is a few tens of tokens for three short fields', () => {
    const tokens = stated(`Extract the person: ${TEXT}`, format(THREE))!;
    expect(tokens).toBeGreaterThan(20);
    expect(tokens).toBeLessThan(70);
  });

  test('is at least the length that the question states in words', () => {
    expect(stated('Write a story of 2,000 words.', format(THREE))).toBe(3_000);
    expect(stated('Is this spam? One word.', format(object({ label: { enum: ['spam', 'ham'] } })))).toBeLessThan(20);
  });

  test('counts prose, lists, enums and references', () => {
    const prose = schemaTokens(object({ summary: { type: 'string' } }));
    expect(prose).toBeGreaterThan(100);
    expect(schemaTokens(object({ summary: { type: 'string', maxLength: 40 } }))).toBeLessThan(20);
    const list = (more: object) => schemaTokens({ type: 'array', items: THREE, ...more });
    expect(list({})).toBeGreaterThan(2 * schemaTokens(THREE));
    expect(list({ minItems: 20 })).toBeGreaterThan(19 * schemaTokens(THREE));
    expect(list({ maxItems: 1 })).toBeLessThan(2 * schemaTokens(THREE));
    const node = { ...object({ name: { type: 'string' }, next: { $ref: '#/$defs/node' } }) };
    expect(schemaTokens({ $defs: { node }, $ref: '#/$defs/node' })).toBeLessThan(60);
  });

  test('is the length of the arguments if only one call is possible', () => {
    const tool = (name: string): ChatTool => ({ type: 'function', function: { name, parameters: THREE } });
    const named = { type: 'function', function: { name: 'save' } } as const;
    expect(stated('Save it', { tools: [tool('save'), tool('other')], tool_choice: named })).toBeLessThan(80);
    expect(stated('Save it', { tools: [tool('save')], tool_choice: 'required' })).toBeLessThan(80);
    expect(stated('Save it', { tools: [tool('save'), tool('other')], tool_choice: 'required' })).toBeNull();
    expect(stated('Why is the sky blue?', { tools: [tool('save')], ...format(THREE) })).toBeNull();
  });

  const leaf = fc.constantFrom<Record<string, unknown>>(
    { type: 'string' },
    { type: 'string', maxLength: 9 },
    { type: 'string', enum: ['a', 'bcdef'] },
    { type: ['number', 'null'] },
    { type: 'boolean' },
    { $ref: '#/properties/a' },
    {},
  );
  const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.dictionary(fc.constantFrom('a', 'b', 'summary'), tie('schema')).map(object),
      fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 3 }) }),
    ),
  }));
  const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'text'), schema);

  /** Adding a field never lowers the expected length. */
  const checkLaw = (measure: (schema: unknown) => number) =>
    fc.assert(
      fc.property(fields, schema, (properties, one) => {
        const tokens = measure(object(properties));
        expect(Number.isSafeInteger(tokens) && tokens > 0).toBe(true);
        expect(measure(object({ ...properties, more: one }))).toBeGreaterThanOrEqual(tokens);
      }),
      tries('another field never lowers the expected length of an answer', 150, 10_000),
    );

  test('never decreases with another field', () => checkLaw(schemaTokens));
  test('(and a mean over fields would break it)', () => {
    const mean = (one: unknown) =>
      Math.ceil(schemaTokens(one) / Math.max(1, Object.keys((one as ReturnType<typeof object>).properties).length));
    expect(() => checkLaw(mean)).toThrow();
  });

  test('is finite for any value, including recursive schemas', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const tokens = schemaTokens(value);
        expect(Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= 100_000).toBe(true);
      }),
    );
    const many = Object.fromEntries(
      [...Array(200).keys()].map((at) => [
        `d${at}`,
        object({ a: { $ref: `#/$defs/d${(at + 1) % 200}` }, b: { $ref: `#/$defs/d${(at + 7) % 200}` } }),
      ]),
    );
    expect(schemaTokens({ $defs: many, $ref: '#/$defs/d0' })).toBeGreaterThan(100);
  });
});

describe('edits and acknowledgements', () => {
  const read = (content: string) => profile({ messages: [{ role: 'user', content }] });

  test('short answers are expected of labels, greetings and thanks', () => {
    const short = [
      'Is the earth flat? Yes or no.',
      'Is this spam? Answer with only the label.',
      ...['👍', '❤️', 'thanks', 'Thank you so much!', 'danke'],
    ];
    for (const content of short) expect([content, read(content).output.atMost]).toEqual([content, 40]);
    expect(read('Prove that there are infinitely many primes.').output.atMost).toBeNull();
  });

  test('a description of symptoms with figures is not math', () => {
    const symptoms = [
      'I have tearing chest pain radiating to my back, BP 190/110, I am 58. What should I do?',
      'tearing chest pain',
      'my kid is 4 and has 38.9 fever and a rash',
    ];
    for (const content of symptoms) expect(['general', 'reasoning', 'chat']).toContain(read(content).task);
  });
});
