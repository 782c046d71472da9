import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Place, Report } from './diagnostics.ts';
import type { Entry, MapTree, Tree } from './tree.ts';

/** One file of a policy. */
export interface PolicyFile {
  /** As diagnostics are to name it. */
  readonly path: string;
  readonly text: string;
}

/** Most characters of one file. */
export const FILE_LENGTH_MAX = 1_048_576;

/** Reads a file's YAML into a tree with places; null when that cannot be done, and then the report says why. */
export function parseFile(file: PolicyFile, report: Report): MapTree | null {
  const start: Place = { file: file.path, line: 1, column: 1, length: 1 };
  if (file.text.length > FILE_LENGTH_MAX) {
    report.add('file-too-large', start, `the file has more than ${FILE_LENGTH_MAX} characters`);
    return null;
  }
  const tree = new Reader(file, report).read();
  if (!tree || tree.kind === 'map') return tree;
  if (tree.kind === 'scalar' && tree.value === null) return { kind: 'map', entries: [], place: start };
  report.add('wrong-type', tree.place, 'a policy file is a map of sections', { expected: '`section: …`' });
  return null;
}

class Reader {
  readonly #file: PolicyFile;
  readonly #report: Report;
  readonly #lines = new LineCounter();

  constructor(file: PolicyFile, report: Report) {
    this.#file = file;
    this.#report = report;
  }

  read(): Tree | null {
    // Duplicate keys are found here, with both places; the library's own check is slower and knows one.
    const document = parseDocument(this.#file.text, {
      lineCounter: this.#lines,
      uniqueKeys: false,
      prettyErrors: false,
      version: '1.2',
      schema: 'core',
    });
    for (const error of [...document.errors, ...document.warnings]) {
      const code = error.code === 'TAG_RESOLVE_FAILED' ? 'yaml-feature' : 'yaml-syntax';
      const hint = error.code === 'TAB_AS_INDENT' ? { hint: 'indent with spaces' } : {};
      this.#report.add(code, this.#place(error.pos[0], error.pos[1]), error.message, hint);
    }
    if (document.errors.length > 0) return null;
    return this.#tree(document.contents, this.#place(0, 0));
  }

  #tree(node: Node | null, fallback: Place): Tree {
    if (!node) return { kind: 'scalar', value: null, source: '', place: fallback };
    const place = node.range ? this.#place(node.range[0], node.range[1]) : fallback;
    this.#refuseFeatures(node, place);
    if (isMap(node)) return { kind: 'map', entries: this.#entries(node.items, place), place };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#tree(asNode(item), place));
      return { kind: 'list', items, place };
    }
    const value = isScalar(node) ? node.value : null;
    const source = isScalar(node) && typeof node.source === 'string' ? node.source : '';
    // What is not there stands where its key does.
    if (value === null && source === '' && !isAlias(node)) return { kind: 'scalar', value, source, place: fallback };
    return { kind: 'scalar', value: plain(value, source), source, place };
  }

  #entries(items: readonly { key: unknown; value: unknown }[], around: Place): Entry[] {
    const first = new Map<string, Place>();
    const entries: Entry[] = [];
    for (const item of items) {
      const keyNode = asNode(item.key);
      const place = keyNode?.range ? this.#place(keyNode.range[0], keyNode.range[1]) : around;
      if (!isScalar(keyNode) || keyNode.value === null) {
        this.#report.add('bad-name', place, 'a key must be a plain name');
        continue;
      }
      const key = typeof keyNode.value === 'string' ? keyNode.value : String(keyNode.source ?? keyNode.value);
      if (key === '<<') {
        this.#report.add('yaml-feature', place, 'merge keys are not part of the policy language');
        continue;
      }
      const before = first.get(key);
      if (before) {
        const related = { place: before, message: 'first defined here' };
        this.#report.add('duplicate-name', place, `\`${key}\` is defined twice`, { related });
        continue;
      }
      first.set(key, place);
      entries.push({ key, place, value: this.#tree(asNode(item.value), place) });
    }
    return entries;
  }

  #refuseFeatures(node: Node, place: Place): void {
    const refuse = (what: string) => this.#report.add('yaml-feature', place, `${what} not part of the policy language`);
    if (isAlias(node)) refuse('aliases are');
    else if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor) refuse('anchors are');
  }

  #place(from: number, to: number): Place {
    const { line, col } = this.#lines.linePos(Math.min(from, this.#file.text.length));
    const end = this.#file.text.indexOf('\n', from);
    const last = Math.min(to, end < 0 ? this.#file.text.length : end);
    return {
      file: this.#file.path,
      line: Math.max(1, line),
      column: Math.max(1, col),
      length: Math.max(1, last - from),
    };
  }
}

function asNode(value: unknown): Node | null {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : null;
}

function plain(value: unknown, source: string): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return value;
  return source;
}
