import type { Decision, Refusal } from '../../../core/decision/decision.ts';
import { shortPlace, textOf, textsOf } from '../../../core/decision/sentence.ts';
import type { Constraint } from '../../../core/policy/rules.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { Facts } from '../../../core/request/facts.ts';
import { type Runtime, strategyOf } from '../../../policy/runtime/runtime.ts';
import { certify } from '../../../routing/certify.ts';
import type { ModelLists } from '../../../routing/model-name.ts';
import { rejectionsAgainst, violatedConstraints } from '../../../routing/rejections.ts';
import { type RejectedModel, rejectionGroups, story } from '../../../routing/story.ts';
import { UNNAMED } from './hypothetical.ts';

/** Whose lists of models the reasons name. */
interface Sender {
  readonly caller: ModelLists;
}

/** The most groups of models with the same reasons, and the most models in a group, that a failed case names. */
const LIMITS = { groups: 8, names: 5 };

/** Prints sentences as a hint, which has no full stop at its end. */
const hintOf = (sentences: readonly string[]): string => sentences.join(' ').replace(/\.$/, '');

const rejectedTexts = (rejected: readonly RejectedModel[]): string[] => rejectionGroups(rejected, LIMITS).map(textOf);

/**
 * For each model of a refusal, says what rejected the model, with the rules and their locations.
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
    return { model: model.id, rejections: rejectionsAgainst(model, rejections, inputs) };
  });
  const isFirst = ({ model }: RejectedModel) => first.includes(model);
  const rules = rejected.flatMap(({ model, rejections }) =>
    violatedConstraints(snapshot.models[model]!, rejections, inputs),
  );
  const unserved = [...new Set(rules)].flatMap((rule) => unservedBy(rule, snapshot) ?? []);
  const others = all.filter((one) => !isFirst(one));
  return hintOf([...rejectedTexts(all.filter(isFirst)), ...rejectedTexts(others), ...unserved]);
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
  return `\`${name}\` allows endpoints of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}, which cannot serve here.`;
}

/** Says why none of these models was chosen: the rank of the best model, the reason for the choice, and the reasons against the others. */
export function whyNotChosen(
  models: readonly string[],
  { facts, caller }: Decision & Sender,
  runtime: Runtime,
): string {
  const certificate = certify(runtime.snapshot, facts, { ...UNNAMED, ...strategyOf(facts, runtime), caller });
  const ranked = certificate.candidates.filter(({ rank }) => rank !== null);
  const meant = certificate.candidates.filter(({ model }) => models.includes(model));
  const best = meant.find(({ rank }) => rank !== null);
  const leftOut = rejectedTexts(meant.filter(({ rank }) => rank === null));
  if (!best && leftOut.length > 0) return hintOf(leftOut);
  const choice = textsOf(story(certificate, facts).filter(({ about }) => about === 'choice'));
  const place = best ? [`${best.model} is number ${best.rank} of ${ranked.length} by ${certificate.reason}.`] : [];
  return hintOf([...place, ...choice, ...leftOut]);
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
