import { describe, expect, test } from 'bun:test';
import { bodyOfPrompt, DIALECTS, type Dialect } from '../../src/console/views/playground/body.ts';
import { curlOf } from '../../src/console/views/playground/snippets.ts';
import { textIn } from '../../src/console/views/playground/wire.ts';
import { answerRoutesOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { filledPath } from '../../src/http/kit/path-template.ts';

const WORDS = Object.keys(DIALECTS) as Dialect[];
const PROMPT = 'What is "PROMPT"?';

describe.each(WORDS)('the dialect %s of the playground', (word) => {
  test('makes a body of a prompt that its own route reads', () => {
    const served = answerRoutesOf(SURFACES).find(({ surface }) => surface.playground?.word === word)!;
    const body = { model: 'best', ...bodyOfPrompt(PROMPT, word) };
    const { request } = served.route.read({ body, headers: new Headers(), query: '', params: { model: 'best' } });
    expect(request.model).toBe('best');
    expect(JSON.stringify(request.original.body)).toContain(JSON.stringify(PROMPT));
  });

  test('shows a command for the path with the model', () => {
    const model = 'lab/best';
    const path = filledPath(DIALECTS[word].path, model);
    expect(curlOf('https://gateway.example', word, { model })).toContain(`'https://gateway.example${path}'`);
    expect(path).not.toContain('{');
  });
});

test('the text of an answer is read at the expression of its dialect, and a missing member has no text', () => {
  const answer = { choices: [{ message: { content: 'Hello' } }] };
  expect(textIn(answer, 'answer.choices[0].message.content')).toBe('Hello');
  expect(textIn(answer, "event.choices[0]?.message?.content ?? ''")).toBe('Hello');
  expect([textIn(answer, 'answer.choices[1].message.content'), textIn(answer, null)]).toEqual(['', '']);
});
