import type { Account } from './account.ts';
import { textOf } from './context.ts';
import { isNothing, type MapNode, type Node, NotYaml, readTree, valueAt } from './tree.ts';

/** Gives the text of a file by the name that a configuration includes it by. Throws NotIncluded. */
export type Include = (name: string) => string;

/** Why a file that is included was not read; the message is part of a sentence. */
export class NotIncluded extends Error {
  override readonly name = 'NotIncluded';
}

/** More than anybody has; one that includes itself under ever new names ends here. */
const FILES_MAX = 100;

/**
 * A configuration with what it includes, as LiteLLM joins them: lists grow, and any other key of a later file replaces that of
 * an earlier one. What an included file includes is looked for in the same folder. Throws NotYaml.
 */
export function withIncludes(root: Node, include: Include, account: Account): Node {
  if (root.kind !== 'map') return root;
  const read = new Set<string>();
  let whole = root;
  for (let at = 0; ; at++) {
    const list = valueAt(whole, 'include');
    if (!list || isNothing(list)) return whole;
    if (list.kind !== 'list') {
      account.problem(list, 'it must be a list of names of files');
      return whole;
    }
    const item = list.items[at];
    if (!item) return whole;
    const name = textOf(item);
    if (name === null) account.problem(item, 'the name of a file must stand here');
    else if (read.has(name)) account.leftOut(item, 'this file is read already');
    else if (read.size >= FILES_MAX) account.problem(item, `no more than ${FILES_MAX} files are read`);
    else {
      read.add(name);
      whole = joined(whole, partOf(name, item, include, account));
    }
  }
}

function partOf(name: string, item: Node, include: Include, account: Account): Node | null {
  try {
    const part = readTree(include(name), name);
    account.mapped(item, [], 'read as well: its keys are told with its name before their places');
    return part;
  } catch (cause) {
    if (cause instanceof NotIncluded) account.problem(item, cause.message);
    else if (cause instanceof NotYaml) account.problem(item, `${cause.message} (line ${cause.where.line})`);
    else throw cause;
    return null;
  }
}

function joined(whole: MapNode, part: Node | null): MapNode {
  if (part?.kind !== 'map') return whole;
  const entries = new Map(whole.entries.map(({ key, node }) => [key, node]));
  const replaced = [...whole.replaced, ...part.replaced];
  for (const { key, node } of part.entries) {
    const before = entries.get(key);
    const isLonger = before?.kind === 'list' && node.kind === 'list';
    if (before && !isLonger) replaced.push(before);
    entries.set(key, isLonger ? { ...before, items: [...before.items, ...node.items] } : node);
  }
  return { ...whole, entries: [...entries].map(([key, node]) => ({ key, node })), replaced };
}
