import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { requestIdOf } from '../../src/providers/request-id.ts';

const KEY = 'topsecretkey42';
const idIn = (headers: Record<string, string>) => requestIdOf({ header: (name) => headers[name] ?? null }, KEY);

describe('the provider’s request ID', () => {
  test.each([
    ['x-request-id', 'req_1a2b'],
    ['request-id', 'req_011CT3xgr1oV8B9YvDbBMeQx'],
    ['apim-request-id', '0aa5b9f2-8f4e-4a0e-9c8e-3d3a4a1a7b11'],
    ['mistral-correlation-id', '0197f2b1'],
    ['x-ds-trace-id', 'fb3cc7347920593f11e4fe8116dee066'],
    ['msh-request-id', 'b8c1a2d3-7a7e-11f0-9f3e-5d7e2b41c6f8'],
    ['x-generation-id', 'gen-1760000000-AbCdEf'],
  ])('is read from %s', (header, id) => {
    expect(idIn({ [header]: id })).toBe(id);
  });

  test('is null if the provider sends none', () => {
    expect(idIn({ 'content-type': 'text/plain' })).toBeNull();
  });

  test.each([
    ['too long', 'a'.repeat(129)],
    ['of several words', 'see our page'],
    ['empty', ''],
    ['our own key', KEY],
    ['with our own key in it', `req_${KEY}_1`],
    ['with a piece of the key at the end', `req_${KEY.slice(0, 8)}`],
    ['text that looks like a key', 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'],
  ])('is never %s', (_, id) => {
    expect(idIn({ 'x-request-id': id })).toBeNull();
    expect(idIn({ 'x-request-id': id, 'request-id': 'req_2' })).toBe('req_2');
  });
});

/** A key that repeats itself, so that a piece of it may begin within another piece. */
const REPEATED = 'abababcababd';

/** Returns whether a text contains the key, or ends with a piece of it that is long enough. */
function holdsKey(text: string): boolean {
  for (let length = 4; length < REPEATED.length; length++) if (text.endsWith(REPEATED.slice(0, length))) return true;
  return text.includes(REPEATED);
}

const anyText = (isFree: (text: string) => boolean) =>
  fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'ab', 'abab', 'c', 'd', REPEATED), minLength: 1 }), (text) =>
    expect(isFree(text)).toBe(!holdsKey(text)),
  );

test('the search in a request ID finds an API key, or a piece of a key at the end, wherever the key begins', () => {
  fc.assert(
    anyText((text) => requestIdOf({ header: () => text }, REPEATED) !== null),
    { numRuns: 2_000 },
  );
});

test('the test detects a search that only tries the first position where the key could begin', () => {
  const mutant = (text: string) => {
    const at = text.indexOf(REPEATED.slice(0, 4));
    return !text.includes(REPEATED) && (at < 0 || !REPEATED.startsWith(text.slice(at)));
  };
  expect(fc.check(anyText(mutant), { numRuns: 2_000, endOnFailure: true }).failed).toBeTrue();
});
