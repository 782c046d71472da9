import { type Paint, painter } from '../core/paint.ts';
import type { SourceSpan } from '../core/source-place.ts';
import { visibleLines } from '../core/visible.ts';
import { excerptOf, type FileText, sourceLines } from './excerpt.ts';

const ERRORS = {
  'file-too-large': 'A policy file is larger than 1 MiB.',
  'unreadable-file': 'A policy file cannot be read.',
  'not-utf-8': 'A policy file is not UTF-8 text.',
  'line-break':
    'A policy file has a carriage return (CR) without a line feed, or the line breaks U+0085, U+2028 or U+2029. Editors and YAML 1.1 begin a line there, Signalbox does not.',
  'symlink-loop': 'A symbolic link leads back to itself.',
  'yaml-syntax': 'The text is not valid YAML.',
  'yaml-feature': 'The policy language has no anchors, aliases, merge keys or tags.',
  'wrong-type': 'A value has the wrong type for its key.',
  'out-of-range': 'A value is too small, too large, too short or too long.',
  'not-one-of': 'A value is not one of the words that its key accepts.',
  'bad-form': 'A text or number has the wrong form, such as a day that does not exist.',
  'bad-name': 'A name has characters that names cannot have.',
  'missing-key': 'A required key is missing.',
  'unknown-key': 'The key does not exist here.',
  'conflicting-keys': 'Two keys exclude each other.',
  'duplicate-name': 'A name is defined twice, in one file or in two.',
  'unknown-reference': 'The policy refers to a name that it does not define.',
  secret: 'A text looks like a secret.',
  'price-per-token': 'A price looks like one per token or per 1,000 tokens.',
  'price-not-exact': 'A price has more digits than can be charged exactly.',
  'no-version': 'The policy does not state the version of its language.',
  'no-models': 'The policy declares no model.',
  'nothing-to-serve': 'No provider can serve a model here.',
  'bad-environment': 'A variable that the policy names holds an unusable value.',
  'forbidden-address':
    'Requests may not go to this address: it is cloud metadata, link-local, unspecified or multicast.',
  'plugin-not-loaded': 'A plugin cannot be loaded, or violates its contract.',
  'plugin-failed': 'A plugin refused its options.',
  'cel-syntax': 'An expression is not valid CEL.',
  'cel-unknown-name': 'An expression uses a name that is not defined.',
  'cel-unknown-field': 'An expression reads a field that does not exist.',
  'cel-type': 'The types in an expression do not match.',
  'cel-not-bool': 'The result of a condition is not true or false.',
  'cel-not-text': 'The result of the `each` of a budget or rate limit, or of a label of tokens, is not a text.',
  'cel-wrong-place':
    'An expression reads a value that is not available in its key, such as the request in `require` or the model in `when`.',
  'cel-refused':
    'An expression uses `matches`, `has`, `dyn`, `in` on labels, or `team.name` of a budget in another way than a comparison.',
  'cel-too-large': 'An expression is too long or nests too deeply.',
  'cel-too-costly': 'An expression can take too many steps.',
  'nothing-to-inherit': 'A selector inherits missing options from `auto`, but `auto` runs another strategy.',
  'selector-empty': "No model of the catalog passes a selector's filter.",
  'provider-without-embeddings': 'A model with the operation `embed` is at a provider whose adapter has no embeddings.',
  'vector-space-differs': 'Two models of one vector space have vectors of different lengths.',
  'vector-space-missing': 'A selector chooses only from embedding models and does not name their vector space.',
  'refuses-everything': 'No model fulfils a constraint without `when`, so every request would be refused.',
  'credits-changed': 'The ledger was counted in Credits of another worth.',
  'mainnet-not-allowed': 'A payment network is not a known test network.',
  'token-differs': 'Name, version or decimals of a known token differ from its contract.',
  'pays-nobody': "Payments would go to the zero address or to the token's contract, where they are lost.",
  'team-exists': 'A team has the name of one that was made through the API.',
  'open-issuer':
    'The condition of an issuer of tokens reads no claim, or holds for every token: whoever gets one from the issuer would be let in.',
  'case-failed': 'A case does not have its expected result.',
} as const;

