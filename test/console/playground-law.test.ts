import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { creditsToSend } from '../../src/console/design/amount.ts';
import {
  type Dialect,
  dialectOf,
  draftOf,
  requestOf,
  type Terms,
  termsIn,
} from '../../src/console/views/playground/body.ts';
import { GAP_MS, Pace } from '../../src/console/views/playground/pace.ts';
import {
  EVEN,
  moved,
  placeOf,
  SHARE_NAMES,
  type Shares,
  sharesAt,
  sharesIn,
  sharesText,
} from '../../src/console/views/playground/shares.ts';
import { quoted, sdkOf } from '../../src/console/views/playground/snippets.ts';
import { EventCutter } from '../../src/console/views/playground/wire.ts';
import { MESSAGES_REQUESTS } from '../../src/dialects/anthropic-messages/examples.ts';
import { CHAT_REQUESTS } from '../../src/dialects/openai-chat/examples.ts';
import { RESPONSES_REQUESTS } from '../../src/dialects/openai-responses/examples.ts';
import { readRouteBody } from '../../src/dialects/route-body.ts';

/** Tests the pure functions of the playground. */
const RUNS = { numRuns: 300, seed: 47 };

/** Checks a law, and that a mutant breaks it. */
function law<Subject, Case>(
  says: string,
  cases: fc.Arbitrary<Case>,
  holds: (subject: Subject, one: Case) => boolean,
  real: Subject,
  mutants: Readonly<Record<string, Subject>>,
): void {
  const check = (subject: Subject) =>
    fc.check(
      fc.property(cases, (one) => holds(subject, one)),
      RUNS,
    );
  test(`${says} (seed ${RUNS.seed})`, () => {
    const { failed, counterexample } = check(real);
    expect([failed, counterexample]).toEqual([false, null]);
  });
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`${says}: the mutant "${name}" breaks it`, () => expect(check(mutant).failed).toBe(true));
  }
}

const share = fc.integer({ min: 0, max: 100 });
const shares: fc.Arbitrary<Shares> = fc
  .tuple(share, share)
  .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const)
  .map(([low, high]) => ({ quality: low, cost: high - low, speed: 100 - high }));
const isWhole = (one: Shares): boolean => {
  const values = SHARE_NAMES.map((name) => one[name]);
  return values.every((value) => Number.isInteger(value) && value >= 0) && values.reduce((a, b) => a + b) === 100;
};

describe('weights', () => {
  law<typeof moved, readonly [Shares, (typeof SHARE_NAMES)[number], number]>(
    'setting one share sets it, and all three remain whole percents with the sum 100',
    fc.tuple(shares, fc.constantFrom(...SHARE_NAMES), share),
    (move, [before, name, to]) => {
      const after = move(before, name, to);
      return isWhole(after) && after[name] === to && isWhole(move(after, name, before[name]));
    },
    moved,
    {
      'others that stay': (before, name, to) => ({ ...before, [name]: to }),
      'the other shares are rounded separately': (before, name, to) => {
        const rest = 100 - before[name] || 1;
        const scaled = SHARE_NAMES.map((each) => [each, Math.round((before[each] * (100 - to)) / rest)]);
        return { ...Object.fromEntries(scaled), [name]: to } as unknown as Shares;
      },
    },
  );

  law<typeof sharesAt, Shares>(
    'the position of shares in the triangle converts back to the same shares',
    shares,
    (at, one) => SHARE_NAMES.every((name) => Math.abs(at(placeOf(one))[name] - one[name]) <= 1),
    sharesAt,
    { 'the corners are exchanged': (place) => ({ ...sharesAt(place), cost: sharesAt(place).speed }) },
  );

  test('every position of the page converts to valid shares, even outside the triangle', () => {
    const place = fc.record({
      x: fc.double({ min: -9, max: 9, noNaN: true }),
      y: fc.double({ min: -9, max: 9, noNaN: true }),
    });
    fc.assert(
      fc.property(place, (one) => isWhole(sharesAt(one))),
      RUNS,
    );
  });

  test('shares are read back from an address, and an invalid text gives none', () => {
    fc.assert(
      fc.property(shares, (one) => Bun.deepEquals(sharesIn(sharesText(one)), one)),
      RUNS,
    );
    for (const text of ['', '1-2', '50-50-50', '-1-50-51', '1e1-45-45', '33.3-33.3-33.4', 'a-b-c'])
      expect(sharesIn(text)).toBeNull();
    expect(isWhole(EVEN)).toBe(true);
  });
});

