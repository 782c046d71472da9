import type { Decision, Refusal } from '../../../core/decision/decision.ts';
import type { Constraint } from '../../../core/policy/rules.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { Facts } from '../../../core/request/facts.ts';
import { listNames } from '../../../policy/report/nearest.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import type { CandidateEntry, RejectionEntry } from '../../../routing/certificate.ts';
import { certify } from '../../../routing/certify.ts';
import type { ModelLists } from '../../../routing/model-name.ts';
import { rejectionsAgainst, violatedConstraints } from '../../../routing/rejections.ts';
import { shortPlace } from '../../../routing/story.ts';
import { UNNAMED } from './hypothetical.ts';

/** Whose lists of models the reasons name. */
interface Sender {
  readonly caller: ModelLists;
}

/** The most groups of models with the same reasons, and the most models in a group, that one line names. */
const GROUPS_MAX = 8;
const NAMES_MAX = 5;

/**
 * For each model of a refusal, writes what rejected the model, with the rules and their locations, on one line.
 *
 * @param first IDs of the models to name first
 */
export function whyRejected(
  { rejected, ...refusal }: Refusal & Sender,
  first: readonly string[],
  { snapshot }: Runtime,
): string {
  const inputs = { ...refusal, snapshot };
  const all = rejected.map(({ model: at, rejections }) => {
    const model = snapshot.models[at]!;
    return { id: model.id, why: against(rejectionsAgainst(model, rejections, inputs)) };
  });
  const isFirst = ({ id }: { readonly id: string }) => first.includes(id);
  const groups = [...Map.groupBy([...all.filter(isFirst), ...all.filter((one) => !isFirst(one))], ({ why }) => why)];
  const texts = groups.slice(0, GROUPS_MAX).map(([why, models]) => {
    const more = models.length - NAMES_MAX;
    const names = listNames(models.slice(0, NAMES_MAX).map(({ id }) => id));
    return `${models.length > 1 ? 'each of ' : ''}${names}${more > 0 ? ` and ${more} more` : ''}: ${why}`;
  });
  const rest = groups.slice(GROUPS_MAX).reduce((sum, [, models]) => sum + models.length, 0);
  const whole = [...texts, ...(rest > 0 ? [`${rest} more for other reasons`] : [])].join('; ');
  const rules = rejected.flatMap(({ model, rejections }) =>
    violatedConstraints(snapshot.models[model]!, rejections, inputs),
  );
  const unserved = [...new Set(rules)].flatMap((rule) => unservedBy(rule, snapshot) ?? []);
  return [whole, ...unserved].join('. ');
}

/** The most providers that a line names with what they lack. */
const PROVIDERS_MAX = 3;

/**
 * Names the providers of endpoints that a rule allows but that cannot serve here, with the reasons; undefined if all of these endpoints can
 * serve.
 */
function unservedBy({ name, unserved = [] }: Constraint, { leftOut }: PolicySnapshot): string | undefined {
  const found = leftOut.filter((one) => one.kind === 'provider' && unserved.includes(one.name));
  if (found.length === 0) return undefined;
  const shown = found.slice(0, PROVIDERS_MAX).map((one) => `\`${one.name}\` (${one.reason})`);
  const more = found.length - shown.length;
  return `\`${name}\` allows endpoints of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}, which cannot serve here`;
}

/**
 * Writes on one line why none of these models was chosen: the rank of the best model, and the reasons against the models without a rank.
 */
export function whyNotChosen(
  models: readonly string[],
  { facts, reason, caller }: Decision & Sender,
  runtime: Runtime,
): string {
  const given = { ...UNNAMED, ...strategyOf(facts, runtime), caller };
  const { candidates, choiceReason } = certify(runtime.snapshot, facts, given);
  const [choice] = candidates;
  const meant = candidates.filter(({ model }) => models.includes(model));
  const best = meant.find(({ rank }) => rank !== null);
  const leftOut = meant
    .filter(({ rank }) => rank === null)
    .map((one) => `\`${one.model}\` is not eligible: ${against(one.rejections)}`);
  if (choice && best) {
    const count = candidates.filter(({ rank }) => rank !== null).length;
    const why = choiceReason ?? `utility ${utility(best)}, and ${utility(choice)} of \`${choice.model}\``;
    return [`by ${reason}, \`${best.model}\` is number ${best.rank} of ${count}: ${why}`, ...leftOut].join('; ');
  }
  if (facts.named !== null) return `the request names ${listNames(facts.named)}`;
  return leftOut.join('; ');
}

const utility = ({ utility: value }: CandidateEntry): string => (value ?? 0).toPrecision(4);

const against = (rejections: readonly RejectionEntry[]): string =>
  rejections.map(({ text, rules }) => (rules.length === 0 ? text : `rejected by ${rulesText(rules)}`)).join('; ');

function rulesText(rules: RejectionEntry['rules']): string {
  const names = rules.map(({ name, place }) => `\`${name}\` (${shortPlace(place)})`);
  return `${names.length > 1 ? 'the constraints' : 'the constraint'} ${names.join(', ')}`;
}

/** Writes why a rule does not reject a model; undefined if it is not a constraint of the policy. */
export function whyNotRejectedBy(
  rule: string,
  id: string,
  { rules }: Facts,
  { snapshot }: Runtime,
): string | undefined {
  const at = snapshot.constraints.findIndex(({ name }) => name === rule);
  const constraint = snapshot.constraints[at];
  if (!constraint) return undefined;
  const where = `\`${rule}\` (${shortPlace(constraint.place)})`;
  return rules.constraints.includes(at)
    ? `${where} applies, and \`${id}\` satisfies it`
    : `${where} does not apply: its \`when\` is false for this request`;
}
