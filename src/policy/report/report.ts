import {
  type Diagnostic,
  type DiagnosticCode,
  type DiagnosticDetails,
  type SourceSpan,
  severityOf,
} from './diagnostics.ts';
import { maskSecrets } from './mask.ts';
import { byNearness, listNames, NAMES_SHOWN, nearestHint } from './nearest.ts';

/** The most errors that one load lists, and the most warnings. */
const LISTED_MAX = 1_000;
/**
 * The most names that one load compares for hints. Without a bound, the comparison of thousands of unknown names with thousands of known
 * names would block the server for hours.
 */
const COMPARISONS_MAX = 50_000;

/** Maps a kind of name to the part of a policy that declares such names. */
const WHERE_DECLARED: ReadonlyMap<string, string> = new Map([
  ['budget', 'budgets'],
  ['model', 'models'],
  ['provider', 'providers'],
  ['task', 'tasks'],
  ['team', 'teams'],
  ['vector space', 'embedding.vector_space'],
  ['webhook', 'alerts.webhooks'],
]);

/** Collects the problems of one load, up to a number that people can read. */
export class Report {
  readonly #found: Diagnostic[];
  readonly #listed = { error: 0, warning: 0 };
  /** The number of comparisons for hints that are still allowed. */
  #comparisonsLeft = COMPARISONS_MAX;

  /** @param found the problems of an earlier phase */
  constructor(found: readonly Diagnostic[] = []) {
    this.#found = [...found];
    for (const { severity } of found) this.#listed[severity]++;
  }

  /** All problems in the order in which they were found, for the next phase. */
  get found(): readonly Diagnostic[] {
    return this.#found;
  }

  add(code: DiagnosticCode, place: SourceSpan, message: string, details: DiagnosticDetails = {}): void {
    const { expected, hint, related } = details;
    const severity = severityOf(code);
    if (++this.#listed[severity] > LISTED_MAX) return;
    this.#found.push({
      severity,
      code,
      ...place,
      // Messages often quote names and values of the policy.
      message: maskSecrets(message),
      ...(expected && { expected: maskSecrets(expected) }),
      ...(hint && { hint: maskSecrets(hint) }),
      ...(related && { related }),
    });
  }

  /** Reports a name that is defined again, with both locations. */
  addDuplicate(name: string, place: SourceSpan, first: SourceSpan, hint?: string): void {
    const related = { place: first, message: 'first defined here' };
    this.add('duplicate-name', place, `\`${name}\` is defined twice`, { related, hint });
  }

  /** Records the definition of a name, and returns whether it is the first. `isFirst` reports a name that is defined again. */
  isFirst(name: string, place: SourceSpan, places: Map<string, SourceSpan>, title = name, hint?: string): boolean {
    const first = places.get(name);
    if (first) this.addDuplicate(title, place, first, hint);
    else places.set(name, place);
    return !first;
  }

  /**
   * Reports an unknown name, with the known names and the name that was probably intended. After very many comparisons `addUnknown` leaves
   * these hints out.
   */
  addUnknown(what: string, name: string, known: Iterable<string>, place: SourceSpan): void {
    const all = this.mayCompare(1) ? [...known] : [];
    if (!this.mayCompare(all.length)) {
      this.add('unknown-reference', place, `there is no ${what} \`${name}\``);
      return;
    }
    // A long list shows only the most similar names.
    if (all.length === 0) {
      const remedy = WHERE_DECLARED.get(what);
      const hint = `there are no ${what}s yet${remedy ? `: declare it in \`${remedy}\`` : ''}`;
      this.add('unknown-reference', place, `there is no ${what} \`${name}\``, { hint });
      return;
    }
    const names = all.length > NAMES_SHOWN ? byNearness(name, all) : all;
    const details = { expected: `one of ${listNames(names)}`, hint: nearestHint(name, names) };
    this.add('unknown-reference', place, `there is no ${what} \`${name}\``, details);
  }

  /** Whether a name may still be compared with this many others for a hint. If the comparison is allowed, `mayCompare` counts it. */
  mayCompare(names: number): boolean {
    if (this.#comparisonsLeft <= 0) return false;
    this.#comparisonsLeft -= names;
    return true;
  }

  /** Reports an unknown plugin name, unless a plugin that failed to load may define it. */
  addUnknownPlugin(what: string, name: string, known: Iterable<string>, place: SourceSpan): void {
    if (!this.#found.some(({ code }) => code === 'plugin-not-loaded')) this.addUnknown(what, name, known, place);
  }

  get failed(): boolean {
    return this.#found.some((found) => found.severity === 'error');
  }

  /** Returns all problems sorted by file, line and column. At the location of a secret or an alias, `sorted` drops other problems. */
  sorted(): Diagnostic[] {
    const at = (found: SourceSpan) => `${found.file}\n${found.line}\n${found.column}`;
    const isFinal = ({ code }: Diagnostic) => code === 'secret' || code === 'yaml-feature';
    const settled = new Set(this.#found.filter(isFinal).map(at));
    const seen = new Set<string>();
    return this.#found
      .filter((found) => isFinal(found) || !settled.has(at(found)))
      .filter((found) => {
        const key = `${at(found)}\n${found.code}\n${found.message}`;
        return !seen.has(key) && seen.add(key);
      })
      .sort(byPlace);
  }
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
