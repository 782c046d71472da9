import type { Decision } from '../../core/decision.ts';
import type { Facts } from '../../core/facts.ts';
import type { CandidateEntry } from '../../routing/certificate.ts';
import { certify } from '../../routing/certify.ts';
import { shortPlace } from '../../routing/story.ts';
import { type Runtime, strategyOf } from '../../runtime/runtime.ts';
import { UNNAMED } from './hypothetical.ts';

/** Returns, in a line, why none of these models was chosen: the rank of the best one, or the reasons against them. */
export function whyNotChosen(models: readonly string[], { facts, reason }: Decision, runtime: Runtime): string {
  const { candidates } = certify(runtime.snapshot, facts, { ...UNNAMED, ...strategyOf(facts, runtime) });
  const [choice] = candidates;
  const meant = candidates.filter(({ model }) => models.includes(model));
  const best = meant.find(({ rank }) => rank !== null);
  if (choice && best) {
    const count = candidates.filter(({ rank }) => rank !== null).length;
    return `by ${reason}, \`${best.model}\` is number ${best.rank} of ${count}: utility ${utility(best)}, and ${utility(choice)} of \`${choice.model}\``;
  }
  if (facts.pinned) return `\`${facts.model}\` is requested by name`;
  return meant.map((one) => `\`${one.model}\` is left out: ${against(one)}`).join('; ');
}

const utility = ({ utility: value }: CandidateEntry): string => (value ?? 0).toPrecision(4);

const against = ({ rejections }: CandidateEntry): string =>
  rejections
    .map(({ text, rules }) => (rules.length === 0 ? text : `${text} (${rules.map(({ place }) => shortPlace(place))})`))
    .join('; ');

/** Returns why a rule does not reject a model; undefined where it is no constraint of the policy. */
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
    ? `${where} applies, and \`${id}\` fulfils it`
    : `${where} does not apply: its \`when\` is false for this request`;
}
