import { type ASTNode, pathOf, type TextRange } from './ast.ts';
import { type CelKind, FIELDS, LIST_ENTRIES_MAX, METADATA_MAX, TEXT_MAX, VARIABLES } from './types.ts';

/** The most steps of one expression. With the largest request, an expression of this many steps takes less than 5 ms. */
export const EXPRESSION_STEPS_MAX = 100_000;

/** Steps of each iteration of a loop, without its body. */
const ITERATION_STEPS = 4;
/** Steps of a part that can fail. `||`, `all` and `exists` continue after a failure, so failures cost time. */
const FAILURE_STEPS = 400;
/** Steps of a function call. */
const FUNCTION_STEPS = 5;
/** Steps of a function for each `TEXT_MAX` characters that it reads. */
const READ_STEPS = 20;
/** Functions that search a text for their first argument. In the worst case such a search takes quadratic time. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf', 'split']);
/** A search for an argument of this many characters costs as much as reading the searched text once. */
const SEARCHED_AT_ONCE = 4;
/** Joining two lists copies this many entries in the time of a step. */
const COPIED_AT_ONCE = 8;
/** Steps of a function that reads a time zone or a duration. */
const TIME_STEPS = 800;
/** The most characters of a duration. Parsing a duration takes cubic time. */
const DURATION_MAX = 32;
/** The most characters of a name, such as the name of a programming language. */
const NAME_MAX = 256;

const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** Functions that never fail on a value of the right type. */
const NEVER_FAIL: ReadonlySet<string> = new Set(
  'size startsWith endsWith contains lowerAscii upperAscii trim split join string type'.split(' '),
);

/** The most steps of a part of an expression, and the largest value that it can have. */
interface PartSize {
  /** The evaluated parts of an expression. */
  readonly steps: number;
  /** The entries of a list or map, entries of inner lists included; 1 for other values. */
  readonly entries: number;
  /** The entries of each entry of a list or map, counted in the same way. */
  readonly inner: number;
  /** Characters of the longest text in the value, in units of `TEXT_MAX`. */
  readonly texts: number;
}

/** Sizes of the names that loops and `cel.bind` define. */
type NamedSizes = ReadonlyMap<string, PartSize>;

const PLAIN: PartSize = { steps: 1, entries: 1, inner: 1, texts: 0 };

/**
 * Returns the smallest part of a type-checked expression that takes more than `EXPRESSION_STEPS_MAX` steps, or null. Every part of an
 * expression is a step. The body of a loop counts once for each entry of its list. Lists in a request count with their maximum length.
 */
export function costlyPart(ast: ASTNode, kind: CelKind): TextRange | null {
  const counter = new StepCounter(kind);
  counter.part(ast, new Map());
  return counter.costly;
}

class StepCounter {
  readonly #kind: CelKind;
  costly: TextRange | null = null;

  constructor(kind: CelKind) {
    this.#kind = kind;
  }

  part(node: ASTNode, names: NamedSizes): PartSize {
    const size = this.#sizeOf(node, names);
    // The loop visits inner parts first, so the first costly part is the smallest.
    if (size.steps > EXPRESSION_STEPS_MAX) this.costly ??= node;
    return size;
  }

  #sizeOf(node: ASTNode, names: NamedSizes): PartSize {
    const path = pathOf(node) ?? [];
    if (path[0] !== undefined && !names.has(path[0])) return fieldSize(this.#kind, path);
    switch (node.op) {
      case 'value':
        return { ...PLAIN, texts: typeof node.args === 'string' ? node.args.length / TEXT_MAX : 0 };
      case 'id':
        return { ...(names.get(node.args) ?? PLAIN), steps: 1 };
      case '.':
      case '.?':
        return this.#entry(node.args[0], PLAIN, names);
      case '[]':
      case '[?]':
        return this.#entry(node.args[0], this.part(node.args[1], names), names);
      case '!_':
      case '-_':
        return this.#either([node.args], names);
      case '?:':
        return this.#either(node.args, names);
      case 'list':
        return this.#list(node.args, names);
      case 'map':
        return this.#list(node.args.flat(), names);
      case 'call':
        return this.#function(node.args[0], node.args[1], names);
      case 'rcall':
        return this.#receiver(node.args, names);
      default: {
        const [left, right] = node.args;
        return operatorSize(node.op, this.part(left, names), this.part(right, names));
      }
    }
  }

  /** Sizes a field of a value, or an entry of a list or map. */
  #entry(owner: ASTNode, index: PartSize, names: NamedSizes): PartSize {
    const { steps, inner, texts } = this.part(owner, names);
    // A missing key of labels and metadata reads as the empty text, so the access cannot fail.
    const canFail = typeAt(this.#kind, pathOf(owner) ?? []) !== 'map<string, string>';
    return { steps: steps + index.steps + (canFail ? FAILURE_STEPS : 0), entries: inner, inner, texts };
  }

