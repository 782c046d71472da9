import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PassedEventReader, readReply as readMessage } from '../../plugins/providers/anthropic/answer.ts';
import { OpenAiReader, readReply as readResponse } from '../../plugins/providers/openai/answer.ts';
import { ChunkReader } from '../../plugins/providers/openai-compatible/answer.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { StreamReader } from '../../src/contract/provider.ts';
import { createMessage } from '../../src/dialects/anthropic-messages/surface.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import { createResponse } from '../../src/dialects/openai-responses/surface.ts';
import type { AnswerRoute, AnswerWriter } from '../../src/dialects/surface.ts';
import { withTexts } from '../../src/gateway/exchange/edited-parts.ts';
import { batchLine, batchOf } from '../../src/gateway/exchange/replayed-answer.ts';
import { WaitingParts } from '../../src/gateway/exchange/waiting-parts.ts';
import { frameParser } from '../../src/providers/frames.ts';
import { effort } from '../deep/effort.ts';
import { RECEIPT } from '../support/caller-message.ts';
import { readOn } from '../support/read-request.ts';
import {
  asEdited,
  asSaid,
  chatChunks,
  comesWhole,
  messagesBody,
  messagesEvents,
  responsesBody,
  responsesEvents,
  type Telling,
  type ToldItem,
  toldAnswers,
} from './told-answers.ts';

/**
 * The law: code that edits the text of a neutral part, such as a guard, gives the caller the same answer that a service would send if it
 * had written the edited text. Every event that does not contain the text keeps its bytes.
 */
const { runs, seed, proved } = effort('edited-answer', 100, 20_000);

type Batches = readonly (readonly StreamPart[])[];
type Change = typeof withTexts;

interface ToldForm {
  readonly name: string;
  /** Writes the answer in the form in which a service sends it. */
  tell(items: readonly ToldItem[], tell: Telling): readonly string[];
  /** Reads the batches of the service's answer, cut at these places. */
  read(told: readonly string[], places: readonly number[]): Batches;
  write(): AnswerWriter;
  readonly isWhole?: true;
  /** Whether the answer is one body instead of separate events. */
  readonly isBody?: true;
}

/** Writes JSON in a different format than Signalbox does. */
const odd = (value: object): string => `{ ${JSON.stringify(value).slice(1)}`;

const ask = { model: 'm', max_tokens: 9, input: 'Hi', messages: [{ role: 'user', content: 'Hi' }] };
const IDENTITY = { decision: 1, created: 1, model: 'm' };

function writerOf(surface: AnswerRoute, isStream: boolean): AnswerWriter {
  const { input, messages, ...body } = ask;
  const own = surface === createResponse ? { ...body, max_tokens: undefined, input } : { ...body, messages };
  const { events, json = surface.json } = readOn(surface, { ...own, stream: isStream });
  return events ? events.writer(IDENTITY) : json(IDENTITY);
}

/** Reads events whose text is cut at these places, as a call reads pieces from its socket. */
const streamed = (reader: () => StreamReader): ToldForm['read'] => {
  return (told, places) => {
    const one = reader();
    const parser = frameParser('sse');
    const wire = told.map((json) => `data: ${json}\n\n`).join('');
    const cuts = [...new Set(places.map((place) => place % (wire.length + 1)))].sort((a, b) => a - b);
    const pieces = [0, ...cuts].map((from, at) => wire.slice(from, cuts[at]));
    const frames = [...pieces.map((piece) => parser.push(piece)), parser.end()];
    return frames.map((some) => [...some].flatMap((frame) => [...one.read(frame)]));
  };
};

const events =
  (render: (items: readonly ToldItem[], tell: Telling) => readonly object[]): ToldForm['tell'] =>
  (items, tell) =>
    render(items, tell).map(odd);
const body =
  (render: (items: readonly ToldItem[], tell: Telling) => object): ToldForm['tell'] =>
  (items, tell) => [odd(render(items, tell))];

