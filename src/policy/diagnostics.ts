import type { SourceSpan } from '../core/source-place.ts';
import { visibleLines } from '../core/visible.ts';
import { type FileText, frameOf, sourceLines } from './frame.ts';
import { type Paint, painter } from './paint.ts';

const ERRORS = {
  'file-too-large': 'a policy file is larger than 1 MiB',
  'unreadable-file': 'a policy file is there and cannot be read',
  'not-utf-8': 'a policy file is not UTF-8 text',
  'symlink-loop': 'a policy file is a symbolic link that leads back to itself',
  'yaml-syntax': 'the text is not YAML',
  'yaml-feature': 'anchors, aliases, merge keys and tags are not part of the language',
  'wrong-type': 'a value is of another type than its key takes',
  'out-of-range': 'a value is too small, too large, too short or too long',
  'not-one-of': 'a value is not one of those the key takes',
  'bad-form': 'a text or number is not written in the form the key takes',
  'bad-name': 'a name has characters that names may not have',
  'missing-key': 'a required key is not there',
  'unknown-key': 'nobody knows this key here',
  'conflicting-keys': 'two keys exclude each other',
  'duplicate-name': 'the same name is defined twice, in one file or in two',
  'unknown-reference': 'a name that is referred to is not defined',
  secret: 'a literal looks like a secret; policies name variables instead',
  'price-per-token': 'a price looks like one per token or per 1K tokens; prices are USD per 1M',
  'price-not-exact': 'a price has more digits than can be charged exactly',
  'no-version': 'the policy does not state the version of its language',
  'no-models': 'the policy declares no model',
  'nothing-to-serve': 'no provider is available in this environment',
  'bad-environment': 'a variable that the policy names holds something unusable',
  'forbidden-address':
    'an address is one that no request may go to: metadata of a cloud, link-local, unspecified, multicast',
  'plugin-not-loaded': 'a plugin of the policy cannot be loaded, or lacks its contract',
  'plugin-failed': 'a plugin refused its options',
  'cel-syntax': 'an expression is not CEL',
  'cel-unknown-name': 'an expression names something that nobody knows',
  'cel-unknown-field': 'an expression asks for a field that is not there',
  'cel-type': 'the types in an expression do not fit each other',
  'cel-not-bool': 'an expression is neither true nor false',
  'cel-not-text': 'the `each` of a budget or rate limit gives no text',
  'cel-wrong-place': 'an expression asks for what its key cannot see: the request in `require`, the model in `when`',
  'cel-refused': 'what is not part of the language: `matches`, `has`, `dyn`, and `in` on labels',
  'cel-too-large': 'an expression is too long or nests too deep',
  'cel-too-costly': 'an expression, or all of them together, can take more steps than its occasion has time for',
  'nothing-to-inherit': 'a selector leaves out what it would take from another selector, which runs another strategy',
  'selector-empty': 'no model of the catalog passes the filter of a selector',
  'refuses-everything': 'a constraint without `when` that no model of the catalog fulfils',
  'credits-changed': 'a Credit is worth something else than what the ledger holds was counted in',
  'mainnet-not-allowed': 'payments on a network that is no known test network, without `allow_mainnet: true`',
  'token-differs': 'name, version or decimals of a known token are not those of its contract',
  'pays-nobody': 'payments would go where nobody can spend them: the zero address, or the contract of the token',
  'case-failed': 'a case of the policy did not come out as it expects',
} as const;

