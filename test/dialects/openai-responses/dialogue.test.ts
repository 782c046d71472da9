import { expect, test } from 'bun:test';
import { ResponsesDialogue } from '../../../src/dialects/openai-responses/dialogue.ts';

const frame = (members: object) => JSON.stringify({ type: 'response.create', model: 'best', ...members });

/** Returns the request that a frame contains, with its pieces joined. */
const bodyOf = (dialogue: ResponsesDialogue, members: object) =>
  JSON.parse(Buffer.concat(dialogue.read(frame(members)).slice()).toString());

/** Returns the inputs of the request that a connection sends after an answer with these events. */
function inputsAfter(...events: object[]): unknown {
  const dialogue = new ResponsesDialogue();
  dialogue.read(frame({ input: 'Hi' }));
  for (const event of events) dialogue.sent(JSON.stringify(event));
  return bodyOf(dialogue, { previous_response_id: 'resp_1', input: 'And now?' }).input;
}

const response = { id: 'resp_1', output: [{ type: 'message', role: 'assistant', content: 'Hello.' }] };
const user = (content: string) => ({ role: 'user', content });
const WHOLE = [user('Hi'), ...response.output, user('And now?')];

test.each([
  { type: 'response.completed', response },
  { sequence_number: 3, response, type: 'response.incomplete' },
])('a connection continues from its answer, wherever the last event has its type: %j', (event) => {
  expect(inputsAfter(event)).toEqual(WHOLE);
});

test('a text that contains the name of the last event does not count as that event', () => {
  const delta = { type: 'response.output_text.delta', delta: '"response.completed"', response: { id: 'resp_1' } };
  expect(inputsAfter({ type: 'response.completed', response }, delta)).toEqual(WHOLE);
  expect(inputsAfter(delta)).toBe('And now?');
});
