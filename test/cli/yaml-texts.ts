import fc from 'fast-check';

/** YAML as people write it, of every look: data, and the text of one who cares little for its form. */
export interface Written {
  readonly text: string;
  /** As `dataOf` reads it again. */
  readonly data: unknown;
  /** In their order. */
  readonly comments: readonly string[];
}

/** A text that is in the file as it stands, without quotes; numbers among them are told from words. */
type Scalar =
  | { readonly kind: 'number'; readonly source: string }
  | {
      readonly kind: 'words';
      readonly words: string;
      readonly style: 'plain' | 'single' | 'double' | 'literal' | 'folded';
    };
type Value =
  | Scalar
  | {
      readonly kind: 'list' | 'map';
      readonly flow: boolean;
      readonly items: readonly Item[];
      readonly anchor: boolean;
    };
interface Item {
  readonly key: string;
  readonly value: Value;
  /** Blanks where some may stand. */
  readonly blanks: number;
  /** Empty lines above. */
  readonly lines: number;
  readonly above: boolean;
  readonly behind: boolean;
  readonly afterKey: boolean;
}

const NUMBERS = ['0', '1.00', '0.0250', '2.50', '1e3', '10485760', '-0', '+1', '.5', '0x1F', '0o17', '007'];
const WORDS = [
  'key.labels.team == "legal"',
  '"eu" in endpoint.regions',
  "it's",
  'a word',
  'x # no comment',
  'true',
  '1.00',
  '1_000',
  'a: b',
  '- no list',
  'Écris une fonction 🚆',
  'https://api.example.com/v1',
  'word '.repeat(30).trim(),
];
const KEYS = ['name', 'when', 'require', 'price', 'input', 'models', 'gpt-6.1-sol', '1.00', "it's", 'a key'];
const isPlain = (words: string): boolean => !/^[-"[{!&*%@`]|: |: ?$| #|^true$|^[\d.]+$/.test(words);

const anyScalar: fc.Arbitrary<Scalar> = fc.oneof(
  fc.record({ kind: fc.constant('number' as const), source: fc.constantFrom(...NUMBERS) }),
  fc.record({
    kind: fc.constant('words' as const),
    words: fc.constantFrom(...WORDS),
    style: fc.constantFrom(
      'plain' as const,
      'single' as const,
      'double' as const,
      'literal' as const,
      'folded' as const,
    ),
  }),
);

const { value: anyValue } = fc.letrec<{ value: Value; item: Item }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    anyScalar,
    fc.record({
      kind: fc.constantFrom('list' as const, 'map' as const),
      flow: fc.boolean(),
      items: fc.array(tie('item'), { maxLength: 4 }),
      anchor: fc.boolean(),
    }),
  ),
  item: fc.record({
    key: fc.constantFrom(...KEYS),
    value: tie('value'),
    blanks: fc.integer({ min: 1, max: 3 }),
    lines: fc.constantFrom(0, 0, 1, 3),
    above: fc.boolean(),
    behind: fc.boolean(),
    afterKey: fc.boolean(),
  }),
}));

/**
 * A policy-like file: a map of sections, in lines that end as on one system or the other, with or without a mark.
 * Comments are everywhere, but `{ }` and `[ ]` have some inside only where that is asked for.
 */
export const anyWritten = (inBrackets: boolean): fc.Arbitrary<Written> =>
  fc
    .record({
      sections: fc.array(
        anyValue.chain((value) =>
          fc.record({ value: fc.constant(value), afterKey: fc.boolean(), above: fc.boolean() }),
        ),
        { minLength: 1, maxLength: 4 },
      ),
      indent: fc.integer({ min: 1, max: 4 }),
      isCrlf: fc.boolean(),
      hasMark: fc.boolean(),
      last: fc.boolean(),
    })
    .map(({ sections, indent, isCrlf, hasMark, last }) => {
      const items = sections.map((section, i) => ({
        ...section,
        key: `section-${i}`,
        blanks: 1 + (i % 3),
        lines: i % 2,
        behind: !section.above,
      }));
      const pen = new Pen(indent, inBrackets);
      pen.block({ kind: 'map', flow: false, items, anchor: false }, 0);
      if (last) pen.line(0, pen.comment());
      const text = `${hasMark ? '\uFEFF' : ''}${pen.lines.join('\n')}\n`;
      return {
        text: isCrlf ? text.replaceAll('\n', '\r\n') : text,
        data: expected({ kind: 'map', flow: false, items, anchor: false }),
        comments: pen.comments,
      };
    });

