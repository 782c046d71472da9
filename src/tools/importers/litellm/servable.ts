import type { ImportContext } from './context.ts';
import { type Deployment, READ_LATER } from './entries.ts';
import { valueAt } from './tree.ts';

/** Selectors that exist in every policy. */
export const BUILT_IN = ['auto', 'auto-fast', 'auto-cheap'];

/**
 * Separates deployments that can be served, and collects what a policy must still know about the other deployments. Deployments that need
 * an answer from the operator are `open`.
 */
export function servableOf(all: readonly Deployment[], { outcomes, todo }: ImportContext) {
  const deployments: Deployment[] = [];
  const open: Deployment[] = [];
  const refused: { name: string; why: string }[] = [];
  for (const one of all) {
    if (one.isPattern) continue;
    const { group, params } = one;
    const why = reasonAgainst(one, deployments);
    const isAsElsewhere = one.bare === null && all.some((other) => other.group === group && other.facts.price);
    const questions = why === null && !isAsElsewhere ? questionsOf(one) : [];
    for (const question of questions) todo.ask(group, question);
    if (why !== null) outcomes.leftOut(valueAt(params, 'model'), `${group}: ${why}`);
    if (why === null && questions.length === 0) deployments.push(one);
    else refused.push({ name: group, why: why ?? `the operator must state ${questions.join(', and ')}` });
    if (questions.length > 0) open.push(one);
    // Deployments that are left out have no endpoints, shares and budgets.
    if (why === null && questions.length === 0) continue;
    outcomes.keysLeftOut(params, READ_LATER, 'its entry is not served yet');
  }
  return { deployments, open, refused };
}

/** Only the first model under a name can be used for embeddings, because vectors of two models cannot be compared. */
function reasonAgainst({ group, isEmbedder, bare }: Deployment, before: readonly Deployment[]): string | null {
  if (isEmbedder && BUILT_IN.includes(group)) return 'every policy has a selector of this name, for conversations';
  const first = before.find((one) => one.group === group);
  if (!first || (!isEmbedder && !first.isEmbedder)) return null;
  return isEmbedder === first.isEmbedder && bare === first.bare
    ? null
    : 'its vectors cannot be compared with those of the first model of this name';
}

function questionsOf({ facts, connection, isEmbedder }: Deployment): string[] {
  return [
    ...(facts.price || connection.isOwn ? [] : ['its price, in USD per 1M tokens']),
    ...(isEmbedder && facts.dimensions === null ? ['how many numbers its vectors have (`embedding.dimensions`)'] : []),
  ];
}
