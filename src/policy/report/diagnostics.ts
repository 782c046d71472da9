import type { SourceSpan } from '../../core/source-place.ts';
import { type Paint, painter } from '../../core/text/paint.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { excerptOf, type FileText, sourceLines } from './excerpt.ts';

const ERRORS = {
  'file-too-large': 'A policy file is larger than 1 MiB.',
  'unreadable-file': 'A policy file cannot be read.',
  'not-utf-8': 'A policy file is not UTF-8 text.',
  'line-break':
    'A policy file has a carriage return (CR) without a line feed, or a line break U+0085, U+2028 or U+2029. Editors and YAML 1.1 begin a new line there, but Signalbox does not.',
  'symlink-loop': 'A symbolic link points back to itself.',
  'yaml-syntax': 'The text is not valid YAML.',
  'yaml-feature':
    'A policy file uses YAML anchors, aliases, merge keys or tags, which the policy language does not support.',
  'wrong-type': 'A value has the wrong type for its key.',
  'out-of-range': 'A value is too small, too large, too short or too long.',
  'not-one-of': 'A value is not one of the words that its key accepts.',
  'bad-form': 'A text or number has the wrong form, such as a day that does not exist.',
  'bad-name': 'A name has characters that names cannot have.',
  'missing-key': 'A required key is missing.',
  'unknown-key': 'A key does not exist in this section or map.',
  'conflicting-keys': 'Two keys contradict each other, so only one of them may be stated.',
  'duplicate-name': 'A name is defined twice, in one file or in two files.',
  'bad-fallback': 'A list of fallbacks names its own model, a selector, a model of a wildcard, or a model twice.',
  'bad-tier': 'A tier of a selector names a selector, a model twice, or a model that the selector may not choose.',
  'unknown-reference': 'The policy refers to a name that it does not define.',
  secret: 'A text looks like a secret.',
  'price-per-token': 'A price looks like a price per token or per 1,000 tokens. Prices are per 1M tokens.',
  'price-not-exact': 'A price has more digits than Signalbox can charge exactly.',
  'no-models': 'The policy declares no model.',
  'nothing-to-serve': 'No provider can serve a model in this environment.',
  'bad-environment': 'An environment variable that the policy names holds an unusable value.',
  'forbidden-address':
    'Signalbox sends no requests to this address: it is cloud metadata, link-local, unspecified or multicast.',
  'token-host':
    'The key of a provider is a token of a token source, and the credentials file does not name the host of the provider.',
  'plugin-not-loaded': 'A plugin cannot be loaded, or violates its contract.',
  'plugin-failed': 'A plugin does not accept its options.',
  'cel-syntax': 'An expression is not valid CEL.',
  'cel-unknown-name': 'An expression uses a name that is not defined.',
  'cel-unknown-field': 'An expression reads a field that does not exist.',
  'cel-type': 'The types in an expression do not match.',
  'cel-not-bool': 'The result of a condition is neither true nor false.',
  'cel-not-text':
    'The result of a text expression is not a text: `each` of a budget or rate limit, or a label of tokens.',
  'cel-wrong-place':
    'An expression reads a value that is not available in its key, such as the request in `require` or the model in `when`.',
  'cel-refused':
    'An expression uses `matches`, `has`, `dyn`, or `in` on labels, or uses `team.name` of a budget other than in a comparison.',
  'cel-too-large': 'An expression is too long, or is nested too deeply.',
  'cel-too-costly': 'An expression can take too many steps for one evaluation.',
  'selector-empty': "No model of the catalog passes a selector's filter.",
  'provider-without-operation':
    'A model uses a provider whose adapter lacks an operation of the model, such as `embed`.',
  'vector-space-differs': 'Two models of the same vector space have vectors of different lengths.',
  'guard-side': 'A guard is to inspect requests or answers, but its plugin cannot.',
  'guard-unmask': 'A guard is to put values back into answers, although it masks no request.',
  'vector-space-missing': 'A selector chooses only from embedding models and does not name their vector space.',
  'refuses-everything': 'No model satisfies a constraint without `when`, so every request would be refused.',
  'credits-changed': 'The existing ledger was counted in Credits of another worth.',
  'mainnet-not-allowed': 'A payment network is not a known test network.',
  'token-differs': 'The name, version or decimals of a known token differ from its contract.',
  'pays-nobody': "Payments would go to the zero address or to the token's contract, where they are lost.",
  'team-exists': 'A declared team has the name of a team that was created through the API.',
  'open-issuer':
    'The condition of an issuer of tokens reads no claim, or is true for every token, so everyone with a token of this issuer would be admitted.',
  'case-failed': 'A test case of the policy does not have its expected result.',
} as const;

