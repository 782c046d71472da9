import { describe, expect, test } from 'bun:test';
import type { ChatMessage, ChatTool } from '../../../src/core/api/chat-request.ts';
import type { ChatBody as ProfileInput } from '../../support/chat-body.ts';
import { profile } from '../../support/chat-body.ts';
import { assistant, image, user } from './prompts.ts';

const tool = (name: string): ChatTool => ({ type: 'function', function: { name, description: 'Runs Python code.' } });

const read = (question: string | readonly ChatMessage[], more: Partial<ProfileInput> = {}) =>
  profile({ messages: typeof question === 'string' ? [user(question)] : [...question], ...more });
const taskOf = (question: string | readonly ChatMessage[], more: Partial<ProfileInput> = {}) =>
  read(question, more).task;
/** Returns the prompts that are read as another task. */
const mistaken = (task: string, questions: readonly string[]) =>
  questions.filter((question) => taskOf(question) !== task);

describe('words', () => {
  test('are matched as whole words: “let me know”, “letter” and words similar to keywords are not code', () => {
    const prose = [
      'Please let me know which letter follows Q.',
      'let me know which one is better:\n- tea\n- coffee',
      'What is the usual class schedule for monday:',
      'import taxes are high;\nwhat can I do?',
      'from the beginning of the story to its end:\nwhat happened?',
      'public holidays in May:',
      'What is the function of the heart?',
      'function follows form, they say: who said it?',
      'We need apples;\nand pears.',
      'Where do I select a gift and return the other one?',
    ];
    expect(mistaken('general', prose)).toEqual([]);
  });

  test('that are also names of programming languages count as such only within code', () => {
    const prose = [
      'Do pythons swim?',
      'Is java coffee strong?',
      'A swift reply, please: when is Easter?',
      'rust on my car',
      'the elixir of life: what is it?',
      'Crystal clear: explain',
      'O que é a lua cheia?',
      'ma vue sur la mer',
      'Which scheme should I choose for my pension?',
      'My racket broke, how do I restring it?',
      'I play darts; how high is the board?',
      'Write a haiku about the solidity of stone',
      'Vitamin D and C',
    ];
    expect(prose.flatMap((question) => read(question).languagesSeen)).toEqual([]);
    expect(read('Write a function in Go that reverses a string.').languagesSeen).toEqual(['go']);
    expect(read('How do I sort an array in C++ or C#?').languagesSeen).toEqual(['cpp', 'csharp']);
  });

  test.each([
    ['Write a Scala case class for a user', ['scala']],
    ['Write a PowerShell script that lists services', ['powershell']],
    ['Build a Flutter page with a list', ['dart']],
    ['Escribe un script en R que lea un CSV', ['r']],
    ['Write an Elixir GenServer', ['elixir']],
    ['Haskell: what is a monad?', ['haskell']],
    ['Write a Terraform module for an S3 bucket', ['hcl']],
    ['Write a Dockerfile for a Go service', ['dockerfile', 'go']],
    ['Convert this COBOL paragraph to Java', ['cobol', 'java']],
    ['Como faço um loop em Lua?', ['lua']],
    ['Write a Solidity contract for an ERC20 token', ['solidity']],
    ['Write an F# function to parse CSV', ['fsharp']],
    ['자바스크립트 배열 정렬', ['javascript']],
    ['resource "aws_s3_bucket" "b" {\n  bucket = "x"\n}\nWhy does this fail?', ['hcl']],
    ['What does this do?\n```\nFROM node:20\nRUN npm ci\n```', ['dockerfile']],
    ['Fix it:\n```\ndefmodule Shop do\n  def f(x) do\n  end\nend\n```', ['elixir']],
    ['Fix it:\n```\ncase class User(name: String)\n```', ['scala']],
  ])('name the requested programming language: %s', (question, languages) => {
    expect(read(question).languagesSeen).toEqual(languages);
  });

  test('of mathematics in a title do not mean math', () => {
    expect(taskOf('Who wrote The Sum of All Fears?')).toBe('general');
    expect(taskOf('Call 555-0147 on 12/05/2026: where is the best pizza?')).toBe('general');
  });

  test('count no more if they are repeated sixty times', () => {
    const trivia = 'What is the capital of France? ';
    expect(taskOf(trivia.repeat(60))).toBe(taskOf(trivia));
    expect(taskOf(trivia)).toBe('general');
  });

  test('that name another task as the object of the first task do not replace it', () => {
    expect(taskOf('Write a function that summarizes a list of orders.')).toBe('coding');
    expect(taskOf('Translate my feelings into a poem about the sea.')).toBe('writing');
    expect(taskOf('Write a haiku about this function.\n```python\ndef f(): pass\n```')).toBe('writing');
    expect(taskOf('Translate into French: Please write me a letter about the function.')).toBe('translation');
  });

  test('are enough in short but difficult questions', () => {
    expect(taskOf('Prove that sqrt 2 is irrational.')).toBe('math');
    expect(taskOf('∫ x e^x dx = ?')).toBe('math');
    expect(taskOf('Implement red-black trees.')).toBe('coding');
  });

  test('of other languages also mean coding: Polish, French, Hindi', () => {
    const code = [
      'Napisz funkcję, która zwraca największy element tablicy.',
      'Écris une fonction qui inverse une chaîne de caractères.',
      'एक प्रोग्राम लिखो जो दो संख्याओं का योग निकाले।',
    ];
    expect(mistaken('coding', code)).toEqual([]);
  });
});

