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

/** A gate whose clock only the test moves. */
function setUp() {
  const clock = { now: 1_000_000 };
  return { clock, gate: new Gate(() => clock.now) };
}

const isOverloaded = (error: unknown) => error instanceof SignalboxError && error.code === 'overloaded';

/** Returns the current state of a request. */
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
  test('the gate runs a number of requests, queues a number of requests, and refuses the others at once', async () => {
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

  test('a request that has waited too long is refused, and the queue moves up', async () => {
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

  test('with a higher limit, the queue enters first; with a lower limit, no running request is stopped', async () => {
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

  test('in any order of arrivals and ends, the gate never runs too many requests, keeps their order and leaves nothing', async () => {
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
            // The running requests are the requests that arrived first.
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

  test('the last tenth of the slots is for callers who use less than a tenth, even before waiting requests', async () => {
    const { gate } = setUp();
    const greedy = Array.from({ length: 25 }, () => gate.enter(twenty, 'a', 0));
    expect([gate.inside, gate.waiting]).toEqual([18, 7]);
    const others = Array.from({ length: 3 }, () => gate.enter(twenty, 'b', 0));
    expect(others.map(({ turn }) => turn === null)).toEqual([true, true, false]);
    others[0]!.leave();
    // A free slot of the reserve goes to a caller who uses less than a tenth.
    await others[2]!.turn;
    expect(await stateOf(greedy[18]!)).toBe('waiting');
    for (const place of [...greedy, ...others]) place.leave();
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('the queue enters as soon as more than the reserved slots are free', async () => {
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

  test('bodies have a byte limit for all callers and for each caller, whether they wait or run; ended bodies free their bytes', () => {
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

  test('bodies of 64 KiB reserve their bytes at once, and bodies of 1 MiB do while half of the slots and bytes are free', () => {
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

  test('a body larger than the limit is accepted alone, at once or piece by piece', () => {
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

  test('bodies reserve bytes as they arrive, and are refused when no bytes are left', () => {
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

  test('slow bodies are cut when others need their bytes, the slowest first', () => {
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
    // No body counts as slow in its first second.
    clock.now += 999;
    expect(() => gate.check(few, 'd', 400)).toThrow();
    clock.now += 1;
    gate.enter(bounds(9, 0), 'd', 200).leave();
    expect(cut).toEqual([]);
    gate.enter(bounds(9, 0), 'd', 400).leave();
    expect(cut).toEqual(['small', 'medium', 'large']);
    expect(gate.bytes).toBe(0);
  });

  test('small slow bodies are kept, and bodies that trickle are cut before them', () => {
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

  test('a body that is the slowest itself is refused if no bytes are left, and keeps no bytes', () => {
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

  test('slow bodies are not cut for a caller who holds more bytes', () => {
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

  test('slow bodies are cut if there is no slot', () => {
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