const WARNINGS = {
  'former-option': 'an option of an earlier version: the selector runs as it did then, by a strategy of another name',
  'plugin-outside':
    'a plugin runs code outside the policy’s folder, by `../` or a link: anybody who can write there can run code as Signalbox',
  'departs-from-base':
    'a selector named like its strategy states what it would inherit: it may not keep what its name promises',
  'selector-idle': 'no model that can be served here passes the filter of a selector',
  'satisfied-by-none': 'no model of the catalog fulfils a constraint: requests that it applies to are refused',
  'prefers-none': 'a preference prefers no model of the catalog, or is worth nothing',
  'rule-never-applies': 'the condition of a rule, budget or rate limit can never be true',
  'when-can-fail':
    'a condition fails for a request that says nothing, and the rule then applies; or the `each` of a budget or rate limit',
  'require-fails': 'an expression fails for a model, which counts as false',
  'shared-window':
    'the `each` of a budget or rate limit is the same for many: it names nothing, or a label that keys may lack',
  'nothing-to-spend': 'a budget has a limit of 0: nothing that costs may be spent',
  'budget-renamed': 'a budget is new while one that the ledger counts is gone: a renamed budget is counted anew',
  'trusts-everybody': 'a range of trusted proxies holds every IPv4 address: callers can then write any address',
  'learning-idle':
    'something in `learning` does nothing: exploring while its mode is `off`, or a mode that nothing teaches',
  'facilitator-without-token': 'a service settles real money for whoever asks it: `facilitator` has no `bearer_env`',
  'free-model': 'a provider with a key is priced at 0: its use would not be metered',
  'passthrough-all': '`*` lets callers send any field to the provider, priced or not',
  'unknown-language':
    'a programming language of a model is none that is known, and like one that is. Only `policy check` tells',
  'stale-figure': 'a figure was seen more than 90 days ago. Only `policy check` tells',
  'unverified-figure': 'nobody says when or where a figure was seen. Only `policy check` tells',
} as const;

export type DiagnosticCode = keyof typeof ERRORS | keyof typeof WARNINGS;

/**
 * The meaning of every problem that loading a policy can report. Codes are never renamed or reused.
 * `docs/policies/diagnostics.md` is made from this table.
 */
export const DIAGNOSTICS: Readonly<Record<DiagnosticCode, string>> = { ...ERRORS, ...WARNINGS };

export const severityOf = (code: DiagnosticCode): Diagnostic['severity'] =>
  Object.hasOwn(ERRORS, code) ? 'error' : 'warning';

export type { SourceSpan } from '../core/source-place.ts';

/** One problem of a policy, with its place. Never holds a secret. */
export interface Diagnostic extends SourceSpan, DiagnosticDetails {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  readonly message: string;
}

export interface DiagnosticDetails {
  /** The correct form. */
  readonly expected?: string;
  /** The probable intention, or a remedy. */
  readonly hint?: string;
  /** A related place, such as the first definition of a name. */
  readonly related?: { readonly place: SourceSpan; readonly message: string };
}

export interface FormatOptions {
  /** Adds terminal colours. Default: plain text. */
  readonly colour?: boolean;
}

/**
 * The diagnostics for people: `file:line:col  code  message`, the line with carets under the place,
 * the expected form and the related place. Secrets in the lines are masked.
 */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  files: readonly FileText[],
  { colour = false }: FormatOptions = {},
): string {
  const secrets = diagnostics.filter((found) => found.code === 'secret');
  const lines = sourceLines(files, secrets);
  const paint = painter(colour);
  return diagnostics.map((found) => format(found, lines, paint)).join('\n\n');
}

function format(found: Diagnostic, lines: ReturnType<typeof sourceLines>, paint: Paint): string {
  const { severity, code, related } = found;
  // They quote names, values and messages of plugins.
  const [message, expected, hint] = [found.message, found.expected ?? '', found.hint ?? ''].map(visibleLines);
  const kind = severity === 'warning' ? 'warning ' : '';
  const parts = [
    `${paint.strong(position(found))}  ${paint[severity](kind + code)}  ${message}`,
    frameOf(found, lines, paint[severity]),
  ];
  if (expected) parts.push(`  ${paint.label('expected:')} ${expected}`);
  if (hint) parts.push(`  ${paint.label('hint:')} ${hint}`);
  if (related) {
    parts.push(`  ${paint.strong(position(related.place))}  ${visibleLines(related.message)}`);
    parts.push(frameOf(related.place, lines, paint.label));
  }
  return parts.filter((part) => part !== '').join('\n');
}

function position(place: SourceSpan): string {
  return `${place.file}:${place.line}:${place.column}`;
}

/** The diagnostics for programs, as `--json` prints them, with the counts that decide the exit code. */
export function diagnosticsJson(diagnostics: readonly Diagnostic[]): {
  readonly errors: number;
  readonly warnings: number;
  readonly diagnostics: readonly Diagnostic[];
} {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return { errors, warnings: diagnostics.length - errors, diagnostics };
}