describe('the form', () => {
  const CODE = [
    'Why does this fail?\n```\nx = foo(1);\n```',
    'def parse(text):\n    return text',
    'export const limit = 5',
    'function add(a, b) { return a + b }',
    'int main() {\n  return 0;\n}',
    'import { x } from "./x"\n',
    'from numpy import array',
    '#include <stdio.h>',
    'Traceback (most recent call last)\n  File "a.py"',
    'public static void main(String[] args) {',
    'fn main() {',
    'x = compute(1);\ny = 2;',
  ];
  const MATHS = ['Solve \\frac{1}{2} + x', 'What is 3 + 4 = ?', 'Find 12 * 7', '2x + 3 = 9'];

  test('of code and of mathematics determines the task if no word does', () => {
    expect(mistaken('coding', CODE)).toEqual([]);
    expect(mistaken('math', MATHS)).toEqual([]);
  });

  test('of a document around the question does not hide the question', () => {
    const report = 'The council met on Monday. A function of the new class of bridges is to let lorries pass. '.repeat(
      40,
    );
    expect(taskOf(`Summarize this report.\n\n${report}`)).toBe('summarization');
    expect(taskOf(`${report}\n\nTranslate that into German.`)).toBe('translation');
    expect(taskOf(`<document>\n${report}\n</document>\nWho was the first king of Norway?`)).toBe('general');
    expect(taskOf(`<user_query>\nWrite unit tests.\n</user_query>\n<context>\n${report}\n</context>`)).toBe('coding');
    expect(taskOf(`<instructions>Summarize.</instructions>\n<text>\n${report}\n</text>`)).toBe('summarization');
  });

  test('of a block whose start is missing or too far away does not hide the question', () => {
    const work = 'Write a Python function that parses dates.\n';
    const question = 'Who was the first king of Norway?';
    expect(taskOf(`Here it is.\n<document>\n${work.repeat(80)}</document>\n${question}`)).toBe('general');
    expect(taskOf(`${work}</document>\n${question}`)).toBe('general');
    expect(taskOf(`${'x = compute(1);\n'.repeat(3)}</document>\n${question}`)).toBe('general');
    // The tag ends the question itself, and material follows it.
    expect(taskOf(`Write a poem about rain.\n</task>\n${work}`)).toBe('writing');
  });

  test('of a message that consists only of blocks contains the question, except blocks that software adds', () => {
    const work = 'Write a Python function that parses dates.';
    expect(taskOf(`<note>\n${work}\n</note>`)).toBe('coding');
    expect(taskOf(`<note>\n${work}\n</note>\n<info>\nIt is for the shop.\n</info>`)).toBe('coding');
    const reminder = '<system-reminder>\nTranslate all that into German.\n</system-reminder>';
    expect(taskOf(`${reminder}\n<note>\n${work}\n</note>`)).toBe('coding');
    expect(taskOf(`<note>\nWho was it?\n</note>\n<system-reminder>\n${work}\n</system-reminder>`)).toBe('general');
  });

  test('of the question determines its language, not the text that the question is about', () => {
    expect(read('Translate to English: Wir haben morgen leider keine Zeit für ein Treffen.').naturalLanguage).toBe(
      'en',
    );
    expect(read('Was bedeutet auf Deutsch „I would like to see the menu“?').naturalLanguage).toBe('de');
    expect(read('用Python写一个函数').naturalLanguage).toBe('zh');
    expect(read('関数を書いて').naturalLanguage).toBe('ja');
    expect(read('mujhe python me ek script likh do').naturalLanguage).toBe('hi');
    expect(read('1 2 3').naturalLanguage).toBe('und');
  });

  test('that the question states is expected of the answer', () => {
    const asks = (question: string) => read(question).output.stated;
    expect(asks('Who was Ada Lovelace? Answer in one word.')).toBe(4);
    expect(asks('Write an essay of 2,000 words about bees.')).toBe(3_000);
    expect(asks('Explique la pluie en 3 phrases.')).toBe(90);
    expect(asks('Summarize this in 2 short paragraphs.')).toBe(240);
    expect(asks('Why is the sky blue?')).toBeNull();
  });
});

