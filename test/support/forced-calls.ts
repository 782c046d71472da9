import { expect } from 'bun:test';
import type { Platform } from '../../src/core/decision/answer.ts';
import { isObject, objectOf, objectsIn, textOf } from '../../src/core/json/object.ts';

/** A forced call of a function, as each dialect states it, and its answers as clients of the dialect read them. */
export const CITY = '{"city":"Bern","days":3}';

export const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 2 }, days: { type: 'integer' } },
  required: ['city'],
};
const TEXT = 'How is the weather in Bern?';
export const QUESTION = [{ role: 'user', content: TEXT }];
export const DESCRIPTION = 'The weather of the next days.';

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An answer in a form that does not depend on its dialect. */
export interface ReadAnswer {
  readonly calls: readonly Call[];
  readonly text: string;
  readonly finish: unknown;
  readonly platform: Platform;
}

/** A dialect with its way to write a forced call. */
export interface Door {
  readonly path: string;
  /** @param schema of the function `weather` @param others the names of more functions */
  body(model: string, schema: object, others?: readonly string[]): Record<string, unknown>;
  /** The members that force this call by name, or any call. */
  readonly named: object;
  readonly any: object;
  /** The finish reason of a call, and of an answer that was cut off. */
  readonly finishes: readonly [called: unknown, cut: unknown];
  read(answer: object): ReadAnswer;
  /** @param events of a stream */
  readStream(events: readonly object[]): ReadAnswer;
  /** The members of a conversation that contains an earlier call. */
  readonly earlier: object;
}

const functionOf = (name: string, parameters: object) => ({ name, description: DESCRIPTION, parameters });
const platformIn = (answer: unknown): Platform => objectOf(answer).platform as Platform;

export const chatCalls = (calls: unknown): Call[] =>
  objectsIn(calls).map(({ id, function: fn }) => ({
    id: textOf(id),
    name: textOf(objectOf(fn).name),
    arguments: textOf(objectOf(fn).arguments),
  }));

export const chat: Door = {
  path: '/v1/chat/completions',
  body: (model, schema, others = []) => ({
    model,
    messages: QUESTION,
    tools: ['weather', ...others].map((name) => ({ type: 'function', function: functionOf(name, schema) })),
  }),
  named: { tool_choice: { type: 'function', function: { name: 'weather' } } },
  any: { tool_choice: 'required' },
  finishes: ['tool_calls', 'length'],
  read(answer) {
    const [choice] = objectsIn(objectOf(answer).choices);
    const message = objectOf(choice?.message);
    return {
      calls: chatCalls(message.tool_calls),
      text: textOf(message.content),
      finish: choice?.finish_reason,
      platform: platformIn(answer),
    };
  },
  readStream(events) {
    const choices = events.flatMap((event) => objectsIn(objectOf(event).choices));
    const deltas = choices.map(({ delta }) => objectOf(delta));
    const pieces = deltas.flatMap(({ tool_calls: calls }) => chatCalls(calls));
    return {
      calls: pieces.length === 0 ? [] : [{ ...pieces[0]!, arguments: pieces.map((one) => one.arguments).join('') }],
      text: deltas.map(({ content }) => textOf(content)).join(''),
      finish: choices.map((one) => one.finish_reason).findLast((reason) => reason != null),
      platform: platformIn(events.findLast((event) => 'platform' in event)),
    };
  },
  earlier: {
    messages: [
      ...QUESTION,
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: CITY } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Rain' },
      { role: 'user', content: 'And tomorrow?' },
    ],
  },
};

const toolUses = (blocks: unknown): Call[] =>
  objectsIn(blocks).flatMap(({ type, id, name, input }) =>
    type === 'tool_use' ? [{ id: textOf(id), name: textOf(name), arguments: JSON.stringify(input) }] : [],
  );

export const messages: Door = {
  path: '/v1/messages',
  body: (model, schema, others = []) => ({
    model,
    max_tokens: 4_000,
    messages: QUESTION,
    tools: ['weather', ...others].map((name) => ({ name, description: DESCRIPTION, input_schema: schema })),
  }),
  named: { tool_choice: { type: 'tool', name: 'weather' } },
  any: { tool_choice: { type: 'any' } },
  finishes: ['tool_use', 'max_tokens'],
  read(answer) {
    const { content, stop_reason: finish } = objectOf(answer);
    const text = objectsIn(content).map((block) => textOf(block.text));
    return { calls: toolUses(content), text: text.join(''), finish, platform: platformIn(answer) };
  },
  readStream(events) {
    const all = events.filter(isObject);
    const [start] = toolUses(all.map((event) => event.content_block));
    const deltas = all.map(({ delta }) => objectOf(delta));
    return {
      calls: start ? [{ ...start, arguments: deltas.map((delta) => textOf(delta.partial_json)).join('') }] : [],
      text: deltas.map((delta) => textOf(delta.text)).join(''),
      finish: deltas.map((delta) => delta.stop_reason).findLast((reason) => reason != null),
      platform: platformIn(all.findLast((event) => 'platform' in event)),
    };
  },
  earlier: {
    messages: [
      ...QUESTION,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Bern' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Rain' }] },
    ],
  },
};

const functionCalls = (items: unknown): Call[] =>
  objectsIn(items).flatMap(({ type, call_id: id, name, arguments: args }) =>
    type === 'function_call' ? [{ id: textOf(id), name: textOf(name), arguments: textOf(args) }] : [],
  );

const readResponse = (answer: object): ReadAnswer => {
  const { output, status, incomplete_details: cut } = objectOf(answer);
  const text = objectsIn(output).flatMap(({ content }) => objectsIn(content).map((part) => textOf(part.text)));
  const finish = textOf(objectOf(cut).reason) || status;
  return { calls: functionCalls(output), text: text.join(''), finish, platform: platformIn(answer) };
};

const responses: Door = {
  path: '/v1/responses',
  body: (model, schema, others = []) => ({
    model,
    input: TEXT,
    store: false,
    tools: ['weather', ...others].map((name) => ({ type: 'function', ...functionOf(name, schema) })),
  }),
  named: { tool_choice: { type: 'function', name: 'weather' } },
  any: { tool_choice: 'required' },
  finishes: ['completed', 'max_output_tokens'],
  read: readResponse,
  readStream(events) {
    const deltas = events.flatMap((event) => {
      const { type, delta } = objectOf(event);
      return type === 'response.function_call_arguments.delta' ? [textOf(delta)] : [];
    });
    const last = readResponse(objectOf(objectOf(events.at(-1)).response));
    expect(deltas.join('')).toBe(last.calls[0]?.arguments ?? '');
    return last;
  },
  earlier: {
    input: [
      { role: 'user', content: TEXT },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: CITY },
      { type: 'function_call_output', call_id: 'c1', output: 'Rain' },
    ],
  },
};

export const DOORS = [
  ['chat', chat],
  ['messages', messages],
  ['responses', responses],
] as const;
