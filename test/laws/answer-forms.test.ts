import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonSchema } from '../../plugins/guards/json-schema.ts';
import type { PreparedGuard } from '../../src/contract/guard.ts';
import type { FinishReason, StreamPart } from '../../src/contract/parts.ts';
import type { GuardRule } from '../../src/core/policy/guards.ts';
import { fitsSchema } from '../../src/core/schema/fits.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import type { Channel } from '../../src/gateway/guards/channel.ts';
import { GuardedParts } from '../../src/gateway/guards/guarded-parts.ts';
import { AnswerBlocked } from '../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../src/host/turns.ts';
import { tries } from '../deep/effort.ts';
import { atOnce } from '../support/at-once.ts';
import { readOn } from '../support/read-request.ts';

/**
 * The law: whatever a model writes, however it arrives and ends, a caller sees nothing or one JSON value that fits the schema; a text that
 * fits arrives unchanged; and a text that ended at its limit is never completed.
 */

const SCHEMA = {
  type: 'object',
  required: ['a'],
  properties: { a: { type: 'array', items: { type: ['integer', 'string'] } }, b: { type: 'string', maxLength: 6 } },
  additionalProperties: false,
};

const RULE: GuardRule = {
  ...{ name: 'forms', place: { file: 'p.yaml', line: 1, column: 1 }, plugin: 'json-schema', settings: {} },
  ...{ isPure: true, window: 'form', when: null, on: ['output'], onMatch: 'block', onFailure: 'block' },
  ...{ deadlineMs: 60_000, buffersWhole: false, unmask: [], refuse: [] },
};

const { request } = readOn(createCompletion, { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] });

const fits = (text: string): boolean => {
  try {
    return fitsSchema(SCHEMA, JSON.parse(text));
  } catch {
    return false;
  }
};

const words = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('a"b', "it's", '\n', '}', '{', ',', 'é😀'));
const nearlyFitting = fc.record(
  {
    a: fc.oneof(fc.array(fc.oneof(fc.integer(), words, fc.boolean()), { maxLength: 4 }), fc.constant('no list')),
    b: words,
    c: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Slips of models. */
const SLIPS: readonly ((text: string, share: number) => string)[] = [
  (text) => text,
  (text) => text.replace(/([}\]])/, ',$1'),
  (text) => text.replaceAll('"', "'"),
  (text) => `\`\`\`json\n${text}\n\`\`\``,
  (text) => `Sure:\n${text}`,
  (text, share) => text.slice(0, Math.floor(share * text.length)),
  (text, share) => `${text.slice(0, Math.floor(share * text.length))}${text.slice(Math.ceil(share * text.length) + 1)}`,
  (text) => text.replace(/"([a-z])":/g, '$1:'),
];

const answers = fc
  .tuple(
    nearlyFitting,
    fc.array(fc.tuple(fc.constantFrom(...SLIPS), fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 2 }),
  )
  .map(([value, slips]) => slips.reduce((text, [slip, share]) => slip(text, share), JSON.stringify(value)));

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
const ends = fc.constantFrom<FinishReason | null>('stop', 'length', null);

type Holder = new (...of: ConstructorParameters<typeof GuardedParts>) => Pick<GuardedParts, 'add' | 'end'>;

function show(
  prepared: PreparedGuard,
  pieces: readonly string[],
  end: FinishReason | null,
  isStream: boolean,
  Held: Holder,
) {
  const parts = new Held([{ rule: RULE, prepared }], isStream, {
    request,
    verdicts: new Verdicts(),
    placeholders: new Placeholders(() => new Uint8Array(32)),
    clock: () => 0,
    timers: processTimers,
    turns: AT_ONCE,
    onFailure: () => {},
  });
  let text = '';
  const add = (shown: readonly StreamPart[]) => {
    for (const part of shown) if (part.type === 'text') text += part.text;
  };
  try {
    for (const piece of pieces) add(atOnce(parts.add([{ type: 'text', choice: 0, text: piece }])));
    if (end !== null) add(atOnce(parts.add([{ type: 'finish', choice: 0, reason: end, raw: end }])));
    add(atOnce(parts.end()));
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
  }
  return text;
}

function cutAt(text: string, shares: readonly number[]): readonly string[] {
  const places = [0, ...shares.map((share) => Math.floor(share * text.length)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((place, at) => text.slice(places[at], place));
}

const law = (guard: PreparedGuard, Held: Holder) =>
  fc.property(answers, cuts, ends, fc.boolean(), (answer, shares, end, isStream) => {
    const shown = show(guard, cutAt(answer, shares), end, isStream, Held);
    if (end !== null && fits(answer)) expect(shown).toBe(answer);
    else if (shown !== '') {
      expect(end).toBe('stop');
      expect(fits(shown)).toBeTrue();
    }
  });

const guardOf = (settings: Partial<Parameters<typeof jsonSchema.prepare>[0]> = {}): PreparedGuard =>
  jsonSchema.prepare({ schema: SCHEMA, tools: true, repair: true, repairs: 0, ...settings });

/** Shows each part as it arrives. */
class Eager extends GuardedParts {
  protected override grow(channel: Channel): void {
    channel.safeTo = Number.POSITIVE_INFINITY;
  }
}

/** Shows the rest of an answer that broke off. */
class Trusting extends GuardedParts {
  protected override get dropsBroken(): boolean {
    return false;
  }
}

const MUTANTS: readonly (readonly [string, PreparedGuard, Holder])[] = [
  ['shows parts before the verdict', guardOf(), Eager],
  ['shows an answer that broke off', guardOf(), Trusting],
  ['does not look at the schema', guardOf({ schema: {} }), GuardedParts],
  [
    'completes answers that are cut',
    {
      ...guardOf(),
      check: ({ side, texts }) => guardOf().check({ side, texts: texts.map(({ isCut: _, ...text }) => text) }),
    },
    GuardedParts,
  ],
];

test('a caller sees nothing, or JSON that fits', () => {
  fc.assert(law(guardOf(), GuardedParts), tries('answer-forms', 1_000, 50_000));
});

test.each(MUTANTS)('the law finds a guard that %s', (name, guard, Held) => {
  expect(fc.check(law(guard, Held), { ...tries(`answer-forms ${name}`, 4_000, 4_000) }).failed).toBeTrue();
});

test('slips are repaired, not only blocked', () => {
  const seen = new Set<string>();
  for (const slip of SLIPS) {
    const answer = slip('{"a":[1,"x"]}', 0.5);
    if (!fits(answer) && show(guardOf(), [answer], 'stop', true, GuardedParts) !== '') seen.add(answer);
  }
  expect(seen.size).toBeGreaterThanOrEqual(4);
});