describe('a conversation', () => {
  const CODE = [user('Write a Python function that parses dates.'), assistant('def parse(s): ...')];

  test('gives a follow-up its task', () => {
    for (const more of ['fix it', 'continue', 'why?', 'again', 'make it shorter']) {
      expect([more, taskOf([...CODE, user(more)])]).toEqual([more, 'coding']);
    }
    expect(read([...CODE, user('now in Rust')])).toMatchObject({ task: 'coding', languagesSeen: ['rust'] });
    expect(read([...CODE, user('fix it')]).languagesSeen).toEqual(['python']);
    const translated = [user('Übersetze ins Englische: Guten Tag'), assistant('Hello')];
    expect(read([...translated, user('und auf Italienisch?')])).toMatchObject({
      task: 'translation',
      naturalLanguage: 'de',
    });
  });

  test('ends with thanks and with a new topic', () => {
    expect(taskOf([...CODE, user('Thanks!')])).toBe('chat');
    expect(taskOf([...CODE, user('What should I cook tonight?')])).toBe('general');
    expect(taskOf([...CODE, user('ok now write an email to my team about it')])).toBe('writing');
  });

  test('has the task of its user messages: system prompts and answers set no task', () => {
    expect(taskOf([{ role: 'system', content: CODE[0]!.content }, user('Hi')])).toBe('chat');
    expect(taskOf([assistant('```js\nlet x\n```')])).toBe('general');
    expect(taskOf([])).toBe('general');
  });

  test('about an image has the task vision as long as it is about the image', () => {
    const seen = [user([{ type: 'text', text: 'What is this?' }, image]), assistant('A cat.')];
    expect(taskOf(seen)).toBe('vision');
    expect(taskOf([...seen, user('and what colour is it?')])).toBe('vision');
    expect(taskOf([...seen, user('Write a Python function that sorts names.')])).toBe('coding');
  });
});

describe('tools', () => {
  const tools = [tool('get_weather'), tool('run_python')];

  test('that are offered do not turn a follow-up on code into a tool call', () => {
    const before = [user('Write a Python function that parses dates.'), assistant('```python\ndef parse(s): ...\n```')];
    for (const next of ['continue', 'now in Rust', 'fix it']) {
      expect(taskOf([...before, user(next)], { tools: [tool('get_weather')] })).toBe('coding');
    }
  });

  test('that are merely offered do not change the task of a question', () => {
    expect(taskOf('Why do cats purr?', { tools })).toBe('general');
    expect(taskOf('Why do cats purr?', { tools, tool_choice: 'auto' })).toBe('general');
    expect(taskOf('Fix the failing test in parser.go', { tools })).toBe('coding');
  });

  test('are requested by name, in other languages too, by tool_choice, and between their calls', () => {
    expect(taskOf("What's the weather in Oslo?", { tools })).toBe('tool_use');
    expect(taskOf('Wie wird das Wetter morgen in Köln?', { tools })).toBe('tool_use');
    expect(taskOf('Hi', { tools, tool_choice: 'required' })).toBe('tool_use');
    expect(taskOf('Hi', { tools, tool_choice: { type: 'function', function: { name: 'run_python' } } })).toBe(
      'tool_use',
    );
    expect(taskOf('Hi', { tool_choice: 'required' })).toBe('chat');
    const result: ChatMessage = { role: 'tool', tool_call_id: 'call', content: '{}' };
    expect(taskOf([user('what is ACME at today'), result], { tools })).toBe('tool_use');
  });

  test('are requested by all words of a name, whatever separates the words', () => {
    for (const name of ['current_page', 'current page', 'current\npage', 'currentPage']) {
      expect(taskOf('Who wrote the current page?', { tools: [tool(name)] })).toBe('tool_use');
      expect(taskOf('Who wrote the current law?', { tools: [tool(name)] })).toBe('general');
    }
  });
});
