import { SECRET_SHAPES } from '../../core/secret-shapes.ts';
import type { Account } from './account.ts';
import type { KnownModel } from './catalog.ts';
import type { MapNode, Node } from './tree.ts';

/** What every part of an import works with. */
export interface Context {
  readonly account: Account;
  readonly catalog: readonly KnownModel[];
  /** LiteLLM's own map of prices, where it was given: name → its entry. */
  readonly priceMap: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly credentials: ReadonlyMap<string, MapNode>;
  /** The day, `2026-11-20`. */
  readonly today: string;
  readonly todo: Todo;
}

const REFERENCE = /^os\.environ\/(.*)$/;
const VARIABLE = /^[A-Za-z_][\w.-]*$/;

/** The variable that a text refers to; empty where what stands there is no name, but perhaps a key; null for no reference. */
export function referenceIn(text: string): string | null {
  const [, name] = REFERENCE.exec(text) ?? [];
  if (name === undefined) return null;
  return VARIABLE.test(name) && !looksSecret(name) ? name : '';
}

/** No value of a configuration: it stands for what the environment has. */
const REFERRED = 'os.environ/';

/** What is left to the operator. */
export class Todo {
  /** Models whose price nobody told. */
  readonly prices = new Set<string>();
  /** Model → what was assumed of it. */
  readonly assumed = new Map<string, string[]>();
  /** Variable → what is to be in it. */
  readonly variables = new Map<string, string>();
  /** Variable → what the configuration has in its place: the reference to it, or a value, which goes nowhere else. */
  readonly #values = new Map<string, string>();
  /** Wanted name → value → the variable that was made of them. */
  readonly #invented = new Map<string, Map<string, string>>();

  /** `referred` are the variables that the configuration itself names. */
  constructor(referred: Iterable<string>) {
    for (const name of referred) this.#values.set(name, REFERRED);
  }

  /** A variable for a value that is not copied, called `wanted` unless another value has that: one key must not go to two places. */
  invent(wanted: string, value: string): string {
    const invented = this.#invented.get(wanted) ?? new Map<string, string>();
    this.#invented.set(wanted, invented);
    const before = invented.get(value);
    if (before !== undefined) return before;
    // As many numbers as were given are taken for sure.
    for (let n = invented.size + 1; ; n++) {
      const name = n === 1 ? wanted : `${wanted}_${n}`;
      const held = this.#values.get(name) ?? value;
      if (held !== value) continue;
      this.#values.set(name, value);
      invented.set(value, name);
      return name;
    }
  }

  /** Says what is to be in a variable; one may be of use for several things. */
  need(name: string, what: string): void {
    const before = this.variables.get(name);
    if (!before?.split('; ').includes(what)) this.variables.set(name, before ? `${before}; ${what}` : what);
  }

  /** Says that `name` is read where the configuration has no key: what it names itself. */
  refer(name: string): void {
    if (!this.#values.has(name)) this.#values.set(name, REFERRED);
  }

  assume(model: string, what: string): void {
    this.assumed.set(model, [...(this.assumed.get(model) ?? []), what]);
  }
}

/** What policies may call a model or a selector. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,119}$/;
const SECRET = new RegExp(SECRET_SHAPES);

export const isName = (text: string): boolean => NAME.test(text) && !SECRET.test(text);
export const looksSecret = (text: string): boolean => SECRET.test(text);

/** A text that is not empty; null for anything else. */
export const textOf = (node: Node | undefined): string | null =>
  node?.kind === 'scalar' && node.text !== '' ? node.text : null;

/** The texts of a list, or of one text. */
export const textsOf = (node: Node | undefined): string[] => {
  const items = node?.kind === 'list' ? node.items : node ? [node] : [];
  return items.flatMap((item) => textOf(item) ?? []);
};

/** The map that a section must be; null where it is left out, or is another thing, which is a problem. */
export function mapOf(node: Node | undefined, account: Account, expected: string): MapNode | null {
  if (!node || (node.kind === 'scalar' && node.text === '')) return null;
  if (node.kind === 'map') return node;
  account.problem(node, `it must be ${expected}`);
  return null;
}

export const CAPITALS = /^[A-Z_][A-Z0-9_]*$/;

/** A text in the form of a variable's name: one with a digit first is the address of a server. */
export const asVariable = (text: string): string =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .replace(/^(?=\d)/, 'SERVER_') || 'PROVIDER';

/** A text in the form of a name. */
export const asName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
