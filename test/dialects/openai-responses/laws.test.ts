import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isObject, type Json, listOf, textOf } from '../../../plugins/providers/json.ts';
import type { FinishReason, StreamPart } from '../../../src/contract/parts.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { createResponse } from '../../../src/dialects/openai-responses/surface.ts';
import { tries } from '../../deep/effort.ts';
import { RECEIPT } from '../../support/caller-message.ts';
import { checkEvents, checkResponse, checkStream } from '../../support/open-responses/schemas.ts';
import { readOn } from '../../support/read-request.ts';

/** Laws that the writers must obey for answers of every form. */
const IDENTITY = { decision: 1, created: 1_790_000_000, model: 'm' };
const TOOLS = [
  { type: 'function', name: 'f' },
  { type: 'custom', name: 'c' },
  { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] },
];
const BODY = { model: 'auto', input: 'Hi.', stream: true, tools: TOOLS };

function writers() {
  const { events, json } = readOn(createResponse, BODY);
  if (!events || !json) throw new Error('a stream was asked for');
  return { json: json(IDENTITY), events: events.writer(IDENTITY) };
}

const choice = 0;
const text = fc.string({ minLength: 1, maxLength: 6, unit: 'binary' });
const members = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), fc.string({ unit: 'binary', maxLength: 8 }));
const args = fc.oneof(
  members.map((one) => JSON.stringify(one)),
  text.map((input) => JSON.stringify({ input })),
  fc.constantFrom('', '{"input":7}', '{"in'),
);
const call = fc.record({ name: fc.constantFrom('f', 'c', 'g', 'unknown'), args, extra: fc.option(members) });
/** An element of an answer. A call is complete or in pieces. */
const things = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('text' as const), choice: fc.constant(choice), text }),
    fc.record({ type: fc.constant('reasoning' as const), choice: fc.constant(choice), text }),
    fc.record({ type: fc.constant('refusal' as const), choice: fc.constant(choice), text }),
    fc.record({
      type: fc.constant('state' as const),
      choice: fc.constant(choice),
      details: fc.array(members, { minLength: 1, maxLength: 2 }),
    }),
    fc.record({ type: fc.constant('state' as const), choice: fc.constant(choice), extra: members }),
    call,
  ),
  { maxLength: 8 },
);

const partsOf = (all: typeof things extends fc.Arbitrary<infer T> ? T : never): StreamPart[] => {
  let calls = 0;
  return all.flatMap((one): StreamPart[] => {
    if ('type' in one) return [one];
    const index = calls++;
    const half = Math.floor(one.args.length / 2);
    const first = { type: 'tool-call' as const, choice, index, arguments: one.args.slice(0, half) };
    return [
      { ...first, id: `call_${index}`, name: one.name, ...(one.extra && { extra: one.extra }) },
      { type: 'tool-call', choice, index, arguments: one.args.slice(half) },
    ];
  });
};
const parts = things.map(partsOf);
const finish = fc.constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter');

const streamOf = (all: readonly StreamPart[], reason: FinishReason): string => {
  const { events } = writers();
  return events.write([...all, { type: 'finish', choice, reason, raw: '' }]) + events.end(RECEIPT);
};
const bodyOf = (all: readonly StreamPart[], reason: FinishReason): Json => {
  const { json } = writers();
  json.write([...all, { type: 'finish', choice, reason, raw: '' }]);
  return JSON.parse(json.end(RECEIPT));
};

