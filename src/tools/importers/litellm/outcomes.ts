import { type ConfigNode, isEmpty, leavesOf, nodesOf, type SourcePosition, valueAt } from './tree.ts';

/** The outcome of a key, from best to worst: the same meaning, a similar meaning, or none. */
export const OUTCOMES = ['mapped', 'approximated', 'left_out'] as const;
type ImportOutcome = (typeof OUTCOMES)[number];

/** A path in the policy, such as `['models', 'gpt-4o', 'price']`. */
type PolicyPath = readonly string[];

/** A path that may contain names that are assigned later. */
export type LazyPath = PolicyPath | (() => PolicyPath);

/** The outcome of a key of the configuration. */
export interface KeyOutcome extends SourcePosition {
  readonly path: string;
  /** The path of the node for which the outcome was recorded: the key itself, or a list or map that contains it. */
  readonly within: string;
  readonly outcome: ImportOutcome;
  /** Null if the key is left out. */
  readonly to: PolicyPath | null;
  /** The difference, or the reason and an alternative; empty if there is nothing to say. */
  readonly note: string;
}

interface RecordedOutcome extends Omit<KeyOutcome, 'to'> {
  readonly to: LazyPath | null;
  /** Whether the outcome was recorded for a list or map that contains the key. */
  readonly isOfAll: boolean;
}

/** A mistake that LiteLLM would reject or misread. */
export interface ImportProblem extends SourcePosition {
  readonly path: string;
  readonly message: string;
}

/**
 * Records the outcome of every key. The outcome of a list or map applies to all nodes in it that have no outcome. If several entries share
 * a node, the worst outcome counts.
 */
export class OutcomeRecorder {
  readonly #outcomes = new Map<ConfigNode, RecordedOutcome>();
  readonly #problems = new Map<ConfigNode, ImportProblem>();

  mapped(node: ConfigNode | undefined, to: LazyPath, note = ''): void {
    if (node) this.#tell(node, 'mapped', to, note);
  }

  approximated(node: ConfigNode | undefined, to: LazyPath, note: string): void {
    if (node) this.#tell(node, 'approximated', to, note);
  }

  /** @returns null, so that callers can return it instead of a value */
  leftOut(node: ConfigNode | undefined, note: string): null {
    if (node) this.#tell(node, 'left_out', null, note);
    return null;
  }

  /** Records that the named keys of a map are left out. */
  keysLeftOut(owner: ConfigNode, keys: readonly string[], note: string): void {
    for (const key of keys) this.leftOut(valueAt(owner, key), note);
  }

  /** Leaves out the keys of a map for which `reasonOf` returns a reason. */
  leaveRest({ entries }: ConfigNode, reasonOf: (key: string, node: ConfigNode) => string | undefined): void {
    for (const [key, node] of entries) {
      const note = reasonOf(key, node);
      if (note !== undefined) this.leftOut(node, note);
    }
  }

  /** Reports a value that cannot be read, and leaves it out. @returns null, so that callers can return it instead of a value */
  problem(node: ConfigNode, message: string): null {
    this.remark(node, message);
    return this.leftOut(node, `not read: ${message}`);
  }

  /** Reports a mistake in a value that is used anyway. */
  remark(node: ConfigNode, message: string): void {
    const { line, column, included, path } = node;
    if (!this.#problems.has(node)) this.#problems.set(node, { line, column, included, path, message });
  }

  has(node: ConfigNode): boolean {
    return this.#outcomes.has(node);
  }

  #tell(node: ConfigNode, outcome: ImportOutcome, to: LazyPath | null, note: string): void {
    for (const leaf of leavesOf(node)) {
      const before = this.#outcomes.get(leaf);
      const isOfAll = leaf !== node;
      const isWorse = before !== undefined && OUTCOMES.indexOf(outcome) > OUTCOMES.indexOf(before.outcome);
      if (before && (isOfAll || !(before.isOfAll || isWorse))) continue;
      const { path, line, column, included } = leaf;
      const within = isOfAll ? node.path : path;
      this.#outcomes.set(leaf, { path, within, line, column, included, outcome, to, note, isOfAll });
    }
  }

  /** The outcome of every key, in the order of the configuration. */
  all(root: ConfigNode): KeyOutcome[] {
    for (const { replaced } of nodesOf(root)) {
      for (const node of replaced) if (!this.has(node)) this.leftOut(node, 'a later key of the same name replaces it');
    }
    for (const leaf of leavesOf(root)) {
      if (!this.has(leaf)) this.leftOut(leaf, isEmpty(leaf) ? 'it is empty' : 'this importer does not know this key');
    }
    return leavesOf(root)
      .flatMap((leaf) => this.#outcomes.get(leaf) ?? [])
      .map(({ isOfAll, to, ...outcome }) => ({ ...outcome, to: typeof to === 'function' ? to() : to }))
      .sort(byPosition);
  }

  problems(): ImportProblem[] {
    return [...this.#problems.values()].sort(byPosition);
  }
}

/** Sorts the configuration first, then its includes by name. */
function byPosition(a: SourcePosition, b: SourcePosition): number {
  const [fileA, fileB] = [a.included ?? '', b.included ?? ''];
  if (fileA !== fileB) return fileA < fileB ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
