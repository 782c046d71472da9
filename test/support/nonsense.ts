import { isDeep } from '../deep/effort.ts';

const NONSENSE: readonly unknown[] = [
  ...[null, -1, 1e308, '', '\ud800', [], {}, [null], { type: null }],
  ...[{ type: 'x' }, { toString: 1, valueOf: 1 }],
];

function* placesIn(value: unknown, at: readonly string[] = []): Generator<readonly string[]> {
  yield at;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* placesIn(inner, [...at, name]);
}

function replaced(value: unknown, [step, ...rest]: readonly string[], by: unknown): unknown {
  if (step === undefined) return by;
  const inner = replaced(Reflect.get(Object(value), step), rest, by);
  return Array.isArray(value) ? value.with(Number(step), inner) : { ...Object(value), [step]: inner };
}

/**
 * Replaces every value of a body by values that no client sends there, and returns the replacements that cause an internal error. `npm test`
 * uses a third of them.
 * @param send sends a body and returns the status of the answer
 */
export async function defectsIn(body: object, send: (changed: unknown) => Promise<number>): Promise<readonly object[]> {
  const defects: object[] = [];
  for (const [place, at] of [...placesIn(body)].entries()) {
    const values = NONSENSE.filter((_, nth) => isDeep || (place + nth) % 3 === 0);
    const answers = values.map(async (value) => {
      const status = await send(replaced(body, at, value));
      return status < 500 ? [] : [{ status, at: at.join('.'), value }];
    });
    defects.push(...(await Promise.all(answers)).flat());
  }
  return defects;
}