/** A clock that the test moves. */
class HandClock {
  time = 0;
  readonly #alarms: { at: number; work: () => void }[] = [];
  readonly now = () => this.time;
  readonly after = (ms: number, work: () => void) => {
    const alarm = { at: this.time + ms, work };
    this.#alarms.push(alarm);
    return () => void this.#alarms.splice(this.#alarms.indexOf(alarm), 1);
  };
  async turnTo(time: number): Promise<void> {
    for (;;) {
      const next = this.#alarms.filter(({ at }) => at <= time).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#alarms.splice(this.#alarms.indexOf(next), 1);
      this.time = Math.max(this.time, next.at);
      next.work();
      for (let turn = 0; turn < 5; turn++) await null;
    }
    this.time = time;
  }
}

type Wanting = Pick<Pace<number, number>, 'want'>;
type MakePace = (...parts: ConstructorParameters<typeof Pace<number, number>>) => Wanting;

/**
 * Sends inputs with the given gaps, each answered after its time.
 * @returns what broke the promise; null if nothing did
 */
async function faultOf(make: MakePace, moves: readonly { gap: number; takes: number }[]): Promise<string | null> {
  const clock = new HandClock();
  const starts: { at: number; wish: number; signal: AbortSignal }[] = [];
  const taken: number[] = [];
  let isDouble = false;
  const pace = make(
    (wish, signal) => {
      isDouble ||= starts.some((one) => !one.signal.aborted && !taken.includes(one.wish));
      starts.push({ at: clock.time, wish, signal });
      return new Promise((resolve) => clock.after(moves[wish]!.takes, () => resolve(wish)));
    },
    (answer) => void taken.push(answer),
    clock,
  );
  let at = 0;
  for (const [wish, { gap }] of moves.entries()) {
    at += gap;
    await clock.turnTo(at);
    pace.want(wish);
  }
  await clock.turnTo(at + 10_000);
  const last = moves.length - 1;
  if (isDouble) return 'two requests run at once';
  if (starts.at(-1)?.wish !== last || taken.at(-1) !== last) return 'the last input has no answer';
  if (taken.some((wish, place) => place > 0 && wish <= taken[place - 1]!))
    return 'an older answer arrived after a newer one';
  const crowded = starts.some(
    ({ at: from }) => starts.filter((one) => one.at >= from && one.at < from + 1_000).length > 10,
  );
  return crowded ? 'more than ten requests in a second' : null;
}

