import { afterEach, describe, expect, jest, test } from 'bun:test';
import fc from 'fast-check';
import { Gate, type GatePlace } from '../../../src/access/limits/gate.ts';
import { SignalboxError } from '../../../src/core/errors.ts';

const bounds = (concurrencyMax: number, queueMax: number, queueMs = 10_000) => ({
  concurrencyMax,
  bodiesBytesMax: 1_000,
  queueMax,
  queueMs,
});

/** A gate with a clock that only the test moves. */
function setUp() {
  const clock = { now: 1_000_000 };
  return { clock, gate: new Gate(() => clock.now) };
}

const isOverloaded = (error: unknown) => error instanceof SignalboxError && error.code === 'overloaded';

/** What became of a place's turn so far. */
async function stateOf(place: GatePlace): Promise<'inside' | 'waiting' | 'refused'> {
  if (!place.turn) return 'inside';
  const waiting = Promise.resolve('waiting' as const);
  return Promise.race([
    place.turn.then(
      () => 'inside' as const,
      () => 'refused' as const,
    ),
    waiting.then((state) => state),
  ]);
}

afterEach(() => void jest.useRealTimers());

describe('the gate', () => {
  test('lets so many in, then so many wait in line, and sends the others away at once', async () => {
    const { gate } = setUp();
    const places = Array.from({ length: 5 }, () => gate.enter(bounds(2, 3), 'k', 0));
    expect([gate.inside, gate.waiting]).toEqual([2, 3]);
    expect(places.map(({ turn }) => turn === null)).toEqual([true, true, false, false, false]);
    let refused: unknown;
    try {
      gate.enter(bounds(2, 3), 'k', 0);
    } catch (error) {
      refused = error;
    }
    expect(isOverloaded(refused)).toBe(true);
    const { retryAfterMs = 0 } = (refused as SignalboxError).info;
    expect(retryAfterMs).toBeGreaterThanOrEqual(1_000);
    expect(retryAfterMs).toBeLessThan(2_000);
    places[0]!.leave();
    expect([gate.inside, gate.waiting]).toEqual([2, 2]);
    await places[2]!.turn;
    expect(await stateOf(places[3]!)).toBe('waiting');
    for (const place of places) place.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('who has waited for too long is sent away, and the line moves up', async () => {
    jest.useFakeTimers();
    const { gate } = setUp();
    const inside = gate.enter(bounds(1, 5), 'k', 0);
    const hasty = gate.enter(bounds(1, 5, 9_000), 'k', 0);
    const patient = gate.enter(bounds(1, 5, 10_000), 'k', 0);
    jest.advanceTimersByTime(8_999);
    expect([gate.inside, gate.waiting]).toEqual([1, 2]);
    jest.advanceTimersByTime(1);
    expect(isOverloaded(await hasty.turn!.catch((error: unknown) => error))).toBe(true);
    expect([gate.inside, gate.waiting]).toEqual([1, 1]);
    hasty.leave();
    inside.leave();
    await patient.turn;
    patient.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('under a wider policy the line goes in first; under a narrower one nobody is thrown out', async () => {
    const { gate } = setUp();
    const places = [
      gate.enter(bounds(1, 5), 'k', 0),
      gate.enter(bounds(1, 5), 'k', 0),
      gate.enter(bounds(1, 5), 'k', 0),
    ];
    places.push(gate.enter(bounds(3, 5), 'k', 0));
    await Promise.all([places[1]!.turn, places[2]!.turn]);
    expect([gate.inside, gate.waiting]).toEqual([3, 1]);
    places.push(gate.enter(bounds(1, 5), 'k', 0));
    places[0]!.leave();
    places[1]!.leave();
    expect([gate.inside, gate.waiting]).toEqual([1, 2]);
    places[2]!.leave();
    await places[3]!.turn;
    expect([gate.inside, gate.waiting]).toEqual([1, 1]);
    for (const place of places) place.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('in whatever order they come and go: never too many, first in first out, and nothing is left', async () => {
    const step = fc.record({ comes: fc.boolean(), which: fc.nat(1_000), times: fc.integer({ min: 1, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(4),
        fc.array(step, { maxLength: 60 }),
        async (most, line, steps) => {
          const { gate } = setUp();
          const there: GatePlace[] = [];
          for (const { comes, which, times } of steps) {
            if (comes) {
              const isFull = there.length >= most + line;
              try {
                there.push(gate.enter(bounds(most, line), 'k', 0));
                expect(isFull).toBe(false);
              } catch (error) {
                expect(isFull && isOverloaded(error)).toBe(true);
              }
            } else if (there.length > 0) {
              const [place] = there.splice(which % there.length, 1);
              for (let i = 0; i < times; i++) place!.leave();
            }
            expect(gate.inside).toBe(Math.min(most, there.length));
            expect(gate.waiting).toBe(there.length - gate.inside);
            // Those inside are those that came first.
            const states = await Promise.all(there.map(stateOf));
            expect(states.slice(0, gate.inside)).not.toContain('refused');
            expect(states.slice(gate.inside).every((state) => state === 'waiting')).toBe(true);
          }
          for (const place of there) place.leave();
          expect([gate.inside, gate.waiting]).toEqual([0, 0]);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('the last tenth of the places', () => {
  const twenty = bounds(20, 50);

  test('is for callers who hold less than a tenth, also before those who wait', async () => {
    const { gate } = setUp();
    const greedy = Array.from({ length: 25 }, () => gate.enter(twenty, 'a', 0));
    expect([gate.inside, gate.waiting]).toEqual([18, 7]);
    const others = Array.from({ length: 3 }, () => gate.enter(twenty, 'b', 0));
    expect(others.map(({ turn }) => turn === null)).toEqual([true, true, false]);
    others[0]!.leave();
    // The place that is free again is for who has less than a tenth.
    await others[2]!.turn;
    expect(await stateOf(greedy[18]!)).toBe('waiting');
    for (const place of [...greedy, ...others]) place.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('lets the line in as soon as more is free', async () => {
    const { gate } = setUp();
    const greedy = Array.from({ length: 20 }, () => gate.enter(twenty, 'a', 0));
    greedy[0]!.leave();
    await greedy[18]!.turn;
    expect([gate.inside, gate.waiting]).toEqual([18, 1]);
    for (const place of greedy) place.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });
});

describe('bodies', () => {
  const few = bounds(5, 5);

  test('have a bound together and for each caller, whatever waits or works; what leaves makes room', () => {
    const { gate } = setUp();
    const one = gate.enter(bounds(1, 5), 'a', 400);
    const waiting = gate.enter(bounds(1, 5), 'b', 300);
    expect(gate.bytes).toBe(700);
    for (const caller of ['a', 'b']) {
      expect(() => gate.check(few, caller, 1)).toThrow('more requests than it can handle');
      expect(() => gate.check(few, caller, 0)).not.toThrow();
    }
    expect(() => gate.check(few, 'c', 150)).not.toThrow();
    waiting.leave();
    waiting.leave();
    gate.enter(bounds(1, 5), 'a', 100).leave();
    one.leave();
    expect(gate.bytes).toBe(0);
  });

  test('of 64 KiB take their room at once, and of 1 MiB while half of the places and of the room are free', () => {
    const SMALL = 65_536;
    const MEDIUM = 1_048_576;
    const four = { ...bounds(4, 0), bodiesBytesMax: 4 * MEDIUM };
    const { gate } = setUp();
    const sizes = () => [SMALL, SMALL + 1, MEDIUM, MEDIUM + 1].map((bytes) => gate.bytesAtOnce(four, bytes));
    expect(sizes()).toEqual([SMALL, SMALL + 1, MEDIUM, 0]);
    const first = gate.enter(four, 'a', MEDIUM);
    expect(sizes()).toEqual([SMALL, SMALL + 1, MEDIUM, 0]);
    first.grow(1);
    expect(sizes()).toEqual([SMALL, SMALL + 1, 0, 0]);
    first.leave();
    const second = gate.enter(four, 'a', 0);
    gate.enter(four, 'b', 0);
    expect(sizes()).toEqual([SMALL, 0, 0, 0]);
    second.leave();
    expect(sizes()).toEqual([SMALL, SMALL + 1, MEDIUM, 0]);
  });

  test('larger than all of it come in alone, at once or piece by piece', () => {
    const { gate } = setUp();
    const large = gate.enter(few, 'a', 5_000);
    expect(() => gate.enter(few, 'b', 1)).toThrow();
    large.leave();
    const growing = gate.enter(few, 'a', 0);
    for (let at = 0; at < 5; at++) growing.grow(1_000);
    expect(() => gate.enter(few, 'b', 1)).toThrow();
    growing.leave();
    gate.enter(few, 'b', 1).leave();
  });

  test('take room as they come, and are refused where it ends', () => {
    const { gate } = setUp();
    const greedy = Array.from({ length: 4 }, () => gate.enter(few, 'a', 0));
    greedy[0]!.grow(250);
    greedy[1]!.grow(250);
    expect(() => greedy[2]!.grow(1)).toThrow('more requests than it can handle');
    gate.enter(few, 'b', 0).grow(250);
    expect(gate.bytes).toBe(750);
    for (const place of greedy) place.leave();
    expect(gate.bytes).toBe(250);
  });

  test('that come slowly give way, the slowest first', () => {
    const { gate, clock } = setUp();
    const cut: string[] = [];
    const reading = (caller: string, name: string) => {
      const place = gate.enter(few, caller, 0);
      place.begin({ cut: () => cut.push(name) });
      return place;
    };
    reading('a', 'large').grow(300);
    reading('b', 'small').grow(100);
    reading('b', 'none');
    reading('c', 'medium').grow(150);
    const whole = gate.enter(bounds(9, 0), 'c', 0);
    whole.begin({ cut: () => cut.push('whole') });
    whole.end();
    // None is slow in its first second.
    clock.now += 999;
    expect(() => gate.check(few, 'd', 400)).toThrow();
    clock.now += 1;
    gate.enter(bounds(9, 0), 'd', 200).leave();
    expect(cut).toEqual([]);
    gate.enter(bounds(9, 0), 'd', 400).leave();
    expect(cut).toEqual(['small', 'medium', 'large']);
    expect(gate.bytes).toBe(0);
  });

  test('that are small and slow stay before those that trickle', () => {
    const { gate, clock } = setUp();
    const cut: string[] = [];
    const begin = (name: string, atOnce: number) => {
      const place = gate.enter(bounds(2, 0), name, atOnce);
      place.begin({ cut: () => cut.push(name) });
      return place;
    };
    begin('announces 500', 500);
    begin('trickles', 0).grow(1);
    clock.now += 1_000;
    gate.enter(bounds(2, 0), 'c', 0);
    expect(cut).toEqual(['trickles']);
  });

  test('that are the slowest themselves are refused where they find no room, and leave nothing held', () => {
    const { gate, clock } = setUp();
    const slow = gate.enter(few, 'a', 0);
    slow.begin({ cut: () => {} });
    slow.grow(200);
    const other = gate.enter(few, 'b', 300);
    clock.now += 1_000;
    expect(() => slow.grow(200)).toThrow('more requests than it can handle');
    for (const place of [slow, other]) place.leave();
    expect(gate.bytes).toBe(0);
  });

  test('that come slowly do not give way to a caller who holds more', () => {
    const { gate, clock } = setUp();
    const cut: string[] = [];
    const slow = gate.enter(few, 'a', 0);
    slow.begin({ cut: () => cut.push('a') });
    slow.grow(10);
    gate.enter(few, 'b', 400);
    clock.now += 1_000;
    expect(() => gate.enter(few, 'b', 200)).toThrow();
    expect(cut).toEqual([]);
  });

  test('that come slowly give way where there is no place', () => {
    const { gate, clock } = setUp();
    const cut: number[] = [];
    const places = [0, 1].map((at) => {
      const place = gate.enter(bounds(2, 0), 'a', 0);
      place.begin({ cut: () => cut.push(at) });
      return place;
    });
    places[0]!.grow(1);
    expect(() => gate.enter(bounds(2, 0), 'b', 0)).toThrow();
    clock.now += 1_000;
    expect(() => gate.check(bounds(2, 0), 'b', 0)).not.toThrow();
    const next = gate.enter(bounds(2, 0), 'b', 0);
    expect([next.turn, gate.inside, cut]).toEqual([null, 2, [1]]);
    places[0]!.end();
    expect(() => gate.enter(bounds(2, 0), 'b', 0)).toThrow();
  });
});
