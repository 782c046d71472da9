import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../../plugins/providers/anthropic.ts';
import { gemini } from '../../../plugins/providers/gemini.ts';
import { isObject, type Json } from '../../../plugins/providers/json.ts';
import { openai } from '../../../plugins/providers/openai.ts';
import type { HttpCall, ProviderCall, WireAdapter } from '../../../src/contract/provider.ts';
import { type OriginalPath, pathText } from '../../../src/core/json/original.ts';
import { tries } from '../../deep/effort.ts';
import { openaiAdapter } from '../../support/provider-call.ts';
import { readOn } from '../../support/read-request.ts';
import { wireAdapter } from '../../support/wire-request.ts';
import { MESSAGES } from './messages.ts';
import { RESPONSES } from './responses.ts';
import { callFor, ofAnotherDialect, type RoundTrip } from './round-trip.ts';

/** The law: nothing is lost silently. If a translation leaves out anything of a message, a part or a tool, `dropped` names it. */
const ADAPTERS: Readonly<Record<string, WireAdapter>> = {
  anthropic: wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false })),
  gemini: wireAdapter(gemini.prepare({ service: 'gemini' })),
  'openai-compatible': openaiAdapter(),
  openai: wireAdapter(openai.prepare({ service: 'openai', reasoning_summaries: 'auto' })),
};

/** Reasoning is state, and a message that has only tool results has no turn of its own. */
const isExempt = (owner: Json): boolean =>
  owner.type === 'thinking' ||
  owner.type === 'redacted_thinking' ||
  owner.type === 'reasoning' ||
  (Array.isArray(owner.content) && owner.content.every((one: unknown) => isObject(one) && one.type === 'tool_result'));

/** Returns the locations of messages, their parts and tools. */
function ownersIn(body: Json): readonly OriginalPath[] {
  const places: OriginalPath[] = [];
  for (const list of ['messages', 'input', 'tools']) {
    const items: unknown = body[list];
    if (!Array.isArray(items)) continue;
    for (const [at, item] of items.entries()) {
      if (!isObject(item) || isExempt(item)) continue;
      places.push([list, at]);
      if (!Array.isArray(item.content)) continue;
      for (const [nth, part] of item.content.entries()) {
        if (isObject(part) && !isExempt(part)) places.push([list, at, 'content', nth]);
      }
    }
  }
  return places;
}

const MEMBER = 'x_future';

/** Adds an unknown member at some of these locations. */
function withUnknown(body: Json, places: readonly OriginalPath[]): Json {
  const copy: Json = structuredClone(body);
  for (const place of places) {
    let owner: unknown = copy;
    for (const step of place) owner = Reflect.get(Object(owner), step);
    Reflect.set(Object(owner), MEMBER, markOf(place));
  }
  return copy;
}

const markOf = (place: OriginalPath): string => `mark of ${pathText(place)}`;

type Dropping = (call: ProviderCall, adapter: WireAdapter) => HttpCall | null;
const translated: Dropping = (call, adapter) => {
  const made = adapter.request(call);
  return 'body' in made ? made : null;
};

const isTold = (dialect: RoundTrip, adapter: WireAdapter, send: Dropping = translated) =>
  fc.property(dialect.bodies, fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), (body, picks) => {
    const owners = ownersIn(body);
    if (owners.length === 0) return;
    const places = [...new Set(picks.map((pick) => owners[pick % owners.length]!))];
    const { request } = readOn(dialect.route, withUnknown(body, places));
    const sent = send(callFor(ofAnotherDialect(request), { extras: {}, upstream: 'model-1' }), adapter);
    if (!sent) return;
    const lost = places.filter((place) => !sent.body.includes(markOf(place)));
    const { dropped = [] } = sent;
    expect(lost.map((place) => pathText([...place, MEMBER])).filter((path) => !dropped.includes(path))).toEqual([]);
  });

describe.each([MESSAGES, RESPONSES].map((dialect) => [dialect.route.path, dialect] as const))(
  'unknown members of %s',
  (name, dialect) => {
    test.each(Object.entries(ADAPTERS))(
      'members that Signalbox does not know are sent or named in `dropped`: %s',
      (adapterName, adapter) => {
        const law = `unknown members of ${name} are sent or named in dropped by the adapter ${adapterName}`;
        fc.assert(isTold(dialect, adapter), tries(law, 20, 3_000));
      },
    );

    test.each(Object.entries(ADAPTERS))(
      'the law detects an adapter that leaves out unknown members without naming them: %s',
      (_, adapter) => {
        const silent: Dropping = (call, own) => {
          const sent = translated(call, own);
          return sent && { ...sent, dropped: [] };
        };
        expect(fc.check(isTold(dialect, adapter, silent), { numRuns: 300, endOnFailure: true }).failed).toBe(true);
      },
    );
  },
);
