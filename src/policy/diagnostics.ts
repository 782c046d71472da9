import { visibleLines } from '../core/visible.ts';
import { type FileText, frameOf, sourceLines } from './frame.ts';
import { type Paint, painter } from './paint.ts';
import type { SourceSpan } from './source-span.ts';

/**
 * All problems that loading a policy can report. Codes are never renamed or reused.
 * `docs/policies/diagnostics.md` is made from this table.
 */
export const DIAGNOSTICS = {
  'file-too-large': { severity: 'error', means: 'a policy file is larger than 1 MiB' },
  'unreadable-file': { severity: 'error', means: 'a policy file is there and cannot be read' },
  'not-utf-8': { severity: 'error', means: 'a policy file is not UTF-8 text' },
  'symlink-loop': { severity: 'error', means: 'a policy file is a symbolic link that leads back to itself' },
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
  'duplicate-name': { severity: 'error', means: 'the same name is defined twice, in one file or in two' },
  'unknown-reference': { severity: 'error', means: 'a name that is referred to is not defined' },
  secret: { severity: 'error', means: 'a literal looks like a secret; policies name variables instead' },
  'price-per-token': {
    severity: 'error',
    means: 'a price looks like one per token or per 1K tokens; prices are USD per 1M',
  },
  'price-not-exact': { severity: 'error', means: 'a price has more digits than can be charged exactly' },
  'no-version': { severity: 'error', means: 'the policy does not state the version of its language' },
  'no-models': { severity: 'error', means: 'the policy declares no model' },
  'nothing-to-serve': { severity: 'error', means: 'no provider is available in this environment' },
  'bad-environment': { severity: 'error', means: 'a variable that the policy names holds something unusable' },
  'forbidden-address': {
    severity: 'error',
    means: 'an address is one that no request may go to: metadata of a cloud, link-local, unspecified, multicast',
  },
  'plugin-not-loaded': { severity: 'error', means: 'a plugin of the policy cannot be loaded, or lacks its contract' },
  'plugin-failed': { severity: 'error', means: 'a plugin refused its options' },
  'cel-syntax': { severity: 'error', means: 'an expression is not CEL' },
  'cel-unknown-name': { severity: 'error', means: 'an expression names something that nobody knows' },
  'cel-unknown-field': { severity: 'error', means: 'an expression asks for a field that is not there' },
  'cel-type': { severity: 'error', means: 'the types in an expression do not fit each other' },
  'cel-not-bool': { severity: 'error', means: 'an expression is neither true nor false' },
  'cel-not-text': { severity: 'error', means: 'the `each` of a budget or rate limit gives no text' },
  'cel-wrong-place': {
    severity: 'error',
    means: 'an expression asks for what its key cannot see: the request in `require`, the model in `when`',
  },
  'cel-refused': {
    severity: 'error',
    means: 'what is not part of the language: `matches`, `has`, `dyn`, and `in` on labels',
  },
  'cel-too-large': { severity: 'error', means: 'an expression is too long or nests too deep' },
  'cel-too-costly': {
    severity: 'error',
    means: 'an expression, or all of them together, can take more steps than its occasion has time for',
  },
  'nothing-to-inherit': {
    severity: 'error',
    means: 'a selector leaves out what it would take from another selector, which runs another strategy',
  },
  'selector-empty': { severity: 'error', means: 'no model of the catalog passes the filter of a selector' },
  'refuses-everything': {
    severity: 'error',
    means: 'a constraint without `when` that no model of the catalog fulfils',
  },
  'credits-changed': {
    severity: 'error',
    means: 'a Credit is worth something else than what the ledger holds was counted in',
  },
  'mainnet-not-allowed': {
    severity: 'error',
    means: 'payments on a network that is no known test network, without `allow_mainnet: true`',
  },
  'token-differs': {
    severity: 'error',
    means: 'name, version or decimals of a known token are not those of its contract',
  },
  'pays-nobody': {
    severity: 'error',
    means: 'payments would go where nobody can spend them: the zero address, or the contract of the token',
  },
  'case-failed': { severity: 'error', means: 'a case of the policy did not come out as it expects' },
  'former-option': {
    severity: 'warning',
    means: 'an option of an earlier version: the selector runs as it did then, by a strategy of another name',
  },
  'plugin-outside': {
    severity: 'warning',
    means:
      'a plugin runs code outside the policy’s folder, by `../` or a link: anybody who can write there can run code as Signalbox',
  },
  'departs-from-base': {
    severity: 'warning',
    means: 'a selector named like its strategy states what it would inherit: it may not keep what its name promises',
  },
  'selector-idle': { severity: 'warning', means: 'no model that can be served here passes the filter of a selector' },
  'satisfied-by-none': {
    severity: 'warning',
    means: 'no model of the catalog fulfils a constraint: requests that it applies to are refused',
  },
  'prefers-none': { severity: 'warning', means: 'a preference prefers no model of the catalog, or is worth nothing' },
  'rule-never-applies': {
    severity: 'warning',
    means: 'the condition of a rule, budget or rate limit can never be true',
  },
  'when-can-fail': {
    severity: 'warning',
    means:
      'a condition fails for a request that says nothing, and the rule then applies; or the `each` of a budget or rate limit',
  },
  'require-fails': { severity: 'warning', means: 'an expression fails for a model, which counts as false' },
  'shared-window': {
    severity: 'warning',
    means: 'the `each` of a budget or rate limit is the same for many: it names nothing, or a label that keys may lack',
  },
  'nothing-to-spend': { severity: 'warning', means: 'a budget has a limit of 0: nothing that costs may be spent' },
  'budget-renamed': {
    severity: 'warning',
    means: 'a budget is new while one that the ledger counts is gone: a renamed budget is counted anew',
  },
  'trusts-everybody': {
    severity: 'warning',
    means: 'a range of trusted proxies holds every IPv4 address: callers can then write any address',
  },
  'learning-idle': {
    severity: 'warning',
    means: 'something in `learning` does nothing: exploring while its mode is `off`, or a mode that nothing teaches',
  },
  'facilitator-without-token': {
    severity: 'warning',
    means: 'a service settles real money for whoever asks it: `facilitator` has no `bearer_env`',
  },
  'free-model': { severity: 'warning', means: 'a provider with a key is priced at 0: its use would not be metered' },
  'passthrough-all': { severity: 'warning', means: '`*` lets callers send any field to the provider, priced or not' },
  'unknown-language': {
    severity: 'warning',
    means: 'a programming language of a model is none that is known, and like one that is. Only `policy check` tells',
  },
  'stale-figure': { severity: 'warning', means: 'a figure was seen more than 90 days ago. Only `policy check` tells' },
  'unverified-figure': {
    severity: 'warning',
    means: 'nobody says when or where a figure was seen. Only `policy check` tells',
  },
} as const satisfies Record<string, { severity: 'error' | 'warning'; means: string }>;

export type DiagnosticCode = keyof typeof DIAGNOSTICS;

export type { SourceSpan } from './source-span.ts';

/** One problem of a policy, with its place. Never holds a secret. */
export interface Diagnostic extends SourceSpan {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  readonly message: string;
  /** The correct form. */
  readonly expected?: string;
  /** The probable intention, or a remedy. */
  readonly hint?: string;
  /** A related place, such as the first definition of a name. */
  readonly related?: { readonly place: SourceSpan; readonly message: string };
}

export interface DiagnosticDetails {
  expected?: string;
  hint?: string;
  related?: { readonly place: SourceSpan; readonly message: string };
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
