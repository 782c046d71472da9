import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { words } from '../../plugins/guards/words.ts';
import { PassedEventReader } from '../../plugins/providers/anthropic/answer.ts';
import { OpenAiReader } from '../../plugins/providers/openai/answer.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import { isObject } from '../../src/core/json/object.ts';
import { type OriginalPath, valueAt, withEdits } from '../../src/core/json/original.ts';
import { createMessage } from '../../src/dialects/anthropic-messages/surface.ts';
import { createResponse } from '../../src/dialects/openai-responses/surface.ts';
import { batchLine, batchOf } from '../../src/gateway/exchange/replayed-answer.ts';
import { GuardChain } from '../../src/gateway/guards/guard-chain.ts';
import type { RunningGuard } from '../../src/gateway/guards/guard-runtime.ts';
import { AnswerBlocked } from '../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../src/host/turns.ts';
import { tries } from '../deep/effort.ts';
import { atOnce } from '../support/at-once.ts';
import { RECEIPT } from '../support/caller-message.ts';
import { readOn } from '../support/read-request.ts';
import { asSaid, messagesEvents, responsesEvents, toldAnswers } from './told-answers.ts';

/**
 * The law: a caller of a guarded stream never sees a denied word, in whichever event and member the provider writes it, also if events are
 * missing. The Responses API writes each text several times.
 */

const WORD = 'falcon';
const PREPARED = words.prepare({ deny: [], patterns: [WORD], allow: [], case_sensitive: false, longest_match: 64 });
const GUARD: RunningGuard = {
  rule: {
    ...{ name: 'falcon', place: { file: 'p.yaml', line: 1, column: 1 }, plugin: 'words', settings: {}, isPure: true },
    ...{ window: 'message', when: null, on: ['output'], onMatch: 'block', onFailure: 'block', deadlineMs: 60_000 },
    ...{ buffersWhole: false, unmask: [], refuse: [] },
  },
  prepared: PREPARED,
};

const IDENTITY = { decision: 1, created: 1, model: 'm' };
const ask = { model: 'm', stream: true };
const responses = readOn(createResponse, { ...ask, input: 'Hi.' });
const messages = readOn(createMessage, { ...ask, max_tokens: 9, messages: [{ role: 'user', content: 'Hi.' }] });

/** The dialects in which answers are passed through. */
const FORMS = {
  Responses: {
    json: createResponse.json,
    ...responses,
    tell: responsesEvents,
    reader: () => new OpenAiReader('openai-responses-v1', true),
  },
  Messages: { json: createMessage.json, ...messages, tell: messagesEvents, reader: () => new PassedEventReader() },
} as const;
type Form = (typeof FORMS)[keyof typeof FORMS];

/** Members with the form of an event or with state, which are no texts. */
const FORM = /^(?:type|object|status|role|(?:\w+_)?id|encrypted_content|signature|stop_reason)$/;

function leavesOf(value: unknown, at: OriginalPath = []): OriginalPath[] {
  if (typeof value === 'string') return FORM.test(String(at.at(-1))) ? [] : [at];
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, [...at, index]));
  return isObject(value) ? Object.entries(value).flatMap(([name, one]) => leavesOf(one, [...at, name])) : [];
}

type Change = (parts: readonly StreamPart[]) => readonly StreamPart[];
type Event = Readonly<Record<string, unknown>>;

/** Writes the word into one text of one event. */
function withWord(told: readonly Event[], share: number, isAdded: boolean): readonly Event[] {
  const places = told.flatMap((event, index) => leavesOf(event).map((at) => [index, ...at]));
  const at = places[Math.floor(share * places.length)]!;
  return withEdits(told, [{ at, value: isAdded ? `${String(valueAt(told, at))} ${WORD}` : WORD }]);
}

/** How an answer arrives: at once, or stored for a slow reader or in the cache. */
const direct: Change = (parts) => parts;
const stored: Change = (parts) => batchOf(batchLine(parts));

const unmarked: Change = (parts) =>
  parts.map((part) => (part.type === 'passthrough' ? { ...part, mayBeEdited: undefined } : part));
const withoutUnread: Change = (parts) =>
  parts.map((part) => (part.type === 'passthrough' ? { ...part, unread: undefined } : part));

/** What is between the provider and the guard, and between the guard and the caller. */
interface Way {
  readonly before: Change;
  readonly after: Change;
}

/** Returns everything that the caller gets. */
function shown(form: Form, told: readonly Event[], isStream: boolean, { before, after }: Way) {
  const { request, events, json } = form;
  const reader = form.reader();
  const writer = isStream ? events!.writer(IDENTITY) : json(IDENTITY);
  const chain = new GuardChain([GUARD], true, {
    ...{ request, verdicts: new Verdicts(), placeholders: new Placeholders(() => new Uint8Array(32)) },
    ...{ clock: () => 0, turns: AT_ONCE, timers: processTimers, onFailure: () => {} },
  });
  let out = '';
  try {
    for (const event of told) {
      const parts = before(reader.read({ event: '', data: JSON.stringify(event) }));
      out += writer.write(after(atOnce(chain.add(parts))));
    }
    out += writer.write(after(atOnce(chain.end())));
    return out + writer.end(RECEIPT);
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
    return out;
  }
}

const hidesWord = (form: Form, ...ways: readonly Way[]) =>
  fc.property(
    toldAnswers,
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    fc.boolean(),
    fc.boolean(),
    fc.array(fc.nat(30), { maxLength: 6 }),
    fc.constantFrom(...ways),
    (items, share, isAdded, isStream, missing, way) => {
      const all = form.tell(items, asSaid).filter((_, index) => !missing.includes(index));
      fc.pre(all.some((event) => leavesOf(event).length > 0));
      const told = withWord(all, share, isAdded);
      expect(shown(form, told, isStream, way)).not.toContain(WORD);
    },
  );

const found = (form: Form, way: Way): boolean =>
  fc.check(hidesWord(form, way), { ...tries('passed-repeats', 400, 2_000), numRuns: 2_000, endOnFailure: true }).failed;

describe.each(Object.entries(FORMS))('a passed-through stream of %s', (_, form) => {
  test('shows a denied word in no event and no member', () => {
    const law = hidesWord(form, { before: direct, after: direct }, { before: stored, after: stored });
    fc.assert(law, tries('passed-repeats', 100, 20_000));
  });

  test('the law finds stored events whose output no guard reads', () => {
    expect(found(form, { before: withoutUnread, after: direct })).toBeTrue();
  });
});

test('the law finds repeats that are shown as the provider wrote them', () => {
  expect(found(FORMS.Responses, { before: direct, after: unmarked })).toBeTrue();
});
