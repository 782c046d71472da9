import { didYouMean } from '../../core/text/text.ts';
import { answerTo, type Courtesy } from '../report/courtesy.ts';
import { alternativesIn, commaHint, missingSpaceHint, ownerHint, twinHint, usdKeyHint } from '../yaml/slip-hints.ts';
import type { Tree } from '../yaml/tree.ts';
import { alertRuleHint } from './alert-rule-hint.ts';
import { type KeyRemedy, peerKey, type UnknownKey } from './peer-keys.ts';
import { priceRemedy } from './price-remedies.ts';

/** The key of another tool that an unknown key is; its known key says what else the hint is about. */
const meantBy = (unknown: UnknownKey): string | undefined => peerKey(unknown)?.meant;

const sourceOf = ({ value }: UnknownKey): string => (value?.kind === 'scalar' ? value.source : '');

const remedy = (hint: string | undefined, meant?: string): KeyRemedy | undefined =>
  hint === undefined ? undefined : { hint, meant };

/** Mistakes in keys, the most certain first. */
export const KEY_COURTESIES: readonly Courtesy<UnknownKey, KeyRemedy>[] = [
  {
    mistake: 'budgets: [{ name: b, limit_credits: 50000, window:day }]',
    answer: ({ key, known }) => remedy(missingSpaceHint(key, known)),
  },
  {
    mistake: 'models: { "sim/*": { provider: sim, price: { input: 1, output: 2 }, fallbacks: [tiny] } }',
    answer: wildcardRemedy,
  },
  {
    mistake: 'budgets: [{ name: b, limit_credits: 50000, window: day, team: legal }]',
    answer: (unknown) => remedy(ownerHint(unknown.key, sourceOf(unknown), unknown.known), meantBy(unknown)),
  },
  {
    mistake:
      'providers: { own: { adapter: openai-compatible, base_url: "https://own.example/v1", api_key: $OWN_KEY } }',
    answer(unknown) {
      const meant = meantBy(unknown);
      return remedy(twinHint(meant ?? unknown.key, sourceOf(unknown), unknown.known), meant);
    },
  },
  {
    mistake: 'budgets: [{ name: b, limit_credits: 20,000, window: day }]',
    answer: (unknown) => remedy(commaHint(unknown.key, unknown.owner), meantBy(unknown)),
  },
  {
    mistake: 'budgets: [{ name: b, limit: $5, window: day }]',
    answer: (unknown) => usdKeyHint(unknown.key, sourceOf(unknown), unknown.known),
  },
  { mistake: 'guards: [{ name: g, guard: secrets, on_match: block, mode: pre_call }]', answer: peerKey },
  { mistake: 'teams: [{ name: search, alert_at: [0.5] }]', answer: alertRemedy },
  { mistake: 'constraints: [{ name: c, when: request.task == "coding", deny: [tiny] }]', answer: ruleRemedy },
  {
    mistake:
      'models: { mine: { provider: sim, input_price: 1, output_price: 2, context_window: 8192, max_output: 2048 } }',
    answer: priceRemedy,
  },
];

/** Returns what to write instead of a key that is not known, if it is a mistake that people make; undefined for any other key. */
export const keyRemedy = (unknown: UnknownKey): KeyRemedy | undefined => answerTo(KEY_COURTESIES, unknown);

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