describe('requests for a decision while a slider moves', () => {
  const moves = fc.array(
    fc.record({ gap: fc.integer({ min: 0, max: 150 }), takes: fc.integer({ min: 0, max: 400 }) }),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  const check = (make: MakePace) =>
    fc.check(
      fc.asyncProperty(moves, async (given) => {
        return (await faultOf(make, given)) === null;
      }),
      { ...RUNS, numRuns: 100 },
    );

  test(`run at most ten times a second, one at a time, and the last input gets the last answer (seed ${RUNS.seed})`, async () => {
    const { failed, counterexample } = await check((...parts) => new Pace(...parts));
    expect([failed, counterexample]).toEqual([false, null]);
  });

  const MUTANTS: Readonly<Record<string, MakePace>> = {
    'no gap': (ask, take) => {
      let running = new AbortController();
      return {
        want(wish) {
          running.abort();
          running = new AbortController();
          const { signal } = running;
          void ask(wish, signal).then((answer) => signal.aborted || take(answer));
        },
      };
    },
    'inputs within the gap are lost': (ask, take, clock) => {
      const pace = new Pace(ask, take, clock);
      let last = Number.NEGATIVE_INFINITY;
      return {
        want(wish) {
          if (clock!.now() - last < GAP_MS) return;
          last = clock!.now();
          pace.want(wish);
        },
      };
    },
    'answers to earlier inputs are used, too': (ask, take, clock) =>
      new Pace(
        async (wish) => {
          const answer = await ask(wish, new AbortController().signal);
          take(answer);
          return answer;
        },
        () => {},
        clock,
      ),
  };
  for (const [name, make] of Object.entries(MUTANTS)) {
    test(`the mutant "${name}" breaks it`, async () => expect((await check(make)).failed).toBe(true));
  }
});

describe('a stream', () => {
  const data = fc.string({ minLength: 1 }).filter((text) => !/[\r\n]/.test(text));
  const cuts = fc.record({
    events: fc.array(data, { maxLength: 8 }),
    end: fc.constantFrom('\n', '\r\n'),
    sizes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
  });
  const read = (
    make: () => Pick<EventCutter, 'push'>,
    { events, end, sizes }: { events: readonly string[]; end: string; sizes: readonly number[] },
  ) => {
    const text = events.map((one) => `event: x${end}data: ${one}${end}${end}`).join('');
    const cutter = make();
    const got: string[] = [];
    for (let at = 0, turn = 0; at < text.length; turn++) {
      const size = sizes[turn % sizes.length]!;
      got.push(...cutter.push(text.slice(at, at + size)));
      at += size;
    }
    return Bun.deepEquals(got, events);
  };
  law<() => Pick<EventCutter, 'push'>, { events: readonly string[]; end: string; sizes: readonly number[] }>(
    'gives the same events, wherever the network splits it',
    cuts,
    read,
    () => new EventCutter(),
    { 'a cutter without memory': () => ({ push: (text) => new EventCutter().push(text) }) },
  );
});

describe('snippets', () => {
  const body = fc.record({
    model: fc.string(),
    stream: fc.boolean(),
    messages: fc.array(fc.record({ role: fc.constant('user'), content: fc.string({ unit: 'binary' }) })),
  });

  test('a shell reads a quoted text unchanged', () => {
    const texts = fc.sample(
      fc.string({ unit: fc.constantFrom("'", '"', '\\', '$', '`', '!', '\n', 'a', ' ', '*', 'ü') }),
      { ...RUNS, numRuns: 60 },
    );
    const shown = (quote: (text: string) => string) =>
      Bun.spawnSync(['sh', '-c', `printf '%s\\037' ${texts.map(quote).join(' ')}`]).stdout.toString();
    const whole = texts.map((text) => `${text}\u001f`).join('');
    expect(shown(quoted)).toBe(whole);
    expect(shown((text) => `'${text}'`)).not.toBe(whole);
  });

  test('the generated program for a client library compiles, and contains the body', () => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    const dialect = fc.constantFrom<Dialect>('chat', 'messages', 'responses', 'embeddings');
    fc.assert(
      fc.property(body, dialect, (one, of) => {
        const text = sdkOf('https://llm.example.com/gateway', of, one);
        expect(transpiler.scan(text).imports).toHaveLength(1);
        const [, sent = ''] = /\.create\((.*)\);\n(?:for|console)/s.exec(text) ?? [];
        expect(JSON.parse(sent)).toEqual(JSON.parse(JSON.stringify(one)));
      }),
      { ...RUNS, numRuns: 60 },
    );
  });
});

const NO_TERMS: Terms = { model: 'auto', shares: null, costMax: '', maxSeconds: '', budget: '', isStreamed: false };

