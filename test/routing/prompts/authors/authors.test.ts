import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { TASK_NAMES } from '../../../../src/core/request/tasks.ts';
import { ALL_PARTS, panelOf } from '../../../panel/panel.ts';
import { promptsOf } from '../../profile/prompts.ts';

const Task = Type.Union(TASK_NAMES.map((name) => Type.Literal(name)));
const Labelled = Type.Object(
  {
    id: Type.String(),
    language: Type.String({ pattern: '^[a-z]{2}$' }),
    task: Task,
    standing: Type.Optional(Task),
    level: Type.Integer({ minimum: 0, maximum: 4 }),
    tokens: Type.Integer({ minimum: 1 }),
    request: Type.Object({ messages: Type.Array(Type.Object({ role: Type.String() }), { minItems: 1 }) }),
  },
  { additionalProperties: false },
);
const Wrapper = Type.Object(
  { id: Type.String(), language: Type.String(), before: Type.String(), after: Type.String() },
  { additionalProperties: false },
);

const linesOf = (file: string): unknown[] =>
  readFileSync(join(import.meta.dir, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const files = readdirSync(import.meta.dir).filter((name) => name.endsWith('.jsonl'));
const messagesOf = ({ request }: Pick<Static<typeof Labelled>, 'request'>) => JSON.stringify(request.messages);

test.each(files)('every line of %s has its labels and an ID of its own', (file) => {
  const schema = file.includes('wrappers') ? Wrapper : Labelled;
  const lines = linesOf(file);
  const faults = lines.flatMap((line, at) =>
    Value.Check(schema, line) ? [] : [`line ${at + 1}: ${Value.Errors(schema, line).First()?.path}`],
  );
  expect(faults).toEqual([]);
  expect(new Set(lines.map((line) => (line as { id: string }).id)).size).toBe(lines.length);
});

const labelled = () =>
  files.filter((file) => !file.includes('wrappers')).flatMap((file) => linesOf(file)) as Static<typeof Labelled>[];

interface Message {
  readonly role: string;
  readonly content?: unknown;
}
const Texts = Type.Array(Type.Object({ text: Type.Optional(Type.String()) }));

/** Returns the text of the last message by the user; empty if no message has a text. */
function questionOf(messages: readonly Message[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content;
  if (typeof content === 'string') return content;
  return Value.Check(Texts, content) ? content.map(({ text = '' }) => text).join(' ') : '';
}

/** Returns a hash of the letters and digits of a text, without case and accents; null for an emoji, which has no wording. */
function hashOf(text: string): bigint | null {
  const letters = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
  return letters === '' ? null : Bun.hash.xxHash64(letters);
}

test('no labelled request has the question of a request of the panel', () => {
  const panel = new Set(
    ALL_PARTS.flatMap((part) => panelOf(part).map(({ body }) => hashOf(questionOf(body.messages)))).filter(Boolean),
  );
  expect(panel.has(hashOf('GOOD   morning!'))).toBe(true);
  const same = labelled().filter(({ request }) => panel.has(hashOf(questionOf(request.messages))));
  expect(same.map(({ id }) => id)).toEqual([]);
});

test('no request is there twice, and none is in the set that nothing may be tuned on', () => {
  const texts = labelled().map(messagesOf);
  expect(new Set(texts).size).toBe(texts.length);
  const kept = new Set(['frozen', 'standing-heldout'].flatMap((name) => promptsOf(name).map(messagesOf)));
  expect(texts.filter((text) => kept.has(text))).toEqual([]);
});