const WARNINGS = {
  'plugin-outside':
    'A plugin runs code from outside the policy folder, through `../` or a link. Anyone who can write to that file can run code as Signalbox.',
  'selector-idle': "No model that can be served in this environment passes a selector's filter.",
  'satisfied-by-none':
    'No model satisfies a constraint, or no chat model that can be served does, so requests that it applies to are refused.',
  'rules-conflict':
    'Two rules each allow models, but no model is allowed by both. Requests that both rules apply to are refused.',
  'admits-undeclared': 'A constraint excludes a region, but allows endpoints that declare no region.',
  'misspelt-value':
    'A rule compares with a value that does not exist: it resembles an existing value, or it cannot be the ID of a team or user.',
  'prefers-none': 'A preference prefers no model, or its `worth` is 0.',
  'rule-never-applies': 'The condition of a rule, budget or rate limit can never be true.',
  'when-can-fail': 'A condition or an `each` fails for some requests. A condition that fails counts as true.',
  'claim-is-object':
    'An expression looks for a text in a claim of a token, but the claim is an object. An object never contains a text, so this part of the expression fails.',
  'require-fails': 'An expression fails for a model, and then counts as false.',
  'shared-window': 'Many keys share one window, because `each` is constant or reads a label that keys may lack.',
  'small-budget': 'A budget is smaller than the cost of one long answer of the cheapest available model.',
  'nothing-to-spend': 'A budget has a limit of 0.',
  'ambiguous-name':
    'A budget has a name that answers and reports use for a balance, the maximum output of a model or the budgets of keys.',
  'budget-renamed':
    'A budget is new, and a budget that the ledger counts is gone. If you renamed it, its spending is counted again from the entries.',
  'no-such-team':
    'An expression compares `team.name` with a name that no team has now, or with one that resembles the name of a declared team.',
  'team-replaced':
    'A team with keys is no longer declared, and the policy declares a new team. A team that is renamed without `formerly` starts without keys and with new budget windows.',
  'two-meanings-of-team':
    'The policy uses the key label `team`, and there are also teams. A budget that uses one of them does not count the other.',
  'trusts-everybody': '`trusted_proxies` covers every IPv4 address, so callers can forge their own address.',
  'facilitator-without-token': 'A facilitator that settles real money has no `bearer_env`.',
  'after-abort-idle': 'A key of `after_abort` has no effect, because `after_abort` does not say `bills: stops`.',
  'spread-idle': 'A `weight` or `priority` of an endpoint has no effect with the `spread` of its model.',
  'webhook-unset': 'An environment variable of an alert webhook is not set, so the webhook cannot send.',
  'guard-cannot-mask': 'A guard is to mask matches, but its plugin does not say where they are, so every match blocks.',
  'idle-fallback':
    'A fallback cannot replace its model: it is listed for long prompts and has no larger context window, it lacks `tools`, or those who may use the model may not use the fallback.',
  'uncounted-images':
    'The policy has budgets, but no model with `vision` that can be served states `image_tokens_max`, so requests with images that a budget pays for are refused with 422.',
  'private-host':
    'The host of a provider, a guard’s service, a webhook or an issuer of tokens leads, or probably leads to a private network, where Signalbox sends no requests by default.',
  'address-without-path':
    'The address of a provider has only a host, but services of its kind have their API at a path such as `/v1`.',
  'short-key':
    'The API key of a provider has fewer than 8 characters. Signalbox does not remove it from messages of the provider, because so short a text can be part of an ordinary word.',
  'free-model': 'A provider that uses an API key has a price of 0, so Signalbox does not charge for its use.',
  'found-price':
    'A server whose models Signalbox finds also has a model with a price. Its other models are not served, because the policy states no price for them, or they cost nothing, because the policy states a price of 0.',
  'passthrough-all': '`*` lets callers send any field to the provider, even fields that change the bill.',
  'unknown-language': 'A programming language of a model is unknown and resembles a known language.',
  'nobody-signs-in': 'The environment variable with the secret of `sign_in` is not set, so people cannot sign in.',
  'needs-restart': 'A setting differs from the value that the running server uses since its start.',
  'strategy-failed':
    'The strategy of a selector failed, or gave no usable score, for the typical request, so its models are ordered by quality, cost and latency.',
  'weak-tier': 'The first model that a selector states for hard requests is worse than the first for usual requests.',
  'costly-tier':
    'The first model that `auto-cheap` or `auto-fast` states for a tier costs more, or takes longer, for the typical request than the choice of `auto`.',
  'left-out-rate':
    'A service tier, some hours or a later price leave out a rate that the price itself states, such as `cache_write`, so these tokens cost as much as plain ones.',
  'ended-price': 'A price has ended, so a price of `later` applies.',
  'stale-figure': 'A figure was last checked more than 90 days ago.',
  'unverified-figure': 'A figure does not state its date or its source.',
} as const;