  /** Sizes one of several values, all of which may be evaluated. */
  #either(nodes: readonly ASTNode[], names: NamedSizes): PartSize {
    return nodes.map((node) => this.part(node, names)).reduce(larger, PLAIN);
  }

  #list(nodes: readonly ASTNode[], names: NamedSizes): PartSize {
    const parts = nodes.map((node) => this.part(node, names));
    const { steps, entries: inner, texts } = parts.reduce(larger, PLAIN);
    return { steps, entries: parts.reduce((total, { entries }) => total + entries, 0), inner, texts };
  }

  #receiver([name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]], names: NamedSizes): PartSize {
    const [bound, ...body] = args;
    if (bound?.op === 'id' && body.length > 0) {
      if (name === 'bind') return this.#binding(bound.args, body, names);
      if (LOOPS.has(name)) return this.#loop(name, receiver, bound.args, body, names);
    }
    return this.#function(name, [receiver, ...args], names);
  }

  /** Sizes `cel.bind(name, value, expression)`. */
  #binding(name: string, [value, ...body]: readonly ASTNode[], names: NamedSizes): PartSize {
    const size = value ? this.part(value, names) : PLAIN;
    const result = this.#either(body, new Map(names).set(name, size));
    return { ...result, steps: size.steps + result.steps };
  }

  #loop(name: string, list: ASTNode, item: string, body: readonly ASTNode[], names: NamedSizes): PartSize {
    const over = this.part(list, names);
    const { inner } = over;
    const result = this.#either(body, new Map(names).set(item, { ...over, entries: inner }));
    const steps = over.steps + over.entries * (ITERATION_STEPS + result.steps);
    if (name === 'filter') return { ...over, steps };
    if (name !== 'map') return { ...PLAIN, steps };
    return { steps, entries: over.entries * result.entries, inner: result.entries, texts: result.texts };
  }

  #function(name: string, operands: readonly ASTNode[], names: NamedSizes): PartSize {
    const [first = PLAIN, ...others] = operands.map((one) => this.part(one, names));
    const argument = others.reduce(sum, PLAIN);
    const copies = name === 'join' ? first.entries : 1;
    const passes = SEARCHES.has(name) ? Math.max(1, (argument.texts * TEXT_MAX) / SEARCHED_AT_ONCE) : 1;
    const texts = (first.texts + argument.texts) * copies;
    const read = (first.texts * passes + argument.texts) * copies * READ_STEPS;
    const steps = first.steps + argument.steps + FUNCTION_STEPS + timeSteps(name, operands) + read;
    if (name === 'split') {
      const entries = first.texts * TEXT_MAX + 1;
      return { steps: steps + entries, entries, inner: 1, texts: first.texts };
    }
    if (NEVER_FAIL.has(name)) return { ...PLAIN, steps, texts };
    // `json` makes nested lists, and a character of its text can become three characters, as in `bytes`.
    const entries = name === 'json' ? first.texts * TEXT_MAX : 1;
    return { steps: steps + entries + FAILURE_STEPS, entries, inner: entries, texts: 3 * texts + 1 };
  }
}

const sum = (a: PartSize, b: PartSize): PartSize => ({
  steps: a.steps + b.steps,
  entries: a.entries + b.entries,
  inner: Math.max(a.inner, b.inner),
  texts: a.texts + b.texts,
});

/** Adds the steps of both parts, and keeps the larger value. */
const larger = (a: PartSize, b: PartSize): PartSize => ({
  steps: a.steps + b.steps,
  entries: Math.max(a.entries, b.entries),
  inner: Math.max(a.inner, b.inner),
  texts: Math.max(a.texts, b.texts),
});

function operatorSize(sign: string, a: PartSize, b: PartSize): PartSize {
  const both = sum(sum(a, b), PLAIN);
  if (sign === '&&' || sign === '||') return { ...PLAIN, steps: both.steps };
  if ('+-*/%'.includes(sign)) {
    // Joining two texts never fails. Whole numbers can overflow, or be divided by 0.
    const canFail = sign !== '+' || a.texts === 0 || b.texts === 0;
    const copying = both.entries / COPIED_AT_ONCE;
    return { ...both, steps: both.steps + copying + (canFail ? FAILURE_STEPS : 0) };
  }
  const read = sign === 'in' ? b.entries : Math.min(a.entries, b.entries);
  return { ...PLAIN, steps: both.steps + read * (1 + Math.min(a.texts, b.texts)) };
}

/** Returns the steps of a time function, without its operands. */
function timeSteps(name: string, [text, zone]: readonly ASTNode[]): number {
  if (/^get[A-Z]/.test(name)) return zone ? TIME_STEPS : 0;
  if (name !== 'duration') return 0;
  const isShort = text?.op === 'value' && typeof text.args === 'string' && text.args.length <= DURATION_MAX;
  return isShort ? TIME_STEPS : EXPRESSION_STEPS_MAX;
}

/** Returns the type of a field such as `request.user`. */
function typeAt(kind: CelKind, [name = '', field = '', ...more]: readonly string[]): string {
  const type = VARIABLES[kind][name];
  if (type === 'Guards' && field === '') return 'map';
  const fields: Readonly<Record<string, readonly [string, string]>> = type ? FIELDS[type] : {};
  return more.length === 0 ? (fields[field]?.[0] ?? '') : '';
}

/** Fields whose texts callers write. All texts that callers do not write are names. */
const WRITTEN = /^(?:request\.user|request\.metadata|request\.headers|claims)\b/;

/** Sizes a value of the request, key, model or claims, read by its path. */
function fieldSize(kind: CelKind, path: readonly string[]): PartSize {
  const texts = (WRITTEN.test(path.join('.')) ? TEXT_MAX : NAME_MAX) / TEXT_MAX;
  const [steps, entries] = [path.length, LIST_ENTRIES_MAX];
  if (kind === 'claims') return { steps: steps + FAILURE_STEPS, entries, inner: entries, texts };
  const type = typeAt(kind, path);
  if (type.startsWith('list')) return { steps, entries, inner: 1, texts };
  return { steps, entries: type.startsWith('map') ? METADATA_MAX : 1, inner: 1, texts };
}
