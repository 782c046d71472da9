import { isNothing, leavesOf, mapsOf, type Node, type Where } from './tree.ts';

/** What became of a key: it means the same now; nearly the same; nothing. From best to worst. */
export const OUTCOMES = ['mapped', 'approximated', 'left_out'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A key of the policy, from its section down: `['models', 'gpt-4o', 'price']`. */
export type Target = readonly string[];

/** A target whose names are settled later. */
export type To = Target | (() => Target);

/** What became of one key of the configuration. */
export interface Told extends Where {
  readonly path: string;
  /** The path of what was told of: of itself, or of a list or map that it is in. */
  readonly within: string;
  readonly outcome: Outcome;
  /** Null for what is left out. */
  readonly to: Target | null;
  /** How it differs, or why it is left out and what to do instead; empty where there is nothing to say. */
  readonly note: string;
}

interface Noted extends Omit<Told, 'to'> {
  readonly to: To | null;
  /** Said of a list or map that it is in, and not of itself. */
  readonly isOfAll: boolean;
}

/** Something that LiteLLM would not take either, or not as it was meant. */
export interface Problem extends Where {
  readonly path: string;
  readonly message: string;
}

/**
 * What becomes of every key. A list or map stands for all in it that nothing was said of yet. Of a value that several
 * entries share, the worst outcome counts.
 */
export class Account {
  readonly #told = new Map<Node, Noted>();
  readonly #problems = new Map<Node, Problem>();

  mapped(node: Node | undefined, to: To, note = ''): void {
    if (node) this.#tell(node, 'mapped', to, note);
  }

  approximated(node: Node | undefined, to: To, note: string): void {
    if (node) this.#tell(node, 'approximated', to, note);
  }

  leftOut(node: Node | undefined, note: string): void {
    if (node) this.#tell(node, 'left_out', null, note);
  }

  /** What could not be read; it is left out. */
  problem(node: Node, message: string): void {
    this.remark(node, message);
    this.#tell(node, 'left_out', null, `not read: ${message}`);
  }

  /** Something is wrong about a value that is used all the same. */
  remark(node: Node, message: string): void {
    const { line, column, included, path } = node;
    if (!this.#problems.has(node)) this.#problems.set(node, { line, column, included, path, message });
  }

  isTold(node: Node): boolean {
    return this.#told.has(node);
  }

  #tell(node: Node, outcome: Outcome, to: To | null, note: string): void {
    for (const leaf of leavesOf(node)) {
      const before = this.#told.get(leaf);
      const isOfAll = leaf !== node;
      const isWorse = before !== undefined && OUTCOMES.indexOf(outcome) > OUTCOMES.indexOf(before.outcome);
      if (before && (isOfAll || !(before.isOfAll || isWorse))) continue;
      const { path, line, column, included } = leaf;
      const within = isOfAll ? node.path : path;
      this.#told.set(leaf, { path, within, line, column, included, outcome, to, note, isOfAll });
    }
  }

  /** Every key of the configuration in its order. */
  all(root: Node): Told[] {
    for (const map of mapsOf(root)) {
      for (const node of map.replaced)
        if (!this.isTold(node)) this.leftOut(node, 'another key of this name replaces it');
    }
    for (const leaf of leavesOf(root)) {
      if (!this.isTold(leaf)) this.leftOut(leaf, isNothing(leaf) ? 'it is empty' : 'this importer does not know it');
    }
    return leavesOf(root)
      .flatMap((leaf) => this.#told.get(leaf) ?? [])
      .map(({ isOfAll, to, ...told }) => ({ ...told, to: typeof to === 'function' ? to() : to }))
      .sort(byPlace);
  }

  problems(): Problem[] {
    return [...this.#problems.values()].sort(byPlace);
  }
}

/** The configuration first, then what it includes, file by file. */
function byPlace(a: Where, b: Where): number {
  const [fileA, fileB] = [a.included ?? '', b.included ?? ''];
  if (fileA !== fileB) return fileA < fileB ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