describe('every answer', () => {
  test('matches the schemas, and its stream and its JSON have the same content', () => {
    const law = fc.property(parts, finish, (all, reason) => {
      const body = bodyOf(all, reason);
      checkResponse(body);
      const last = checkStream(streamOf(all, reason)).at(-1)!;
      expect(last.response).toEqual(body);
      expect(last.type).toBe(
        reason === 'stop' || reason === 'tool_calls' ? 'response.completed' : 'response.incomplete',
      );
    });
    fc.assert(
      law,
      tries('an answer of Responses conforms to its schemas, and its stream says what its JSON says', 50, 5_000),
    );
  });

  test.each([
    ['loses a piece', (events: Json[]) => events.filter(({ delta }, at) => at % 5 !== 0 || delta === undefined)],
    ['ends no item', (events: Json[]) => events.filter(({ type }) => type !== 'response.output_item.done')],
    ['has no end', (events: Json[]) => events.slice(0, -1)],
    ['ends twice', (events: Json[]) => [...events, ...events.slice(-1)]],
  ])('the test detects a stream that %s', (_, spoil) => {
    const law = fc.property(parts, finish, (all, reason) => {
      const events = spoil([...checkStream(streamOf(all, reason))]);
      checkEvents(events.map((event, sequence_number) => ({ ...event, sequence_number })));
    });
    expect(fc.check(law, { numRuns: 500, endOnFailure: true }).failed).toBe(true);
  });

  test('that breaks off never ends as completed, and contains only complete items', () => {
    const law = fc.property(parts, (all) => {
      const { events } = writers();
      const begun = events.write(all);
      const end = events.error(new SignalboxError('upstream_failed', 'It broke off.'), RECEIPT.platform);
      const told = checkStream(begun + end);
      expect(told.map(({ type }) => type)).not.toContain('response.completed');
      expect(told.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed', usage: null } });
      const { output }: Json = Object(told.at(-1)!.response);
      for (const item of listOf(output)) expect(Object(item).status ?? 'completed').toBe('completed');
      expect(listOf(output).some((item) => /call$/.test(textOf(Object(item).type)))).toBe(false);
    });
    fc.assert(law, tries('an answer of Responses that breaks off is never ended as completed', 50, 5_000));
  });
});

/** Returns the state that a reader finds in an answer whose items were sent back. */
function stateIn(output: unknown): { details: unknown; extra: unknown; calls: Json } {
  const input = [{ role: 'user', content: 'Hi.' }, ...listOf(output)];
  const { request } = readOn(createResponse, { ...BODY, input });
  const answers = request.conversation.turns.filter(({ role }) => role === 'assistant');
  expect(answers.length).toBeLessThanOrEqual(1);
  const { extras = {}, parts: own = [] } = answers[0] ?? {};
  const calls = own.flatMap((part) => (part.type === 'tool-call' ? [[part.id, part.extras.extra_content]] : []));
  return { details: extras.reasoning_details, extra: extras.extra_content, calls: Object.fromEntries(calls) };
}

describe('the state of an answer', () => {
  const expected = (all: readonly StreamPart[]) => {
    const states = all.filter((part) => part.type === 'state');
    const details = states.flatMap(({ details: own = [] }) => own);
    return {
      details: details.length > 0 ? details : undefined,
      extra: states.map(({ extra }) => extra).findLast((extra) => extra !== undefined),
      calls: Object.fromEntries(
        all.flatMap((part) => (part.type === 'tool-call' && part.id !== undefined ? [[part.id, part.extra]] : [])),
      ),
    };
  };

  test('is sent back bit for bit with the items that contain it', () => {
    const law = fc.property(parts, (all) => {
      expect(stateIn(bodyOf(all, 'stop').output)).toEqual(expected(all));
    });
    fc.assert(law, tries('the state of an answer of Responses comes back with its items', 50, 5_000));
  });

  test('is lost if a client drops reasoning items, which the test detects', () => {
    const law = fc.property(parts, (all) => {
      const kept = listOf(bodyOf(all, 'stop').output).filter((item) => isObject(item) && item.type !== 'reasoning');
      expect(stateIn(kept)).toEqual(expected(all));
    });
    expect(fc.check(law, { numRuns: 300, endOnFailure: true }).failed).toBe(true);
  });

  test('that others wrote counts as OpenAI’s own, and is kept with its position', () => {
    const reasoning = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: 'gAAA',
    };
    const { details } = stateIn([reasoning, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }]);
    expect(details).toEqual([
      { type: 'reasoning.summary', summary: 'Hm.', format: 'openai-responses-v1', index: 0, id: 'rs_1' },
      { type: 'reasoning.encrypted', data: 'gAAA', format: 'openai-responses-v1', index: 0, id: 'rs_1' },
    ]);
  });
});
