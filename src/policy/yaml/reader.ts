import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { linesOf } from '../../core/text/yaml-lines.ts';
import { answerTo } from '../report/courtesy.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { yamlFault } from './messages.ts';
import type { YamlReader } from './parse.ts';
import { DERAILING_SLIPS, derailsParser, SYNTAX_SLIPS, type SyntaxSlip } from './syntax-slips.ts';
import { type Entry, NESTING_MAX, type Tree } from './tree.ts';

/** Reads any YAML with the library. Loading the YAML library takes 40 ms. */
export const readYaml: YamlReader = (path, text, report) => new LibraryReader(path, text, report).read();

/** The most syntax errors reported for one file, and the most unknown tags. */
const SYNTAX_ERRORS_MAX = 5;

class LibraryReader {
  readonly #path: string;
  readonly #text: string;
  readonly #report: Report;
  readonly #lines: LineCounter;
  /** The offsets of unknown tags. */
  readonly #tags: { readonly from: number; readonly to: number }[] = [];
  /** Aliases that were already reported. Each alias is reported once, because an "alias bomb" has thousands of aliases. */
  readonly #aliases = new Set<string>();

  constructor(path: string, text: string, report: Report) {
    this.#path = path;
    this.#text = text;
    this.#report = report;
    this.#lines = linesOf(text);
  }

