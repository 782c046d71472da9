import { expect, test } from 'bun:test';
import { type DecoderPlace, DecoderRoom } from '../../src/providers/decoder-room.ts';

/** The first byte of a `br` answer with the largest window, 16 MiB (RFC 7932, section 9.1). */
const LARGEST = 0x0f;
/** More answers with this window than have room. */
const MANY = 20;

test('an answer with small windows does not wait for answers that wait for room for large windows', async () => {
  const room = new DecoderRoom();
  const large = Array.from({ length: MANY }, () => room.place(['br']));
  const isWaiting = (place: DecoderPlace) => place.enter(LARGEST) !== null;
  const waiting = large.filter(isWaiting);
  expect(waiting.length).toBeWithin(1, MANY);
  for (const encodings of [['gzip'], ['deflate'], ['gzip', 'deflate', 'gzip']]) {
    expect([encodings, room.place(encodings).enter(0x1f)]).toEqual([encodings, null]);
  }
  // A large answer still waits its turn, and gets the room of one that is over.
  const turn = waiting[0]!.enter(LARGEST);
  large.find((place) => !waiting.includes(place))!.leave();
  await turn;
  expect(waiting.filter(isWaiting)).toHaveLength(waiting.length - 1);
});
