import { didYouMean } from '../../core/text/text.ts';
import { alternativesIn, commaHint, missingSpaceHint, ownerHint, twinHint, usdKeyHint } from '../yaml/slip-hints.ts';
import type { Tree } from '../yaml/tree.ts';
import { alertRuleHint } from './alert-rule-hint.ts';
import { type KeyRemedy, peerKey, type UnknownKey } from './peer-keys.ts';
import { priceRemedy } from './price-remedies.ts';

/** Returns what to write instead of a key that users of other tools expect; undefined for any other key. */
export function keyRemedy(unknown: UnknownKey): KeyRemedy | undefined {
  const { key, value, known } = unknown;
  const written = value?.kind === 'scalar' ? value.source : '';
  const spaced = missingSpaceHint(key, known);
  if (spaced !== undefined) return { hint: spaced };
  const ofWildcard = wildcardRemedy(unknown);
  if (ofWildcard) return ofWildcard;
  const peer = peerKey(unknown);
  const hint =
    ownerHint(key, written, known) ?? twinHint(peer?.meant ?? key, written, known) ?? commaHint(key, unknown.owner);
  if (hint !== undefined) return { hint, meant: peer?.meant };
  return usdKeyHint(key, written, known) ?? peer ?? alertRemedy(unknown) ?? ruleRemedy(unknown) ?? priceRemedy(unknown);
}

/** Keys of a model that a wildcard cannot have, because they name other models or several endpoints. */
const OF_MODEL: ReadonlySet<string> = new Set(['fallbacks', 'spread', 'endpoints']);

function wildcardRemedy({ key, known }: UnknownKey): KeyRemedy | undefined {
  if (!OF_MODEL.has(key) || !known.includes('unknown_price')) return undefined;
  return { hint: `a wildcard cannot have \`${key}\`: add an entry for the model to \`models\`` };
}

/** Budgets of teams, users and the organization have no `alert_at`: a rule of `alerts` watches all budgets. */
function alertRemedy({ key, value, known }: UnknownKey): KeyRemedy | undefined {
  if (key !== 'alert_at' || !['limit_credits', 'budgets'].some((one) => known.includes(one))) return undefined;
  const shares =
    value?.kind === 'list' ? value.items.flatMap((one) => (one.kind === 'scalar' ? [one.source] : [])) : [];
  return { hint: alertRuleHint(shares) };
}

/** Keys of other rule languages for the models that may serve. */
const ADMITTING: ReadonlySet<string> = new Set('then allow only use route route_to model models'.split(' '));
/** Keys of other rule languages for the models that may not serve. */
const EXCLUDING: ReadonlySet<string> = new Set('deny block exclude forbid'.split(' '));

function ruleRemedy({ key, value, known }: UnknownKey): KeyRemedy | undefined {
  if (!known.includes('when')) return undefined;
  const meant = ['require', 'prefer'].find((one) => known.includes(one));
  const excludes = EXCLUDING.has(key);
  if (meant === undefined || !(excludes || ADMITTING.has(key))) return undefined;
  const names = namesIn(value);
  if (names.length > 0) {
    return { hint: `write \`${meant}: ${excludes ? otherThan(names) : modelTest(names)}\``, meant };
  }
  return { hint: didYouMean(meant), meant };
}

/** The form of a model's name, in contrast to an expression. */
const NAME = /^[\w.:/@+-]+$/;

/** Returns the names in a list, in a text such as `a or b`, or in a single name; empty for any other value. */
function namesIn(value: Tree | undefined): readonly string[] {
  if (value?.kind === 'list') {
    const names = value.items.flatMap((item) => (item.kind === 'scalar' && NAME.test(item.source) ? item.source : []));
    return names.length === value.items.length ? names : [];
  }
  if (value?.kind !== 'scalar' || value.value === null) return [];
  return alternativesIn(value.source) ?? (NAME.test(value.source) ? [value.source] : []);
}

/** Writes a condition, as YAML text, that is true for all models except the given models. */
function otherThan(names: readonly string[]): string {
  const [first] = names;
  return names.length === 1 ? `model.id != ${JSON.stringify(first)}` : `'!(${modelTest(names)})'`;
}

/** Writes a condition that is true for the given models. */
export function modelTest(names: readonly string[]): string {
  const [first] = names;
  return names.length === 1
    ? `model.id == ${JSON.stringify(first)}`
    : `model.id in [${names.map((name) => JSON.stringify(name)).join(', ')}]`;
}
