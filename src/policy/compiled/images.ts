import { servesChats } from '../../core/kinds/operations.ts';
import type { GroupTerms } from '../../core/people/people.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import { CAPABILITIES } from '../../core/request/capability.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import { ORGANIZATION, TEAMS } from '../people/people.ts';
import type { Report } from '../report/report.ts';
import { BUDGETS } from '../sections/budgets.ts';

const hasBudgets = ({ budgets, memberDefaults }: GroupTerms): boolean =>
  budgets.length > 0 || memberDefaults.budgets.length > 0;

/**
 * Warns once if the policy has budgets and models that see images, but cannot bound the cost of an image on any of these models.
 * @param served the models that can be served in this environment
 */
export function reviewImages(served: readonly Model[], of: DraftReader, report: Report): void {
  const modelIds = of(MODELS).ids;
  const seeing = served.filter(
    (model) => modelIds.has(model.id) && (model.capabilities & CAPABILITIES.vision.bit) !== 0 && servesChats(model),
  );
  const first = seeing[0]?.id;
  if (first === undefined || seeing.some(({ imageTokensMax }) => imageTokensMax !== null)) return;
  if (of(BUDGETS).length === 0 && ![of(ORGANIZATION), ...of(TEAMS)].some(hasBudgets)) return;
  const message =
    'no model with `vision` that can be served states `image_tokens_max`, so every request with images that a budget pays for is refused';
  report.add('uncounted-images', modelIds.get(first)!, message, {
    hint: `write \`image_tokens_max: N\` in \`${first}\`, where N is the most input tokens that its provider counts for one image; the provider's documentation of image inputs says how many`,
  });
}
