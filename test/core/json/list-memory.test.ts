import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ListMemory, ListTotal, ListValues, remember } from '../../../src/core/json/list-memory.ts';

interface Item {
  readonly text: string;
}

/** What reads the lists of one conversation after the other: texts with their index and the text before, and the sum of the lengths. */
interface Reader {
  texts(list: readonly Item[], key: string, memory: ListMemory | null): readonly string[];
  total(list: readonly Item[], memory: ListMemory | null): number;
}

/** Adds no text for an empty item, and two texts for a long one. */
function addTexts({ text }: Item, key: string, index: number, texts: string[]): void {
  const before = texts.at(-1)?.length ?? 0;
  if (text.length > 0) texts.push(`${key}${index}${before}${text}`);
  if (text.length > 1) texts.push(text);
}

const plain: Reader = {
  texts(list, key) {
    const texts: string[] = [];
    for (const [index, item] of list.entries()) addTexts(item, key, index, texts);
    return texts;
  },
  total: (list) => list.reduce((sum, { text }) => sum + text.length, 0),
};

function keeping(): Reader {
  const values = new ListValues<Item, string>();
  const totals = new ListTotal<Item, { sum: number }>(
    () => ({ sum: 0 }),
    ({ sum }) => ({ sum }),
  );
  return {
    texts(list, key, memory) {
      if (memory) remember(list, memory);
      const texts = values.copyOf(list, key, (item, index, all) => addTexts(item, key, index, all));
      // A request may change the list that it got.
      const own = texts.slice();
      (texts as string[]).length = 0;
      return own;
    },
    total(list, memory) {
      if (memory) remember(list, memory);
      return totals.of(list, (total, { text }) => {
        total.sum += text.length;
        return total;
      }).sum;
    },
  };
}

/** A reader that keeps the texts of a list, and finds them in a wrong way. */
const wrong = (isSame: (kept: Item, item: Item) => boolean, byKey = true, byMemory = true): Reader => {
  const kept = new Map<unknown, { key: string; items: readonly Item[]; ends: number[]; texts: string[] }>();
  return {
    ...plain,
    texts(list, key, memory) {
      const name = byMemory ? memory : 'all';
      const known = kept.get(name);
      let same = 0;
      if (known && (!byKey || known.key === key))
        while (same < Math.min(list.length, known.items.length) && isSame(known.items[same]!, list[same]!)) same++;
      const texts = same === 0 ? [] : known!.texts.slice(0, known!.ends[same - 1]);
      const ends = same === 0 ? [] : known!.ends.slice(0, same);
      for (let at = same; at < list.length; at++) {
        addTexts(list[at]!, key, at, texts);
        ends.push(texts.length);
      }
      if (memory) kept.set(name, { key, items: list, ends, texts });
      return texts;
    },
  };
};

const MUTANTS: Readonly<Record<string, () => Reader>> = {
  'keeps the values of an item that was edited': () => wrong(() => true),
  'compares only lengths': () => wrong((kept, item) => kept.text.length === item.text.length),
  'ignores what else the values depend on': () => wrong((kept, item) => kept === item, false),
  'finds an item at another place': () => {
    const values = new Map<Item, readonly string[]>();
    return {
      ...plain,
      texts(list, key) {
        const texts: string[] = [];
        for (const [index, item] of list.entries()) {
          const known = values.get(item);
          if (known) texts.push(...known);
          else {
            const from = texts.length;
            addTexts(item, key, index, texts);
            values.set(item, texts.slice(from));
          }
        }
        return texts;
      },
    };
  },
  'continues the total of a longer list': () => {
    const sums = new Map<ListMemory, { length: number; sum: number }>();
    return {
      ...plain,
      total(list, memory) {
        const known = memory && sums.get(memory);
        const from = known ? Math.min(known.length, list.length) : 0;
        const sum = (known?.sum ?? 0) + plain.total(list.slice(from), null);
        if (memory) sums.set(memory, { length: list.length, sum });
        return sum;
      },
    };
  },
};

/** Items with few different texts, each text twice, because two items with the same text are not the same. */
const ITEMS: readonly Item[] = ['', 'a', 'b', 'ab', 'ba', '', 'a', 'b', 'ab', 'ba'].map((text) =>
  Object.freeze({ text }),
);
const item = fc.constantFrom(...ITEMS);
const step = fc.record({
  /** How many of the last items are replaced. */
  removed: fc.nat(9),
  added: fc.array(item, { maxLength: 6 }),
  edited: fc.option(fc.tuple(fc.nat(20), item), { freq: 3 }),
  memory: fc.constantFrom(0, 0, 0, 1, null),
  key: fc.constantFrom('k', 'k', 'k', 'l'),
});
const session = fc.record({
  first: fc.array(item, { maxLength: 12 }),
  steps: fc.array(step, { minLength: 1, maxLength: 10 }),
});

function checkLaw(open: () => Reader): void {
  fc.assert(
    fc.property(session, ({ first, steps }) => {
      const reader = open();
      const memories = [new ListMemory(), new ListMemory()];
      let list = first;
      for (const { removed, added, edited, memory, key } of steps) {
        const at = memory === null ? null : memories[memory]!;
        expect(reader.texts([...list], key, at)).toEqual(plain.texts(list, key, null));
        expect(reader.total([...list], at)).toBe(plain.total(list, null));
        list = [...list.slice(0, Math.max(0, list.length - removed)), ...added];
        if (edited && list.length > 0) list = list.with(edited[0] % list.length, edited[1]);
      }
    }),
    { seed: 89, numRuns: 2_000 },
  );
}

describe('values of lists', () => {
  test('the values and the total of a list equal the values and the total of a list without a memory', () => {
    checkLaw(keeping);
  });

  for (const [what, open] of Object.entries(MUTANTS)) {
    test(`the law rejects a reader that ${what}`, () => {
      expect(() => checkLaw(open)).toThrow();
    });
  }

  test('the next turn of a conversation derives the values of its new items only', () => {
    const values = new ListValues<Item, string>();
    const memory = new ListMemory();
    const derived: number[] = [];
    const read = (list: readonly Item[]) => {
      remember(list, memory);
      values.of(list, null, (_, index) => void derived.push(index));
      return derived.splice(0);
    };
    expect(read(ITEMS.slice(0, 8))).toHaveLength(8);
    expect(read(ITEMS)).toEqual([8, 9]);
    expect(read(ITEMS.with(8, ITEMS[0]!))).toEqual([8, 9]);
  });

  test('after an item that is refused, the values of the items before it stay', () => {
    const values = new ListValues<Item, string>();
    const memory = new ListMemory();
    const read = (list: readonly Item[], refused: number) => {
      remember(list, memory);
      return values.of(list, null, ({ text }, index, all) => {
        all.push(text);
        if (index === refused) throw new Error('refused');
      });
    };
    expect(() => read(ITEMS, 7)).toThrow('refused');
    expect(read(ITEMS, -1)).toEqual(ITEMS.map(({ text }) => text));
  });
});
