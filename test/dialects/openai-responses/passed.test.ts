import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../../plugins/providers/json.ts';
import { createResponse } from '../../../src/dialects/openai-responses/surface.ts';
import { RECEIPT } from '../../support/caller-message.ts';
import { eventsOf } from '../../support/dialects/openai-responses.ts';
import { checkStream } from '../../support/open-responses/schemas.ts';
import { readOn } from '../../support/read-request.ts';

/** A stream that is passed on unchanged, and that Signalbox ends before its provider does. */
const request = {
  method: 'POST',
  path: '/v1/responses',
  query: new URLSearchParams(),
  headers: new Headers(),
  text: '',
};
const body = { model: 'm', store: false, reasoning: { summary: 'auto' }, tools: [{ type: 'custom', name: 'c' }] };
const ANSWERS = [
  { text: 'Hello there, you.', reasoning: 'Let me see.' },
  {
    toolCalls: [
      { name: 'f', arguments: '{"city":"Bern"}' },
      { name: 'c', arguments: '{"input":"some text"}' },
    ],
  },
  { refusal: 'I may not say.' },
];

const events = (at: number): Json[] =>
  eventsOf({ ...request, body }, ANSWERS[at]!).map((text) => JSON.parse(text.slice(text.indexOf('data: ') + 6)));

function cutAfter(all: readonly Json[]): string {
  const { events: form } = readOn(createResponse, { ...body, input: 'Hi', stream: true });
  const writer = form!.writer({ decision: 1, created: 1, model: 'm' });
  const begun = all.map((event) => writer.write([{ type: 'passthrough', choice: 0, event }])).join('');
  return begun + writer.end(RECEIPT);
}

test('closes the open items in order, and ends as incomplete', () => {
  const law = fc.property(fc.nat(ANSWERS.length - 1), fc.nat(), (answer, cut) => {
    const all = events(answer);
    const until = 1 + (cut % (all.length - 1));
    const last = checkStream(cutAfter(all.slice(0, until))).at(-1)!;
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, platform: {} },
    });
  });
  fc.assert(law, { numRuns: 200 });
});

test('ends as its provider ended it if the end has arrived', () => {
  for (const at of ANSWERS.keys()) {
    const all = events(at);
    expect(checkStream(cutAfter(all)).map(({ type }) => type)).toEqual(all.map(({ type }) => type));
  }
});