export type DiagnosticCode = keyof typeof ERRORS | keyof typeof WARNINGS;

/**
 * The meaning of every problem that Signalbox can report when it loads a policy. Diagnostic codes are never renamed or reused.
 * `docs/policies/diagnostics.md` is generated from this table.
 */
export const DIAGNOSTICS: Readonly<Record<DiagnosticCode, string>> = { ...ERRORS, ...WARNINGS };

export const severityOf = (code: DiagnosticCode): Diagnostic['severity'] =>
  Object.hasOwn(ERRORS, code) ? 'error' : 'warning';

export type { SourceSpan } from '../../core/source-place.ts';

/** One problem in a policy, with its location. A diagnostic never contains a secret. */
export interface Diagnostic extends SourceSpan, DiagnosticDetails {
  readonly severity: 'error' | 'warning';
  readonly code: DiagnosticCode;
  readonly message: string;
}

export interface DiagnosticDetails {
  /** The correct form. */
  readonly expected?: string;
  /** The probable intention of the author, or a way to fix the problem. */
  readonly hint?: string;
  /** A related location, such as the first definition of a name. */
  readonly related?: { readonly place: SourceSpan; readonly message: string };
}

/**
 * Formats diagnostics for people: `file:line:col  code  message`, the line with carets below the location, the hint, the expected form and
 * the related location. `formatDiagnostics` masks secrets in the lines. @param colour adds terminal colours
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
  // The texts of a diagnostic may quote names, values and plugin messages, which must not control the reader's terminal.
  const [message, expected, hint] = [found.message, found.expected ?? '', found.hint ?? ''].map(visibleLines);
  const kind = severity === 'warning' ? 'warning ' : '';
  const parts = [
    `${paint.strong(position(found))}  ${paint[severity](kind + code)}  ${message}`,
    excerptOf(found, lines, paint[severity]),
  ];
  // The list of expected values can be long, so the hint comes first.
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

/** Returns the first error as one line, without its excerpt; undefined for none. */
export function firstError(found: readonly Diagnostic[]): string | undefined {
  const first = found.find(({ severity }) => severity === 'error');
  return first && `${position(first)} ${first.code}: ${first.message}`;
}

/** Returns the number of errors among the diagnostics. */
export const errorsIn = (found: readonly Pick<Diagnostic, 'severity'>[]): number =>
  found.filter(({ severity }) => severity === 'error').length;

/**
 * Returns the diagnostics for programs, each with its line, and the counts that decide the exit code. `diagnosticsBody` masks secrets in
 * the lines.
 */
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
