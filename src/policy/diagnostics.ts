import { frameOf, sourceLines } from './frame.ts';
import { maskSecrets } from './secrets.ts';

/** Every kind of problem that loading a policy can report. Codes are never renamed or reused. */
export const DIAGNOSTICS = {
  'file-too-large': { severity: 'error', means: 'a policy file is larger than 1 MiB' },
  'yaml-syntax': { severity: 'error', means: 'the text is not YAML' },
  'yaml-feature': { severity: 'error', means: 'anchors, aliases, merge keys and tags are not part of the language' },
  'wrong-type': { severity: 'error', means: 'a value is of another type than its key takes' },
  'out-of-range': { severity: 'error', means: 'a value is too small, too large, too short or too long' },
  'not-one-of': { severity: 'error', means: 'a value is not one of those the key takes' },
  'bad-form': { severity: 'error', means: 'a text or number is not written in the form the key takes' },
  'bad-name': { severity: 'error', means: 'a name has characters that names may not have' },
  'missing-key': { severity: 'error', means: 'a required key is not there' },
  'unknown-key': { severity: 'error', means: 'nobody knows this key here' },
  'conflicting-keys': { severity: 'error', means: 'two keys exclude each other' },
  'not-yet': { severity: 'error', means: 'the key is part of the language, but this version does not enforce it' },
  'duplicate-name': { severity: 'error', means: 'the same name is defined twice, in one file or in two' },
  'unknown-reference': { severity: 'error', means: 'a name that is referred to is not defined' },
  secret: { severity: 'error', means: 'a literal looks like a secret; policies name variables instead' },
  'price-per-token': { severity: 'error', means: 'a price looks like one per token; prices are USD per 1M tokens' },
  'price-not-exact': { severity: 'error', means: 'a price has more digits than can be charged exactly' },
  'no-version': { severity: 'error', means: 'the policy does not state the version of its language' },
  'no-models': { severity: 'error', means: 'the policy declares no model' },
  'nothing-to-serve': { severity: 'error', means: 'no provider is available in this environment' },
  'bad-environment': { severity: 'error', means: 'a variable that the policy names holds something unusable' },
  'plugin-failed': { severity: 'error', means: 'a plugin refused its options' },
  'free-model': { severity: 'warning', means: 'a provider with a key is priced at 0: its use would not be metered' },
  'passthrough-all': { severity: 'warning', means: '`*` lets callers send any field to the provider, priced or not' },
} as const satisfies Record<string, { severity: 'error' | 'warning'; means: string }>;

export type DiagnosticCode = keyof typeof DIAGNOSTICS;

/** Where something stands: line and column count from 1, columns in UTF-16 units. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** How many columns of the line it takes; at least 1. */
  readonly length: number;
}

/** One problem of a policy, with its place. Never holds a secret. */
export interface Diagnostic extends Place {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  readonly message: string;
  /** What would have been right. */
  readonly expected?: string;
  /** What was probably meant, or what to do. */
  readonly hint?: string;
  /** Another place that has to do with it, such as the first definition of a name. */
  readonly related?: { readonly place: Place; readonly message: string };
}

export interface Details {
  expected?: string;
  hint?: string;
  related?: { readonly place: Place; readonly message: string };
}

/** Collects the problems of one load. */
export class Report {
  readonly #found: Diagnostic[] = [];

  add(code: DiagnosticCode, place: Place, message: string, details: Details = {}): void {
    const { file, line, column, length } = place;
    const { severity } = DIAGNOSTICS[code];
    // Masked here, once, because names and values of the policy are part of many messages.
    const said = { ...details, message: maskSecrets(message) };
    if (said.expected) said.expected = maskSecrets(said.expected);
    if (said.hint) said.hint = maskSecrets(said.hint);
    this.#found.push({ severity, code, file, line, column, length, ...said });
  }

  get failed(): boolean {
    return this.#found.some((found) => found.severity === 'error');
  }

  /** All problems by file, line and column. Where a secret or an alias stands, that is all that is said. */
  sorted(): Diagnostic[] {
    const at = (found: Place) => `${found.file}\n${found.line}\n${found.column}`;
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

/**
 * The diagnostics as a person reads them: `file:line:col  code  message`, the line with carets
 * under the place, what was expected and the related place. Secrets in the lines are masked.
 */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  files: readonly { readonly path: string; readonly text: string }[],
): string {
  const lines = sourceLines(
    files,
    diagnostics.filter((found) => found.code === 'secret'),
  );
  return diagnostics
    .map((found) => {
      const parts = [`${position(found)}  ${found.code}  ${found.message}`, frameOf(found, lines)];
      if (found.expected) parts.push(`  expected: ${found.expected}`);
      if (found.hint) parts.push(`  hint: ${found.hint}`);
      if (found.related) {
        parts.push(`  ${position(found.related.place)}  ${found.related.message}`, frameOf(found.related.place, lines));
      }
      return parts.filter((part) => part !== '').join('\n');
    })
    .join('\n\n');
}

function position(place: Place): string {
  return `${place.file}:${place.line}:${place.column}`;
}
