import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Edit, type OriginalPath, pathText, valueAt, withEdits } from '../../../src/core/json/original.ts';

type Apply = (body: object, edits: readonly Edit[]) => object;

const names = fc.oneof(fc.constantFrom('messages', 'content', '__proto__', 'constructor', '0'), fc.string());
const bodies = fc.dictionary(names, fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true }).map((body): object => {
  // Parsed as from the network: `__proto__` is a member like others.
  return JSON.parse(JSON.stringify(body));
});

/** Returns every location in a body, from the outside in. */
function placesIn(value: unknown, at: OriginalPath = []): OriginalPath[] {
  if (typeof value !== 'object' || value === null) return [];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return steps.flatMap((step) => {
    const place = [...at, step];
    return [place, ...placesIn(valueAt(value, [step]), place)];
  });
}

/** A body with edits at some of its locations, none of them nested. */
const edited = bodies
  .filter((body) => placesIn(body).length > 0)
  .chain((body) =>
    fc.record({
      body: fc.constant(body),
      places: fc.uniqueArray(fc.constantFrom(...placesIn(body)), {
        maxLength: 4,
        selector: (one) => JSON.stringify(one),
      }),
      value: fc.jsonValue({ maxDepth: 1 }),
    }),
  )
  .map(({ body, places, value }) => {
    const covers = (outer: OriginalPath, inner: OriginalPath) =>
      outer.length < inner.length && outer.every((step, i) => step === inner[i]);
    const apart = places.filter((inner) => !places.some((outer) => covers(outer, inner)));
    return { body, edits: apart.map((at, i) => ({ at, value: [i, value] })) };
  });

/** Writes the JSON text of a body with other texts at some locations, independently of `withEdits`. */
function textWith(value: unknown, edits: readonly Edit[], at: OriginalPath = []): string {
  const edit = edits.find((one) => one.at.length === at.length && one.at.every((step, i) => step === at[i]));
  if (edit) return JSON.stringify(edit.value);
  if (Array.isArray(value)) return `[${value.map((one, i) => textWith(one, edits, [...at, i])).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).map(
    (name) => `${JSON.stringify(name)}:${textWith(valueAt(value, [name]), edits, [...at, name])}`,
  );
  return `{${members.join(',')}}`;
}

/** Throws unless edits change the text only at their locations, leave the body unchanged, and share the rest with it. */
function holds(apply: Apply): void {
  fc.assert(
    fc.property(edited, ({ body, edits }) => {
      const before = JSON.stringify(body);
      const result = apply(body, edits);
      expect(JSON.stringify(result)).toBe(textWith(body, edits));
      expect(JSON.stringify(body)).toBe(before);
      for (const place of placesIn(body)) {
        const touches = edits.some(({ at }) => at.every((step, i) => i >= place.length || step === place[i]));
        if (!touches) expect(valueAt(result, place)).toBe(valueAt(body, place));
      }
    }),
    { numRuns: 300 },
  );
}

test('an edit changes the JSON text of a body only at its location, and shares the rest with the body', () => {
  holds(withEdits);
});

test('the law of edited bodies detects an edit that copies too much, changes the original body, or moves a member', () => {
  const mutants: Apply[] = [
    (body, edits) => structuredClone(withEdits(body, edits)),
    (body, edits) => {
      const result = withEdits(body, edits);
      for (const { at, value } of edits) if (at.length === 1) Reflect.set(body, at[0]!, value);
      return result;
    },
    (body, edits) => {
      const result: Record<string, unknown> = { ...withEdits(body, edits) };
      const name = edits[0]?.at[0];
      if (typeof name !== 'string') return result;
      const value = result[name];
      delete result[name];
      return { ...result, [name]: value };
    },
  ];
  for (const mutant of mutants) expect(() => holds(mutant)).toThrow();
});

test('undefined removes a member, and an edit whose location does not exist changes nothing', () => {
  const body = { a: { b: 1, c: 2 }, list: [1, 2] };
  expect(JSON.stringify(withEdits({ list: [{ b: 1, c: 2 }] }, [{ at: ['list', 0, 'b'], value: undefined }]))).toBe(
    '{"list":[{"c":2}]}',
  );
  expect(JSON.stringify(withEdits(body, [{ at: ['a', 'b'], value: undefined }]))).toBe('{"a":{"c":2},"list":[1,2]}');
  for (const at of [['x', 'y'], ['list', 7], ['list', 'length'], ['a', 'b', 'c'], []]) {
    expect(withEdits(body, [{ at, value: 'new' }])).toBe(body);
  }
  expect(withEdits(body, [{ at: ['list', 0], value: undefined }])).toBe(body);
});

test('several edits of the same object all apply', () => {
  const body = { a: { b: 1, c: 2 }, rest: {} };
  const result = withEdits(body, [
    { at: ['a', 'b'], value: 3 },
    { at: ['a', 'c'], value: 4 },
    { at: ['a', 'd'], value: 5 },
  ]);
  expect<object>(result).toEqual({ a: { b: 3, c: 4, d: 5 }, rest: {} });
  expect(result.rest).toBe(body.rest);
});

test('a path is written in the form that error messages use', () => {
  expect(pathText(['messages', 3, 'content', 0, 'text'])).toBe('messages[3].content[0].text');
  expect(pathText([])).toBe('');
});
