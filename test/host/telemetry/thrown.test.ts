import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { stackOf } from '../../../src/host/telemetry/thrown.ts';

const refuse = (): never => {
  throw new Error('not to be touched');
};
const HOSTILE: readonly unknown[] = [
  new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse }),
  Object.defineProperty(new Error('shut'), 'stack', { get: refuse }),
  Object.assign(new Error('odd'), { stack: { toString: refuse } }),
  { toString: refuse, message: Symbol('odd') },
  Object.create(null),
  () => 1,
  Symbol('thrown'),
];

test('any thrown value has a text of 1 to 4,000 characters, and reading it never throws', () => {
  const long = fc.string({ minLength: 5_000, maxLength: 9_000 });
  // The values are wrapped in functions, because fast-check itself reads them.
  const held = (value: unknown) => () => value;
  const thrown = fc.oneof(
    fc.anything().map(held),
    long.map(held),
    long.map((text) => held(new Error(text))),
    fc.constantFrom(...HOSTILE.map(held)),
  );
  fc.assert(
    fc.property(thrown, (get) => {
      const value = get();
      const text = stackOf(value);
      expect(text.length).toBeWithin(value === '' ? 0 : 1, 4_001);
    }),
  );
});

test('the text of an Error is its stack, of any other object its message, and of a string the string', () => {
  const error = new TypeError('lost');
  expect(stackOf(error)).toBe(error.stack ?? '');
  expect(stackOf({ message: 'lost', stack: 7 })).toBe('lost');
  expect([stackOf('lost'), stackOf(undefined), stackOf({})]).toEqual(['lost', 'undefined', 'a value without a stack']);
});
