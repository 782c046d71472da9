import type { OutcomeRecorder } from './outcomes.ts';
import { type ConfigNode, isEmpty, NotYaml, readTree, scalarText, valueAt } from './tree.ts';

/**
 * Reads an included file by its name in the configuration.
 * @throws NotIncluded
 */
export type IncludeReader = (name: string) => string;

/** An included file could not be read. The message is part of a sentence. */
export class NotIncluded extends Error {
  override readonly name = 'NotIncluded';
}

/** The most included files. The limit stops a file that keeps including itself under new names. */
const FILES_MAX = 100;

/**
 * Joins a configuration with its includes as LiteLLM does: lists are appended, and for any other key the later file wins. Names in an
 * included file are relative to the same folder.
 */
export function withIncludes(root: ConfigNode, include: IncludeReader, outcomes: OutcomeRecorder): ConfigNode {
  const read = new Set<string>();
  let whole = root;
  for (let at = 0; ; at++) {
    const list = valueAt(whole, 'include');
    if (!list || isEmpty(list)) return whole;
    if (list.kind !== 'list') {
      outcomes.problem(list, 'it must be a list of names of files');
      return whole;
    }
    const item = list.items[at];
    if (!item) return whole;
    const name = scalarText(item);
    if (name === null) outcomes.problem(item, 'this must be the name of a file');
    else if (read.has(name)) outcomes.leftOut(item, 'this file was read already');
    else if (read.size >= FILES_MAX) outcomes.problem(item, `no more than ${FILES_MAX} files are read`);
    else {
      read.add(name);
      whole = merge(whole, partOf(name, item, include, outcomes));
    }
  }
}

function partOf(name: string, item: ConfigNode, include: IncludeReader, outcomes: OutcomeRecorder): ConfigNode | null {
  try {
    const part = readTree(include(name), name);
    outcomes.mapped(item, [], 'read, too; the report shows its keys with the name of this file');
    return part;
  } catch (cause) {
    if (cause instanceof NotIncluded) outcomes.problem(item, cause.message);
    else if (cause instanceof NotYaml) outcomes.problem(item, `${cause.message} (line ${cause.where.line})`);
    else throw cause;
    return null;
  }
}

function merge(whole: ConfigNode, part: ConfigNode | null): ConfigNode {
  if (part?.kind !== 'map') return whole;
  const entries = new Map(whole.entries);
  const replaced = [...whole.replaced, ...part.replaced];
  for (const [key, node] of part.entries) {
    const before = entries.get(key);
    const isLonger = before?.kind === 'list' && node.kind === 'list';
    if (before && !isLonger) replaced.push(before);
    entries.set(key, isLonger ? { ...before, items: [...before.items, ...node.items] } : node);
  }
  return { ...whole, entries, replaced };
}