/** The request of a page with these terms. @param converted what the server says about their amounts */
const requestWith = (body: Parameters<typeof requestOf>[0], terms: Partial<Terms>, converted: number | null = null) => {
  const { costMax, budget, ...rest } = { ...NO_TERMS, ...terms };
  const ceilings = { costMax: creditsToSend(costMax, converted), budget: creditsToSend(budget, converted) };
  return requestOf(body, 'chat', { ...rest, ...ceilings });
};

describe('ceilings', () => {
  const sentFor = (costMax: string, budget: string, converted: number | null = null) =>
    requestWith({}, { costMax, budget }, converted);

  test('amounts in USD are sent as the server converted them, and amounts in Credits as written', () => {
    const constraints = { max_cost_credits: 6_666.666666 };
    for (const text of ['20', '$20', '20 USD', ' 20.00 '])
      expect(sentFor(text, text, 6_666.666666)).toEqual({ model: 'auto', constraints, budget_limit: 6_666.666666 });
    expect(sentFor('20,000 Credits', '1 Credit')).toMatchObject({
      constraints: { max_cost_credits: 20_000 },
      budget_limit: 1,
    });
    expect(sentFor('', ' ')).toEqual({ model: 'auto' });
  });

  test('a text that the server did not convert is sent as it is, so that it is never ignored', () => {
    for (const text of ['20,5', '1.000,50', '20 EUR', 'much', '$20']) {
      expect(sentFor(text, text)).toEqual({
        model: 'auto',
        constraints: { max_cost_credits: text },
        budget_limit: text,
      });
    }
  });

  law<typeof termsIn, number>(
    'the ceilings of a pasted body are sent unchanged',
    fc.oneof(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), fc.constantFrom(1e-7, 0.1, 20)),
    (terms, credits) => {
      const body = { model: 'auto', constraints: { max_cost_credits: credits }, budget_limit: credits };
      return Bun.deepEquals(requestWith(body, terms(body)), body);
    },
    termsIn,
    {
      'without the unit': (body) => ({ budget: String(body.budget_limit), costMax: String(body.budget_limit) }),
      'with six decimals': (body) => {
        const text = `${Number(body.budget_limit).toFixed(6)} Credits`;
        return { budget: text, costMax: text };
      },
    },
  );
});

describe('a pasted body', () => {
  const examples = [CHAT_REQUESTS, MESSAGES_REQUESTS, RESPONSES_REQUESTS].flatMap((set) =>
    Object.values(set).map(({ value }) => value),
  );
  const NAMES: Readonly<Record<string, Dialect>> = {
    'openai-chat': 'chat',
    'anthropic-messages': 'messages',
    'openai-responses': 'responses',
  };

  test('is recognised in the same way as by the gateway', () => {
    for (const value of examples) {
      const draft = draftOf(JSON.stringify(value), 'chat');
      expect(draft).toMatchObject({ kind: 'body', dialect: NAMES[readRouteBody(value).original.dialect] });
    }
    expect(dialectOf({ model: 'text-embedding-3-small', input: 'a' }, 'chat')).toBe('embeddings');
    expect(dialectOf({ input: ['a', 'b'] }, 'chat')).toBe('embeddings');
    expect(dialectOf({ input: [1, 2] }, 'chat')).toBe('embeddings');
    expect(dialectOf({ input: [{ role: 'user', content: 'a' }] }, 'embeddings')).toBe('responses');
    // A plain conversation is valid in both dialects, so the choice of the person decides.
    expect(dialectOf({ messages: [{ role: 'user', content: 'a' }] }, 'messages')).toBe('messages');
  });

  test('with its own settings is sent unchanged, except for the form of its weights', () => {
    for (const value of examples) {
      const sent = requestWith(value, termsIn(value));
      expect(Object.keys(sent).sort()).toEqual(Object.keys(value).sort());
      const { route_strategy: _, ...rest } = { route_strategy: null, ...sent };
      expect(value).toMatchObject(rest);
    }
  });
});