  read(): Tree | null {
    // `#entries` finds duplicate keys with both locations. The check of the YAML library is slower and knows only one location.
    const document = parseDocument(this.#text, {
      uniqueKeys: false,
      prettyErrors: false,
      version: '1.2',
      schema: 'core',
    });
    const derailing = answerTo(DERAILING_SLIPS, { text: this.#text, errors: document.errors });
    if (derailing) {
      this.#reportAt(derailing);
      return null;
    }
    for (const error of [...this.#primaryErrors(document.errors), ...document.warnings.slice(0, SYNTAX_ERRORS_MAX)]) {
      const slip = answerTo(SYNTAX_SLIPS, { text: this.#text, contents: document.contents, error });
      if (slip) {
        this.#reportAt(slip);
        continue;
      }
      const [from, to] = error.pos;
      const isTag = error.code === 'TAG_RESOLVE_FAILED';
      if (isTag) this.#tags.push({ from, to });
      const place = this.#place(from, to);
      const { message, hint } = yamlFault(error);
      this.#report.add(isTag ? 'yaml-feature' : 'yaml-syntax', place, message, { hint });
    }
    if (document.errors.length > 0) return null;
    return this.#tree(document.contents, this.#place(0, 0), 0);
  }

  /** Returns the errors that do not follow from other errors on their line or before it. */
  #primaryErrors(errors: readonly YAMLError[]): readonly YAMLError[] {
    const lines = new Set<number>();
    const [first] = errors;
    if (first && derailsParser(first)) return [first];
    return errors
      .filter(({ code }, at) => at === 0 || code !== 'UNEXPECTED_TOKEN')
      .filter(({ pos }) => {
        const { line } = this.#lines.linePos(pos[0]);
        return !lines.has(line) && lines.add(line);
      })
      .slice(0, SYNTAX_ERRORS_MAX);
  }

  #reportAt({ from, to, message, hint }: SyntaxSlip): void {
    this.#report.add('yaml-syntax', this.#place(from, to), message, { hint });
  }

  /** @param depth the number of maps and lists around the node */
  #tree(node: Node | null, fallback: SourceSpan, depth: number): Tree {
    if (!node) return { kind: 'scalar', value: null, source: '', place: fallback };
    const place = this.#refuseFeatures(node, node.range ? this.#placeOf(node.range[0], node.range[1]) : fallback);
    if (isCollection(node) && depth === NESTING_MAX) {
      this.#report.add('yaml-syntax', place, `maps and lists are nested deeper than ${NESTING_MAX} levels`);
      return { kind: 'scalar', value: null, source: '', place };
    }
    if (isMap(node)) return { kind: 'map', entries: this.#entries(node.items, place, depth + 1), place };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#tree(asNode(item), place, depth + 1));
      return { kind: 'list', items, place };
    }
    const value = isScalar(node) ? node.value : null;
    const source = isScalar(node) && typeof node.source === 'string' ? node.source : '';
    // A missing value has the location of its key.
    if (value === null && source === '' && !isAlias(node)) return { kind: 'scalar', value, source, place: fallback };
    return { kind: 'scalar', value: plain(value, source), source, place };
  }

  #entries(items: readonly { key: unknown; value: unknown }[], around: SourceSpan, depth: number): Entry[] {
    const first = new Map<string, SourceSpan>();
    const entries: Entry[] = [];
    for (const item of items) {
      const keyNode = asNode(item.key);
      const place = keyNode?.range ? this.#place(keyNode.range[0], keyNode.range[1]) : around;
      if (!isScalar(keyNode) || keyNode.value === null) {
        this.#report.add('bad-name', place, 'a key must be a plain name, not a list or map');
        continue;
      }
      const key = typeof keyNode.value === 'string' ? keyNode.value : String(keyNode.source ?? keyNode.value);
      if (key === '<<') {
        this.#report.add('yaml-feature', place, '`<<` merges another map, which policies do not support', {
          hint: 'write the keys of that map here',
        });
        continue;
      }
      if (!this.#report.isFirst(key, place, first, key, repeatedHint(key, item.value))) continue;
      entries.push({ key, place, value: this.#tree(asNode(item.value), place, depth) });
    }
    return entries;
  }

  /**
   * Reports an alias or anchor. `#refuseFeatures` returns the location of the node; for an anchor the location of the anchor, so that no
   * other problem is reported at that location.
   */
  #refuseFeatures(node: Node, place: SourceSpan): SourceSpan {
    if (isAlias(node)) {
      const hint = 'write the value itself here';
      const message = `\`*${node.source}\` is an alias, which policies do not support`;
      if (!this.#aliases.has(node.source)) this.#report.add('yaml-feature', place, message, { hint });
      this.#aliases.add(node.source);
      return place;
    }
    if (!(isCollection(node) || isScalar(node)) || node.anchor === undefined) return place;
    const written = `&${node.anchor}`;
    const from = this.#text.lastIndexOf(written, node.range?.[0]);
    const ofAnchor = from < 0 ? place : this.#place(from, from + written.length);
    const hint = `remove \`${written}\`, and write the value again in place of each \`*${node.anchor}\``;
    this.#report.add('yaml-feature', ofAnchor, `\`${written}\` is an anchor, which policies do not support`, { hint });
    return ofAnchor;
  }

  /** Returns the location of a value, or of its unsupported tag, so that nothing but the tag is reported. */
  #placeOf(from: number, to: number): SourceSpan {
    const tag = this.#tags.find((one) => one.to <= from && this.#text.slice(one.to, from).trim() === '');
    return tag ? this.#place(tag.from, tag.to) : this.#place(from, to);
  }

  #place(from: number, to: number): SourceSpan {
    const { line, col: column } = this.#lines.linePos(Math.min(from, this.#text.length));
    const end = this.#text.indexOf('\n', from);
    const last = Math.min(to, end < 0 ? this.#text.length : end);
    return { file: this.#path, line, column, length: Math.max(1, last - from) };
  }
}

/** A second `name` in one item of a list is usually the name of the next item, whose dash is missing. */
const repeatedHint = (key: string, value: unknown): string | undefined =>
  key === 'name' && isScalar(value)
    ? `to begin another item, put a dash before it: \`- name: ${value.source}\``
    : undefined;

const asNode = (value: unknown): Node | null => (isNode(value) ? value : null);

function plain(value: unknown, source: string): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return value;
  return source;
}