const message = { tell: events(messagesEvents), read: streamed(() => new PassedEventReader()) };
const response = {
  tell: events(responsesEvents),
  read: streamed(() => new OpenAiReader('openai-responses-v1', true)),
};
const wholeMessage = {
  tell: body(messagesBody),
  read: ([text = '']: readonly string[]) => [readMessage(text, true)],
  isWhole: true,
} as const;
const wholeResponse = {
  tell: body(responsesBody),
  read: ([text = '']: readonly string[]) => [readResponse(text, 'openai-responses-v1', true)],
  isWhole: true,
} as const;
const BODY = { isBody: true } as const;
/**
 * Removes reasoning state, because a model must get its state back unchanged. Callers of another dialect get the reasoning text in the
 * state unedited.
 */
const withoutState = <Form extends Pick<ToldForm, 'read'>>(form: Form) => ({
  ...form,
  read: (told: readonly string[], places: readonly number[]): Batches =>
    form.read(told, places).map((batch) => batch.filter(({ type }) => type !== 'state')),
});

const PASSED: readonly ToldForm[] = [
  { name: 'a stream of Messages', ...message, write: () => writerOf(createMessage, true) },
  { name: 'a stream of Responses', ...response, write: () => writerOf(createResponse, true) },
];
const FORMS: readonly ToldForm[] = [
  ...PASSED,
  { name: 'a message', ...wholeMessage, ...BODY, write: () => writerOf(createMessage, false) },
  { name: 'a response', ...wholeResponse, ...BODY, write: () => writerOf(createResponse, false) },
  { name: 'a stream joined to one message', ...message, ...BODY, write: () => writerOf(createMessage, false) },
  { name: 'a stream joined to one response', ...response, ...BODY, write: () => writerOf(createResponse, false) },
  { name: 'a message that arrives as one body', ...wholeMessage, write: () => writerOf(createMessage, true) },
  {
    name: 'a response that arrives as one body',
    ...withoutState(wholeResponse),
    write: () => writerOf(createResponse, true),
  },
  {
    name: 'Responses for a caller of chat completions',
    ...withoutState(response),
    write: () => writerOf(createCompletion, true),
  },
  {
    name: 'chat completions',
    tell: events(chatChunks),
    read: streamed(() => new ChunkReader()),
    write: () => writerOf(createCompletion, true),
  },
];

/** Edits the texts in their order, like a guard that knows the texts to write. */
function guarded(batches: Batches, items: readonly ToldItem[], change: Change): Batches {
  const pieces = items.flatMap((one) => (one.kind === 'service' ? [] : one.pieces.map((piece) => ({ ...piece, one }))));
  let next = 0;
  return batches.map((parts) =>
    change(parts, (part, text) => {
      const piece = pieces[next];
      if (!piece) return text;
      const escaped = (value: string) => JSON.stringify(value).slice(1, -1);
      const form = part.place?.isEscaped ? escaped : (value: string) => value;
      if (text !== form(piece.said)) return text;
      next++;
      return form(piece.edited ?? piece.said);
    }),
  );
}

/** What is between a service and its guard, and between the guard and the writer: nothing, or a wait for a slow reader. */
type Way = (batches: Batches) => Batches;
const direct: Way = (batches) => batches;
const waiting: Way = (batches) => {
  const line = new WaitingParts();
  for (const batch of batches) line.add(batch);
  return batches.map(() => line.take()!);
};
const stored: Way = (batches) => batches.map((batch) => batchOf(batchLine(batch)));
const WAYS: readonly Way[] = [direct, waiting, stored];

function written({ write, isBody }: ToldForm, batches: Batches): readonly string[] {
  const writer = write();
  const text = batches.map((batch) => writer.write(batch)).join('') + writer.end(RECEIPT);
  return isBody ? [text] : text.split('\n\n');
}

const eventOf = (text: string): unknown => {
  const json = text.slice(text.indexOf('{'));
  return json.startsWith('{') ? JSON.parse(json) : text;
};

