import {
  type Diagnostic,
  type DiagnosticCode,
  type DiagnosticDetails,
  type SourceSpan,
  severityOf,
} from './diagnostics.ts';
import { maskSecrets } from './mask.ts';
import { byNearness, listNames, NAMES_SHOWN, nearestHint } from './nearest.ts';

/** Errors and warnings that one load lists at most, of each. */
const LISTED_MAX = 1_000;
/** Names that are compared for hints in one load. Without a bound, thousands of unknown names among thousands would hold up the server for hours. */
const COMPARISONS_MAX = 50_000;

/** The part of a policy that declares what a name can stand for. */
const WHERE_DECLARED: ReadonlyMap<string, string> = new Map([
  ['budget', 'budgets'],
  ['model', 'models'],
  ['provider', 'providers'],
  ['task', 'tasks'],
  ['team', 'teams'],
  ['vector space', 'embedding.vector_space'],
  ['webhook', 'alerts.webhooks'],
]);

/** Collects the problems of one load, as many as people read. */
export class Report {
  readonly #found: Diagnostic[];
  readonly #listed = { error: 0, warning: 0 };
  /** Known names that may still be compared with unknown ones. */
  #comparisonsLeft = COMPARISONS_MAX;

  /** USD of a Credit, for hints. */
  creditWorth = '0.001';

  /** `found`: the problems of an earlier phase. */
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
      // Many messages quote names and values of the policy.
      message: maskSecrets(message),
      ...(expected && { expected: maskSecrets(expected) }),
      ...(hint && { hint: maskSecrets(hint) }),
      ...(related && { related }),
    });
  }

  /** Reports a name that is defined again, with both places. */
  addDuplicate(name: string, place: SourceSpan, first: SourceSpan, hint?: string): void {
    const related = { place: first, message: 'first defined here' };
    this.add('duplicate-name', place, `\`${name}\` is defined twice`, { related, hint });
  }

  /** Whether a name is defined for the first time, of which it takes note. Reports one that is defined again. */
  isFirst(name: string, place: SourceSpan, places: Map<string, SourceSpan>, title = name, hint?: string): boolean {
    const first = places.get(name);
    if (first) this.addDuplicate(title, place, first, hint);
    else places.set(name, place);
    return !first;
  }

  /** Reports an unknown name, with the known names and the one probably meant; after very many, without them. */
  addUnknown(what: string, name: string, known: Iterable<string>, place: SourceSpan): void {
    const all = this.mayCompare(1) ? [...known] : [];
    if (!this.mayCompare(all.length)) {
      this.add('unknown-reference', place, `there is no ${what} \`${name}\``);
      return;
    }
    // A long list shows the most similar names.
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

  /** Whether a name may still be compared with so many others for a hint. Counts them if it may. */
  mayCompare(names: number): boolean {
    if (this.#comparisonsLeft <= 0) return false;
    this.#comparisonsLeft -= names;
    return true;
  }

  /** Reports an unknown name of a plugin, unless a plugin that did not load may define it. */
  addUnknownPlugin(what: string, name: string, known: Iterable<string>, place: SourceSpan): void {
    if (!this.#found.some(({ code }) => code === 'plugin-not-loaded')) this.addUnknown(what, name, known, place);
  }

  get failed(): boolean {
    return this.#found.some((found) => found.severity === 'error');
  }

  /** All problems by file, line and column. At the place of a secret or an alias, other problems are dropped. */
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
