import { SECRET_SHAPES } from '../../../core/text/secret-shapes.ts';
import type { CatalogModel, PublicFacts } from './catalog.ts';
import type { OutcomeRecorder } from './outcomes.ts';
import { type ConfigNode, isEmpty, NO_MAP, scalarText } from './tree.ts';

/** The state that all parts of an import share. */
export interface ImportContext {
  readonly outcomes: OutcomeRecorder;
  readonly catalog: readonly CatalogModel[];
  /** Public models, for facts that the shipped policy does not have. */
  readonly facts: PublicFacts;
  /** LiteLLM's own price map, parsed, by model name; empty without one. */
  readonly priceMap: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly credentials: ReadonlyMap<string, ConfigNode>;
  /** The current day, such as `2026-11-20`. */
  readonly today: string;
  readonly todo: OperatorTodo;
}

const REFERENCE = /^os\.environ\/(.*)$/;
const VARIABLE = /^[A-Za-z_][\w.-]*$/;

/**
 * Returns the environment variable that a text refers to; null if the text is not a reference. Returns an empty string for an invalid name,
 * because it may be a secret.
 */
export function variableReference(text: string): string | null {
  const [, name] = REFERENCE.exec(text) ?? [];
  if (name === undefined) return null;
  return VARIABLE.test(name) && !looksSecret(name) ? name : '';
}

/** Stands for the value of a variable that the configuration only refers to. The value itself is in the environment. */
const REFERENCE_VALUE = 'os.environ/';

/** The work that an import leaves for the operator. */
export class OperatorTodo {
  /** Questions that the operator must answer before a model can be served: the name in the configuration → what to state. */
  readonly questions = new Map<string, readonly string[]>();
  /** Model → the values that the import assumed. */
  readonly assumed = new Map<string, string[]>();
  /** Variable → the value to set. */
  readonly variables = new Map<string, string>();
  /** Variable → the value that it replaces. The values may be secrets, so they never leave this object. */
  readonly #values = new Map<string, string>();
  /** Wanted name → value → the variable that replaces it. */
  readonly #invented = new Map<string, Map<string, string>>();

  /** @param referred variables that the configuration refers to */
  constructor(referred: Iterable<string>) {
    for (const name of referred) this.#values.set(name, REFERENCE_VALUE);
  }

  /**
   * Returns a variable for a value that is not copied. Two values never share a variable, so that no key is sent to another provider.
   * @param wanted the name of the variable, unless another value uses it
   */
  invent(wanted: string, value: string): string {
    const invented = this.#invented.getOrInsertComputed(wanted, () => new Map());
    const before = invented.get(value);
    if (before !== undefined) return before;
    // Each earlier variable has taken at least one number, so the search starts after that count.
    for (let n = invented.size + 1; ; n++) {
      const name = n === 1 ? wanted : `${wanted}_${n}`;
      const held = this.#values.get(name) ?? value;
      if (held !== value) continue;
      this.#values.set(name, value);
      invented.set(value, name);
      return name;
    }
  }

  /** Notes that the operator must set a variable to a value. */
  need(name: string, what: string): void {
    const before = this.variables.get(name);
    if (!before?.split('; ').includes(what)) this.variables.set(name, before ? `${before}; ${what}` : what);
  }

  /** Reserves a variable that LiteLLM reads by default. */
  refer(name: string): void {
    if (!this.#values.has(name)) this.#values.set(name, REFERENCE_VALUE);
  }

  /** Notes what the operator must state before a model can be served. */
  ask(name: string, what: string): void {
    this.questions.set(name, [...new Set([...(this.questions.get(name) ?? []), what])]);
  }

  assume(model: string, what: string): void {
    this.assumed.set(model, [...(this.assumed.get(model) ?? []), what]);
  }
}

/** Names that the policy language allows. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,119}$/;
const SECRET = new RegExp(SECRET_SHAPES);

export const isName = (text: string): boolean => NAME.test(text) && !SECRET.test(text);
export const looksSecret = (text: string): boolean => SECRET.test(text);

/** Returns the texts of a list, or of one scalar. */
export const textsOf = (node: ConfigNode | undefined): string[] =>
  (node?.kind === 'list' ? node.items : [node]).flatMap((item) => scalarText(item) ?? []);

/** Returns the map of a section. If the section is absent, returns an empty map; for any other node, also reports a problem. */
export function mapOf(node: ConfigNode | undefined, outcomes: OutcomeRecorder, expected: string): ConfigNode {
  if (node?.kind === 'map') return node;
  if (node && (node.kind === 'list' || node.text !== '')) outcomes.problem(node, `it must be ${expected}`);
  return NO_MAP;
}

/** Returns the items of a list. If the list is absent, returns none; for any other node, also reports a problem. */
export function itemsOf(
  node: ConfigNode | undefined,
  outcomes: OutcomeRecorder,
  expected: string,
): readonly ConfigNode[] {
  if (node && node.kind !== 'list' && !isEmpty(node)) outcomes.problem(node, expected);
  return node?.items ?? [];
}

export const CAPITALS = /^[A-Z_][A-Z0-9_]*$/;

/** Makes a valid name of an environment variable from the name of a server. If the name is an IP address, it begins with a digit, which a variable may not. */
export const asVariable = (text: string): string =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .replace(/^(?=\d)/, 'SERVER_') || 'PROVIDER';

/** Makes a kebab-case name. */
export const asName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
