import type { Tree } from '../yaml/tree.ts';

/** The most characters of a value that a hint repeats. */
const VALUE_LENGTH_MAX = 160;

/** Texts that YAML reads as the same text without quotes, also within braces. */
const PLAIN = /^(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z_][\w.-]*$/i;

const KEY = /^[\w./@-]+$/;

/** Writes a value on one line, as a policy would state it; `…` for no value and for a long value. */
export function writtenValue(tree: Tree | undefined): string {
  const text = tree === undefined ? '…' : inline(tree);
  return text.length > VALUE_LENGTH_MAX ? '…' : text;
}

function inline(tree: Tree): string {
  if (tree.kind === 'list') return `[${tree.items.map(inline).join(', ')}]`;
  if (tree.kind === 'map') {
    const entries = tree.entries.map(
      ({ key, value }) => `${KEY.test(key) ? key : JSON.stringify(key)}: ${inline(value)}`,
    );
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  if (tree.value === null) return '…';
  return typeof tree.value === 'string' ? writtenText(tree.source) : tree.source;
}

/** Writes a text with quotes where YAML needs them. */
const writtenText = (text: string): string => (PLAIN.test(text) ? text : JSON.stringify(text));

/** Replaces placeholders such as `{value}` in the text of a hint. */
export const filled = (template: string, parts: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{(\w+)\}/g, (placeholder, name) => parts[name] ?? placeholder);
