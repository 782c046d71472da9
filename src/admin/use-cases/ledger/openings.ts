import { budgetBody } from '../../../access/terms.ts';
import { objectOf, objectsIn } from '../../../core/json/object.ts';
import type { Audit } from '../../../ledger/audit/audit.ts';
import type { Repositories } from '../../../store/repositories.ts';

/** How many of the last changes of a key are read for its budgets. */
const CHANGES_MAX = 100;

/**
 * Compares what imported keys spent before with the audit trail, whose chain shows later changes. The ledger has no entry of it.
 * @param audit gets a finding for each key whose opening is not the one that was stated last
 */
export async function auditOpenings(
  { keys, trail }: Pick<Repositories, 'keys' | 'trail'>,
  audit: Pick<Audit, 'report'>,
): Promise<void> {
  for (const { key } of await keys.all()) {
    if (key.importedHash === null) continue;
    const { id, budgets } = key.info;
    const changes = await trail.list({ keyId: id, limit: CHANGES_MAX });
    const stated = changes.map(({ details }) => details.budgets ?? objectOf(details.after).budgets).find(Array.isArray);
    if (stated === undefined || openingsText(stated) === openingsText(budgets.map(budgetBody))) continue;
    audit.report({
      kind: 'wrong_opening',
      seq: null,
      reservation: null,
      message: `key ${id}: its budgets state another spend from before its import than the audit trail`,
    });
  }
}

const openingsText = (budgets: unknown): string =>
  JSON.stringify(objectsIn(budgets).map(({ opening = null }) => opening));
