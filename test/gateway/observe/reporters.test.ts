import { describe, expect, test } from 'bun:test';
import { Observer, type RequestReporter } from '../../../src/gateway/observe/observer.ts';

/** An observer with these reporters, and the errors that it has logged. */
function observerOf(reporters: readonly RequestReporter[]): { readonly observer: Observer; readonly errors: string[] } {
  const errors: string[] = [];
  const log = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const written = async () => {};
  const observer = new Observer({ trace: null, reporters, log, clock: () => 7, nextId: () => 1, written });
  return { observer, errors };
}

const open = (observer: Observer) => observer.open(new Request('http://localhost/'), 'other', false);

describe('A request that is over', () => {
  test('is reported once by every reporter', () => {
    const told: number[] = [];
    const { observer } = observerOf([(_, now) => told.push(now), (_, now) => told.push(now)]);
    const context = open(observer);
    context.handled(200, null);
    context.handled(500, 'internal_error');
    expect(told).toEqual([7, 7]);
  });

  test('is reported by the others where one fails, which is logged once', () => {
    let told = 0;
    const fails = () => {
      throw new Error('cannot tell');
    };
    const { observer, errors } = observerOf([fails, () => told++, fails]);
    for (let i = 0; i < 2; i++) open(observer).handled(200, null);
    expect(told).toBe(2);
    expect(errors).toEqual(['a request could not be reported; further failures of this kind are not logged']);
  });
});
