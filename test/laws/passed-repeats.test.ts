import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { words } from '../../plugins/guards/words.ts';
import { OpenAiReader } from '../../plugins/providers/openai/answer.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import { isObject } from '../../src/core/json/object.ts';
import { type OriginalPath, valueAt, withEdits } from '../../src/core/json/original.ts';
import { createResponse } from '../../src/dialects/openai-responses/surface.ts';
import { GuardChain } from '../../src/gateway/guards/guard-chain.ts';
import type { RunningGuard } from '../../src/gateway/guards/guard-runtime.ts';
import { AnswerBlocked } from '../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { tries } from '../deep/effort.ts';
import { atOnce } from '../support/at-once.ts';
import { RECEIPT } from '../support/caller-message.ts';
import { readOn } from '../support/read-request.ts';
import { asSaid, responsesEvents, toldAnswers } from './told-answers.ts';

/**
 * The law: the Responses API writes each text several times, and a caller of a guarded stream never sees a denied word, in whichever event
 * and member the provider writes it, also if events are missing.
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

const { request, events, json } = readOn(createResponse, { model: 'm', input: 'Hi.', stream: true });
const IDENTITY = { decision: 1, created: 1, model: 'm' };

/** Members with the form of an event, which are no output. */
const FORM = /^(?:type|object|status|role|(?:\w+_)?id|encrypted_content)$/;

function leavesOf(value: unknown, at: OriginalPath = []): OriginalPath[] {
  if (typeof value === 'string') return FORM.test(String(at.at(-1))) ? [] : [at];
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, [...at, index]));
  return isObject(value) ? Object.entries(value).flatMap(([name, one]) => leavesOf(one, [...at, name])) : [];
}

type Event = Readonly<Record<string, unknown>>;

/** Writes the word into one text of one event. */
function withWord(told: readonly Event[], share: number, isAdded: boolean): readonly Event[] {
  const places = told.flatMap((event, index) => leavesOf(event).map((at) => [index, ...at]));
  const at = places[Math.floor(share * places.length)]!;
  return withEdits(told, [{ at, value: isAdded ? `${String(valueAt(told, at))} ${WORD}` : WORD }]);
}

const unmarked = (parts: readonly StreamPart[]): readonly StreamPart[] =>
  parts.map((part) => (part.type === 'passthrough' ? { ...part, mayBeEdited: undefined } : part));

/** Returns everything that the caller gets. */
function shown(
  told: readonly Event[],
  isStream: boolean,
  change: (parts: readonly StreamPart[]) => readonly StreamPart[],
) {
  const reader = new OpenAiReader('openai-responses-v1', true);
  const writer = isStream ? events!.writer(IDENTITY) : json!(IDENTITY);
  const chain = new GuardChain([GUARD], true, {
    ...{ request, verdicts: new Verdicts(), placeholders: new Placeholders(() => new Uint8Array(32)) },
    ...{ clock: () => 0, timers: processTimers, onFailure: () => {} },
  });
  let out = '';
  try {
    for (const event of told) {
      const parts = reader.read({ event: '', data: JSON.stringify(event) });
      out += writer.write(change(atOnce(chain.add(parts))));
    }
    out += writer.write(change(atOnce(chain.end())));
    return out + writer.end(RECEIPT);
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
    return out;
  }
}

const hidesWord = (change: (parts: readonly StreamPart[]) => readonly StreamPart[]) =>
  fc.property(
    toldAnswers,
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    fc.boolean(),
    fc.boolean(),
    fc.array(fc.nat(30), { maxLength: 6 }),
    (items, share, isAdded, isStream, missing) => {
      const all = responsesEvents(items, asSaid).filter((_, index) => !missing.includes(index));
      fc.pre(all.some((event) => leavesOf(event).length > 0));
      const told = withWord(all, share, isAdded);
      expect(shown(told, isStream, change)).not.toContain(WORD);
    },
  );

describe('a passed-through stream of Responses', () => {
  test('shows a denied word in no event and no member', () => {
    fc.assert(
      hidesWord((parts) => parts),
      tries('passed-repeats', 400, 20_000),
    );
  });

  test('the law finds repeats that are shown as the provider wrote them', () => {
    const found = fc.check(hidesWord(unmarked), { ...tries('passed-repeats', 400, 2_000), numRuns: 2_000 });
    expect(found.failed).toBeTrue();
  });
});
