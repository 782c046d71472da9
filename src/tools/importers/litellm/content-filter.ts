import { linearPattern } from '../../../core/text/linear-pattern.ts';
import { flow, some } from '../../../policy/yaml/emit.ts';
import type { ImportContext } from './context.ts';
import type { Guardrail, ImportedGuard } from './guardrail.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';

type Action = 'block' | 'mask';

/** Kinds of `personal-data` by the name of a prebuilt pattern. */
const PERSONAL: ReadonlyMap<string, string> = new Map([
  ['email', 'email'],
  ['us_phone', 'phone'],
  ['visa', 'card'],
  ['mastercard', 'card'],
  ['amex', 'card'],
  ['discover', 'card'],
  ['credit_card', 'card'],
  ['iban', 'iban'],
  ['us_ssn', 'national'],
  ['us_ssn_no_dash', 'national'],
  ['br_cpf', 'national'],
  ['ipv4', 'ip'],
  ['ipv6', 'ip'],
]);
/** Prebuilt patterns of secrets. */
const SECRETS: ReadonlySet<string> = new Set([
  'aws_access_key',
  'aws_secret_key',
  'github_token',
  'slack_token',
  'generic_api_key',
]);

/** What one action of a content filter finds. */
interface Finds {
  readonly deny: string[];
  readonly patterns: string[];
  readonly kinds: Set<string>;
  isSecrets: boolean;
}

const LENGTH_MAX = 512;

/** Converts `litellm_content_filter`: words and patterns for the guard `words`, prebuilt patterns for `personal-data` and `secrets`. */
export function contentFilter({ params, to }: Guardrail, context: ImportContext): readonly ImportedGuard[] {
  const finds: Record<Action, Finds> = { block: nothing(), mask: nothing() };
  for (const word of valueAt(params, 'blocked_words')?.items ?? []) readWord(word, finds, to, context);
  for (const pattern of valueAt(params, 'patterns')?.items ?? []) readPattern(pattern, finds, to, context);
  const guards = (['block', 'mask'] as const).flatMap((onMatch): Omit<ImportedGuard, 'suffix'>[] => {
    const { deny, patterns, kinds, isSecrets } = finds[onMatch];
    const hasWords = deny.length + patterns.length > 0;
    return [
      ...(hasWords
        ? [{ guard: 'words', settings: flow({ deny: some(deny), patterns: some(patterns) }), onMatch }]
        : []),
      ...(kinds.size > 0 ? [{ guard: 'personal-data', settings: flow({ kinds: [...kinds] }), onMatch }] : []),
      ...(isSecrets ? [{ guard: 'secrets', onMatch }] : []),
    ];
  });
  return guards.map((guard, at) => ({ ...guard, suffix: at === 0 ? '' : `${guard.guard}-${guard.onMatch}` }));
}

const nothing = (): Finds => ({ deny: [], patterns: [], kinds: new Set(), isSecrets: false });

const actionOf = (item: ConfigNode): Action =>
  /^mask$/i.test(scalarText(valueAt(item, 'action')) ?? '') ? 'mask' : 'block';

function readWord(
  item: ConfigNode,
  finds: Record<Action, Finds>,
  to: readonly string[],
  { outcomes }: ImportContext,
): void {
  const word = scalarText(valueAt(item, 'keyword'));
  if (word === null || word.length > LENGTH_MAX) {
    outcomes.problem(item, `it needs a keyword of at most ${LENGTH_MAX} characters`);
    return;
  }
  finds[actionOf(item)].deny.push(word);
  outcomes.mapped(valueAt(item, 'keyword'), [...to, 'settings', 'deny']);
  outcomes.mapped(valueAt(item, 'action'), [...to, 'on_match']);
  outcomes.leftOut(valueAt(item, 'description'), 'it is only a note');
}

function readPattern(
  item: ConfigNode,
  finds: Record<Action, Finds>,
  to: readonly string[],
  { outcomes }: ImportContext,
): void {
  const found = finds[actionOf(item)];
  const source = scalarText(valueAt(item, 'pattern'));
  const prebuilt = scalarText(valueAt(item, 'pattern_name')) ?? '';
  const kind = PERSONAL.get(prebuilt);
  if (source !== null && isLinear(source)) found.patterns.push(source);
  else if (kind !== undefined) found.kinds.add(kind);
  else if (SECRETS.has(prebuilt)) found.isSecrets = true;
  else {
    const why =
      source === null ? 'no guard has this pattern' : 'the guard `words` has the syntax of RE2, which lacks part of it';
    outcomes.leftOut(item, `${why}; write it as one of the \`patterns\` of a guard \`words\``);
    return;
  }
  outcomes.mapped(item, [...to, 'settings']);
  if (kind !== undefined)
    outcomes.approximated(
      valueAt(item, 'pattern_name'),
      [...to, 'settings', 'kinds'],
      `\`${kind}\` of \`personal-data\``,
    );
}

function isLinear(source: string): boolean {
  try {
    linearPattern(source);
    return source.length <= LENGTH_MAX;
  } catch {
    return false;
  }
}
