import { expect, test } from 'bun:test';
import { ResponsesDialogue } from '../../../src/dialects/openai-responses/dialogue.ts';

const frame = (members: object) => JSON.stringify({ type: 'response.create', model: 'best', ...members });

/** The request that a frame makes, once its pieces are put together. */
const bodyOf = (dialogue: ResponsesDialogue, members: object) =>
  JSON.parse(Buffer.concat(dialogue.read(frame(members)).slice()).toString());

/** The inputs of the request that a connection sends after an answer with these events. */
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
])('a connection goes on from its answer, wherever the type stands in the last event: %j', (event) => {
  expect(inputsAfter(event)).toEqual(WHOLE);
});

test('a text with the name of the last event is not taken for it', () => {
  const delta = { type: 'response.output_text.delta', delta: '"response.completed"', response: { id: 'resp_1' } };
  expect(inputsAfter({ type: 'response.completed', response }, delta)).toEqual(WHOLE);
  expect(inputsAfter(delta)).toBe('And now?');
});
