import { DOUBLE, type Extent, listExtent, mapOf, SCALAR, textExtent } from './cel-extents.ts';

/** Characters read in one step. */
const CHARACTERS_PER_STEP = 16;
/** Steps to compare two entries, without reading them. */
const ENTRY_STEPS = 5;
/** Steps to read a time in another zone, which needs the date formatter. */
const ZONE_STEPS = 2_500;

/** The worst-case cost of a function, without its arguments. */
interface MethodCost {
  readonly steps: number;
  readonly extent: Extent;
  readonly canFail: boolean;
}

/** Steps to read a whole value. */
export function readSteps({ kind, size, item, value }: Extent): number {
  if (kind === 'text') return 1 + size / CHARACTERS_PER_STEP;
  if (kind !== 'list' && kind !== 'map') return 1;
  const entry = (item ? readSteps(item) : 1) + (value ? readSteps(value) : 0);
  return 1 + size * (ENTRY_STEPS + entry);
}

/** Functions that never fail on values of the right type. */
const NEVER_FAIL: ReadonlySet<string> = new Set(
  'size startsWith endsWith contains lowerAscii upperAscii trim split join string type'.split(' '),
);
const GIVE_SCALARS: ReadonlySet<string> = new Set(
  'int uint bool type at timestamp contains startsWith endsWith indexOf lastIndexOf'.split(' '),
);

/** Function that returns a text or bytes → the most that it multiplies the length of its input. */
const TEXTS: Readonly<Record<string, number>> = {
  trim: 1,
  substring: 1,
  // One letter can become three units in the other case.
  lowerAscii: 3,
  upperAscii: 3,
  hex: 2,
  base64: 2,
  bytes: 3,
};

/**
 * The worst-case cost of a function by the extents of its receiver and arguments. A function that is not listed here is
 * assumed to read all its input, to fail, and to return as much as it reads.
 */
export function methodCost(name: string, operands: readonly Extent[]): MethodCost {
  const [first = SCALAR, second] = operands;
  const read = operands.reduce((sum, extent) => sum + readSteps(extent), 0);
  const canFail = !NEVER_FAIL.has(name) && !(second === undefined && /^get[A-Z]/.test(name));
  const growth = TEXTS[name];
  if (growth !== undefined) return { steps: read * growth, extent: textExtent(first.size * growth), canFail };
  switch (name) {
    case 'size':
      // cel-js counts a text's characters one by one.
      return { steps: first.kind === 'text' ? first.size : 1, extent: SCALAR, canFail };
    case 'string':
      return { steps: read, extent: textExtent(first.kind === 'text' ? first.size : 32), canFail };
    case 'split':
      return { steps: read + first.size, extent: listExtent(first.size + 1, textExtent(first.size)), canFail };
    case 'join': {
      const characters = first.size * ((first.item?.size ?? first.size) + (second?.size ?? 0));
      return { steps: first.size + characters / CHARACTERS_PER_STEP, extent: textExtent(characters), canFail };
    }
    case 'json':
      return { steps: read * 4, extent: mapOf(first.size, textExtent(first.size), textExtent(first.size)), canFail };
    case 'duration':
      // Its regular expression tries every pair of positions in a text of digits, from every position.
      return { steps: read + first.size ** 3 / 25, extent: SCALAR, canFail };
    case 'double':
      return { steps: read, extent: DOUBLE, canFail };
    default:
      if (GIVE_SCALARS.has(name)) return { steps: read, extent: SCALAR, canFail };
      if (/^get[A-Z]/.test(name)) return { steps: second ? ZONE_STEPS : 1, extent: SCALAR, canFail };
      return { steps: read, extent: textExtent(operands.reduce((sum, { size }) => sum + size, 0)), canFail };
  }
}