/** What a value holds; of a number its source, for prices are read from that. */
function expected(value: Value): unknown {
  if (value.kind === 'number') return { number: value.source };
  if (value.kind === 'words') return value.words;
  if (value.kind === 'list') return value.items.map((item) => expected(item.value));
  return distinct(value.items).map(({ key, value: inner }) => [key, expected(inner)]);
}

const distinct = (items: readonly Item[]): Item[] =>
  items.filter(({ key }, at) => items.findIndex((other) => other.key === key) === at);

const quotedKey = (key: string): string => (isPlain(key) && !key.includes("'") ? key : JSON.stringify(key));

/** Writes a file line by line, and remembers its comments. */
class Pen {
  readonly lines: string[] = [];
  readonly comments: string[] = [];
  #anchors = 0;
  readonly #step: number;
  readonly #inBrackets: boolean;

  constructor(step: number, inBrackets: boolean) {
    this.#step = step;
    this.#inBrackets = inBrackets;
  }

  comment(): string {
    const text = `#${this.comments.length % 2 ? '' : ' '}§${this.comments.length}: "why" [it`;
    this.comments.push(text);
    return text;
  }

  line(indent: number, text: string): void {
    this.lines.push(`${' '.repeat(indent)}${text}`);
  }

  block(value: Extract<Value, { items: unknown }>, indent: number): void {
    const items = value.kind === 'map' ? distinct(value.items) : value.items;
    for (const item of items) {
      for (let i = 0; i < item.lines; i++) this.lines.push('');
      if (item.above) this.line(indent, this.comment());
      const blanks = ' '.repeat(item.blanks);
      const head = value.kind === 'map' ? `${quotedKey(item.key)}:` : '-';
      this.#item(item, head, blanks, indent);
    }
  }

  #item({ value, behind, afterKey }: Item, head: string, blanks: string, indent: number): void {
    if (value.kind === 'number' || value.kind === 'words') {
      if (value.kind === 'words' && (value.style === 'literal' || value.style === 'folded')) {
        this.line(indent, `${head}${blanks}${value.style === 'literal' ? '|-' : '>-'}${this.#tail(behind, blanks)}`);
        this.line(indent + this.#step, value.words);
      } else {
        this.line(indent, `${head}${blanks}${scalarText(value, false)}${this.#tail(behind, blanks)}`);
      }
      return;
    }
    const anchor = value.anchor ? `${blanks}&a${this.#anchors++}` : '';
    if (value.items.length > 0 && !value.flow) {
      this.line(indent, `${head}${anchor}${this.#tail(afterKey, blanks)}`);
      this.block(value, indent + this.#step);
    } else {
      this.#flow(value, `${head}${anchor}${blanks}`, indent);
      this.#add(this.#tail(behind, blanks));
    }
  }

  #tail(isSaid: boolean, blanks: string): string {
    return isSaid ? `${blanks}${this.comment()}` : blanks.slice(1);
  }

  /** To the last line. */
  #add(text: string): void {
    this.lines.push(`${this.lines.pop()}${text}`);
  }

  /** In one line, or where there are comments in several. */
  #flow(value: Extract<Value, { items: unknown }>, head: string, indent: number): void {
    const step = this.#step;
    const items = value.kind === 'map' ? distinct(value.items) : value.items;
    const [open, close] = value.kind === 'map' ? ['{', '}'] : ['[', ']'];
    this.line(indent, `${head}${open}`);
    for (const [i, item] of items.entries()) {
      const key = value.kind === 'map' ? `${quotedKey(item.key)}: ` : '';
      const isAbove = item.above && this.#inBrackets;
      if (isAbove) this.line(indent + step, this.comment());
      const last = this.lines.at(-1) ?? '';
      const isBelow = isAbove || last.includes('§');
      if (item.value.kind === 'number' || item.value.kind === 'words') {
        const text = `${key}${scalarText(item.value, true)}`;
        if (isBelow) this.line(indent + step, text);
        else this.#add(`${' '.repeat(item.blanks - 1)}${text}`);
      } else {
        this.#flow(item.value, key, indent + step);
      }
      if (i < items.length - 1) this.#add(',');
      if (item.behind && this.#inBrackets) this.#add(` ${this.comment()}`);
    }
    if (this.lines.at(-1)?.includes('§')) this.line(indent + step, close);
    else this.#add(`${' '.repeat(items.length % 2)}${close}`);
  }
}

function scalarText(value: Scalar, isFlow: boolean): string {
  if (value.kind === 'number') return value.source;
  const { words, style } = value;
  if (style === 'double') return JSON.stringify(words);
  const isBare = style !== 'single' && isPlain(words) && !(isFlow && /[[\]{},]/.test(words));
  return isBare ? words : `'${words.replaceAll("'", "''")}'`;
}