const isOne = (form: ToldForm, change: Change, ways: readonly Way[] = WAYS) =>
  fc.property(
    toldAnswers,
    fc.array(fc.nat(4_096), { maxLength: 6 }),
    fc.constantFrom(...ways),
    fc.constantFrom(...ways),
    (answer, places, before, behind) => {
      const items = form.isWhole ? comesWhole(answer) : answer;
      const read = form.read(form.tell(items, asSaid), places);
      const untouched = written(form, read);
      const expected = written(form, form.read(form.tell(items, asEdited), places));
      const out = written(form, behind(guarded(before(read), items, change)));
      expect(out.map(eventOf)).toEqual(expected.map(eventOf));
      for (const [at, event] of expected.entries()) if (event === untouched[at]) expect(out[at]).toBe(event);
    },
  );

describe.each(FORMS)('$name', (form) => {
  test(`an edited answer is what its service would have sent with the edited text, and all other bytes stay the same (seed ${seed})`, () => {
    fc.assert(isOne(form, withTexts), { seed, numRuns: runs });
    proved(`an edit of a neutral part changes its event, repeats of its text and nothing else: ${form.name}`);
  });
});

/** Each mutant changes one of the two copies of a text and not the other. */
const withoutMark = (parts: readonly StreamPart[]): readonly StreamPart[] =>
  parts.map((part) => (part.type === 'passthrough' ? { ...part, mayBeEdited: undefined } : part));
const mutants: Readonly<Record<string, { readonly change: Change; readonly of: readonly string[] }>> = {
  'changes only the part': {
    change: (parts, textFor) =>
      withTexts(parts, textFor).map((part, at) => (part.type === 'passthrough' ? parts[at]! : part)),
    of: ['a stream of Messages', 'a stream of Responses', 'a message', 'a response'],
  },
  'changes only the event': {
    change: (parts, textFor) =>
      withTexts(parts, textFor).map((part, at) => (part.type === 'passthrough' ? part : parts[at]!)),
    of: ['Responses for a caller of chat completions', 'chat completions', 'a response that arrives as one body'],
  },
  'leaves the repeats': {
    change: (parts, textFor) => withoutMark(withTexts(parts, textFor)),
    of: ['a stream of Responses', 'a stream joined to one response'],
  },
  'writes every event again': {
    change: (parts, textFor) =>
      withTexts(parts, textFor).map((part) => (part.type === 'passthrough' ? { ...part, json: undefined } : part)),
    of: ['a stream of Messages', 'a stream of Responses'],
  },
  'knows no escapes': {
    change: (parts, textFor) =>
      withTexts(parts, textFor).map((part, at) => {
        const { place } = Object(parts[at + 1]);
        if (part.type !== 'passthrough' || !part.mayBeEdited || !place?.isEscaped) return part;
        return { ...part, event: { ...part.event, delta: JSON.stringify(part.event.delta).slice(1, -1) } };
      }),
    of: ['a stream of Responses'],
  },
  'finds a text by its content': {
    change: (parts, textFor) => {
      const said: [string, string][] = [];
      const edited = withTexts(parts, (part, text) => {
        const next = textFor(part, text);
        if (next !== text) said.push([JSON.stringify(text), JSON.stringify(next)]);
        return next;
      });
      return edited.map((part, at) => {
        if (part.type !== 'passthrough' || !part.mayBeEdited) return part;
        const before = JSON.stringify(Object(parts[at]).event);
        const json = said.reduce((text, [from, to]) => text.replaceAll(`:${from}`, `:${to}`), before);
        return { ...part, event: JSON.parse(json) };
      });
    },
    of: ['a message', 'a response'],
  },
};

const lost: Way = (batches) =>
  stored(batches).map((batch) => batch.map((part) => ('place' in part ? { ...part, place: undefined } : part)));

describe('the law detects code that leaves two different copies of a text', () => {
  const isFound = (form: ToldForm, change: Change, ways?: readonly Way[]) =>
    fc.check(isOne(form, change, ways), { seed, numRuns: 3_000, endOnFailure: true }).failed;

  test.each(Object.entries(mutants))('the law detects code that %s', (_, { change, of }) => {
    for (const form of FORMS)
      if (of.includes(form.name)) expect([form.name, isFound(form, change)]).toEqual([form.name, true]);
  });

  test('the law detects a wait in which the locations are lost', () => {
    for (const form of PASSED) expect([form.name, isFound(form, withTexts, [lost])]).toEqual([form.name, true]);
  });
});
