import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { EventFeed, type PlacedEvent } from '../../src/http/event-feed.ts';
import { EventStreams } from '../../src/http/event-streams.ts';
import { tries } from '../deep/effort.ts';

const event = (at: number, size = 0) => ({ kind: 'policy' as const, data: { at, text: 'x'.repeat(size) } });
const numbers = (events: readonly PlacedEvent[]) => events.map(({ event: { data } }) => (data as { at: number }).at);

/** A follower that leaves and returns must get each event once and in order, unless it learns that some are missing. */
const gapless = (make: (now: () => number) => Pick<EventFeed, 'tell' | 'follow' | 'leave' | 'last'>) =>
  fc.property(
    fc.array(fc.oneof(fc.constant('tell'), fc.constant('come'), fc.constant('go'), fc.nat(90_000)), { maxLength: 60 }),
    fc.constantFrom(1, 300),
    (steps, times) => {
      let now = 0;
      const feed = make(() => now);
      const received: number[] = [];
      let last: string | null = null;
      let told = 0;
      const take = (placed: PlacedEvent) => {
        received.push(...numbers([placed]));
        last = placed.id;
      };
      let isHere = false;
      for (const step of steps) {
        if (typeof step === 'number') now += step;
        else if (step === 'tell') {
          for (let i = 0; i < times; i++) {
            const at = ++told;
            feed.tell(() => event(at));
          }
        } else if (step === 'come' && !isHere) {
          isHere = true;
          const missed = feed.follow(take, last);
          if (missed === null || last === null) {
            last = feed.last;
            received.length = 0;
          } else for (const placed of missed) take(placed);
        } else if (step === 'go' && isHere) {
          isHere = false;
          feed.leave(take);
        }
      }
      if (isHere && received.length > 0) expect(received.at(-1)).toBe(told);
      received.forEach((at, i) => void (i > 0 && expect(at).toBe(received[i - 1]! + 1)));
    },
  );

test('a client of the event feed that reconnects gets every event since it disconnected, or a notice that events are missing', () => {
  fc.assert(
    gapless((now) => new EventFeed(now)),
    tries('event feed', 200, 5_000),
  );
});

test('the law of the event feed detects a feed that forgets that it has missed an event', () => {
  class Forgetful extends EventFeed {
    override follow(listener: Parameters<EventFeed['follow']>[0], after: string | null) {
      return super.follow(listener, after) ?? [];
    }
  }
  expect(
    fc.check(
      gapless((now) => new Forgetful(now)),
      { numRuns: 2_000, seed: 7 },
    ).failed,
  ).toBe(true);
});

test('an event is not even created while there is no follower', () => {
  let made = 0;
  const feed = new EventFeed(() => 0);
  const tell = () => feed.tell(() => event(++made));
  tell();
  expect(made).toBe(0);
  const listener = () => {};
  feed.follow(listener, null);
  tell();
  feed.leave(listener);
  // A follower that reconnects within a minute gets this event.
  tell();
  expect(made).toBe(2);
});

const allStreams = (feed: EventFeed) =>
  new EventStreams(
    feed,
    () => 0,
    () => false,
  );
const FOLLOWER = { holder: 'k', callerNow: () => OPERATOR };

test('the event feed disconnects a client that does not read, and keeps no events for the client', () => {
  const feed = new EventFeed(() => 0);
  const stream = allStreams(feed).open(FOLLOWER, null, '');
  for (let at = 0; at < 600; at++) feed.tell(() => event(at));
  expect(stream.isOver).toBe(false);
  feed.tell(() => event(600));
  expect(stream.isOver).toBe(true);
  expect(stream.next()).toStartWith('retry: ');
  expect(stream.next()).toBeNull();
});

test('the feed converts an event to text only when its client is ready, so that slow clients hold no copies', () => {
  const feed = new EventFeed(() => 0);
  const streams = allStreams(feed);
  const open = Array.from({ length: 16 }, () => streams.open(FOLLOWER, null, ''));
  let written = 0;
  const data = {
    toJSON: () => {
      written++;
      return 'x'.repeat(4_096);
    },
  };
  for (let at = 0; at < 500; at++) feed.tell(() => ({ kind: 'policy', data }));
  expect(written).toBe(0);
  const [first] = open;
  for (let text = first!.next(); typeof text === 'string'; text = first!.next())
    expect(text.length).toBeLessThan(16_384 + 5_000);
  expect(written).toBe(500);
});

test('a client of the event feed that reconnects gets all kept events, however large they are', () => {
  const feed = new EventFeed(() => 0);
  const streams = allStreams(feed);
  const before = streams.open(FOLLOWER, null, '');
  const from = feed.last;
  for (let at = 0; at < 500; at++) feed.tell(() => event(at, 8_192));
  before.end();
  const back = streams.open(FOLLOWER, from, '');
  let text = '';
  for (let next = back.next(); typeof next === 'string'; next = back.next()) text += next;
  expect(text.match(/^event: policy$/gm)).toHaveLength(500);
});

test('an idle stream gets a heartbeat every 15 seconds, and ends after half an hour, with its caller, and at a shutdown', () => {
  let [now, isDraining, caller] = [0, false, OPERATOR as typeof OPERATOR | null];
  const streams = new EventStreams(
    new EventFeed(() => now),
    () => now,
    () => isDraining,
  );
  const open = () => streams.open({ holder: 'k', callerNow: () => caller }, null, '');
  const stream = open();
  stream.next();
  expect([stream.isLate(14_999), stream.next() instanceof Promise]).toEqual([false, true]);
  expect([stream.isLate(15_000), stream.next()]).toEqual([false, ':\n\n']);
  expect(stream.isLate(30 * 60_000)).toBe(true);
  caller = null;
  expect(stream.isLate(1)).toBe(true);
  caller = OPERATOR;
  isDraining = true;
  expect(stream.isLate(1)).toBe(true);
  stream.end();
  now = 1;
  isDraining = false;
  const others = Array.from({ length: 16 }, open);
  expect(open).toThrow('You have 16 open event streams, which is the limit');
  for (const one of others) one.end();
});