const WARNINGS = {
  'former-option': 'A selector sets an option of an earlier version, and runs as in that version.',
  'former-key': 'A key of an earlier version, which has no effect any more.',
  'choices-changed': 'A key that has no effect any more changed the choice of models in earlier versions.',
  'former-plugin': 'A plugin of a kind that has no effect any more.',
  'plugin-outside':
    'A plugin runs code from outside the policy folder, through `../` or a link. Anyone who can write to that file can run code as Signalbox.',
  'departs-from-base':
    '`auto-cheap` or `auto-fast` sets an option that it would inherit, and can then be dearer or slower than `auto`.',
  'selector-idle': "No model that can be served here passes a selector's filter.",
  'satisfied-by-none':
    'No model fulfils a constraint, or no model for chats that can serve here, so requests that it applies to are refused.',
  'rules-conflict':
    'Two rules each admit models, and no model is admitted by both. Requests that both apply to are refused.',
  'admits-undeclared': 'A constraint excludes a region and admits endpoints that declare none.',
  'misspelt-value':
    'A rule compares with a text that nothing has: it resembles one which something has, or cannot be the ID of a team or user.',
  'prefers-none': 'A preference prefers no model, or its `worth` is 0.',
  'rule-never-applies': 'The condition of a rule, budget or rate limit can never be true.',
  'when-can-fail': 'A condition or an `each` fails for some requests. A condition that fails counts as true.',
  'claim-is-object':
    'An expression looks for a text in a claim of a token, and the claim is an object. An object never contains a text, so this part of the expression fails.',
  'require-fails': 'An expression fails for a model. It then counts as false.',
  'shared-window': 'Many keys share one window: `each` is constant, or reads a label that keys may lack.',
  'small-budget': 'A budget is worth less than one long answer of the cheapest model that can serve.',
  'nothing-to-spend': 'A budget has a limit of 0.',
  'ambiguous-name':
    'A budget has a name by which answers and reports call a balance, the maximum output of a model or the budgets of keys.',
  'budget-renamed':
    'A budget is new, and one that the ledger counts is gone. A renamed budget is counted again from its entries.',
  'no-such-team': 'An expression compares `team.name` with a name that no team has now.',
  'team-replaced':
    'A team with keys is no longer declared, and the policy declares a new team. A team that is renamed without `formerly` starts without keys and with new budget windows.',
  'two-meanings-of-team':
    'The policy uses the label `team` of keys, and there are also teams. A budget of one does not count the other.',
  'trusts-everybody': '`trusted_proxies` covers every IPv4 address, so callers can forge theirs.',
  'facilitator-without-token': 'A facilitator for real money has no `bearer_env`.',
  'after-abort-idle': 'A key of `after_abort` has no effect, because it does not say `bills: stops`.',
  'webhook-unset': 'A variable of a webhook for alerts is not set, so nothing can be sent to it.',
  'private-host':
    'The host of a provider, or of an issuer of tokens, probably leads to a private network, where requests are refused.',
  'short-key':
    'The key of a provider has fewer than 8 characters, so it is not removed from messages of the provider: it could be part of any word.',
  'free-model': 'A provider with a key has a price of 0, so its use is not metered.',
  'passthrough-all': '`*` lets callers send any field to the provider, priced or not.',
  'unknown-language': 'A programming language of a model is unknown and resembles a known one.',
  'nobody-signs-in': 'The variable with the secret of `sign_in` is not set, so nobody can sign in.',
  'needs-restart': 'A setting differs from that of the running server, which keeps it from its start.',
  'stale-figure': 'A figure was seen more than 90 days ago.',
  'unverified-figure': 'A figure does not state its day or its source.',
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

/**
 * The diagnostics for people: `file:line:col  code  message`, the line with carets under the place,
 * the hint, the expected form and the related place. Secrets in the lines are masked. `colour` adds terminal colours.
 */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  files: readonly FileText[],
  { colour = false }: { readonly colour?: boolean } = {},
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
    excerptOf(found, lines, paint[severity]),
  ];
  // The list of what is expected can be long, so the probable intention comes first.
  if (hint) parts.push(`  ${paint.label('hint:')} ${hint}`);
  if (expected) parts.push(`  ${paint.label('expected:')} ${expected}`);
  if (related) {
    parts.push(`  ${paint.strong(position(related.place))}  ${visibleLines(related.message)}`);
    parts.push(excerptOf(related.place, lines, paint.label));
  }
  return parts.filter((part) => part !== '').join('\n');
}

function position(place: SourceSpan): string {
  return `${place.file}:${place.line}:${place.column}`;
}

/** The first error in one line, without its excerpt; undefined for none. */
export function firstError(found: readonly Diagnostic[]): string | undefined {
  const first = found.find(({ severity }) => severity === 'error');
  return first && `${position(first)} ${first.code}: ${first.message}`;
}

/** How many of the diagnostics are errors. */
export const errorsIn = (found: readonly Pick<Diagnostic, 'severity'>[]): number =>
  found.filter(({ severity }) => severity === 'error').length;

/** The diagnostics for programs, each with its line, and the counts that decide the exit code. Secrets in the lines are masked. */
export function diagnosticsBody(found: readonly Diagnostic[], files: readonly FileText[]) {
  const lines = sourceLines(
    files,
    found.filter(({ code }) => code === 'secret'),
  );
  const errors = errorsIn(found);
  const diagnostics = found.map((one) => ({
    ...one,
    end_column: one.column + one.length,
    frame: excerptOf(one, lines),
    help: DIAGNOSTICS[one.code],
  }));
  return { errors, warnings: found.length - errors, diagnostics };
}
