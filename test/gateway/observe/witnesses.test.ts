import { describe, expect, test } from 'bun:test';
import { Observer, type Witness } from '../../../src/gateway/observe/observer.ts';

/** An observer with these witnesses, and the errors that it has logged. */
function observerOf(witnesses: readonly Witness[]): { readonly observer: Observer; readonly errors: string[] } {
  const errors: string[] = [];
  const log = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const written = async () => {};
  const observer = new Observer({ trace: null, witnesses, log, clock: () => 7, nextId: () => 1, written });
  return { observer, errors };
}

const begin = (observer: Observer) => observer.begin(new Request('http://localhost/'), () => false);

describe('A request that is over', () => {
  test('is told to every witness once', () => {
    const told: number[] = [];
    const { observer } = observerOf([(_, now) => told.push(now), (_, now) => told.push(now)]);
    const seen = begin(observer);
    observer.ended(seen);
    observer.ended(seen);
    expect(told).toEqual([7, 7]);
  });

  test('is told to the others where one fails, which is logged once', () => {
    let told = 0;
    const fails = () => {
      throw new Error('cannot tell');
    };
    const { observer, errors } = observerOf([fails, () => told++, fails]);
    for (let i = 0; i < 2; i++) observer.ended(begin(observer));
    expect(told).toBe(2);
    expect(errors).toEqual(['a request could not be reported; further failures of this kind are not logged']);
  });
});
