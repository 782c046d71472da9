import { UsageError } from '../../../core/usage-error.ts';
import { openRecordReader } from '../../../gateway/records/records.ts';
import type { Explanation } from '../../../gateway/request/recorded-certificate.ts';
import { PastPolicies } from '../../../policy/runtime/replay.ts';
import { placeOfStore, readStore, requireStore } from '../../../store/open.ts';
import { explainDecision } from '../explain-decision.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { PolicyWorkspace } from './tools.ts';

/** A stored decision, with the name of its key and the value of a Credit in USD; null if they are unknown. */
interface StoredExplanation {
  readonly explanation: Explanation;
  readonly keyName: string | null;
  readonly usdPerCredit: string | null;
}

/**
 * Explains a stored decision, whether a server is running or not.
 * @param id of the decision, such as `dec_0a4x1wm3zk0`
 * @throws UsageError if there is no database or no records; SignalboxError for an unknown decision
 */
export async function explainStoredDecision(
  by: Principal,
  id: string,
  { judge, database, folder }: PolicyWorkspace,
): Promise<StoredExplanation> {
  checkAction(by.caller, 'decisions.explain');
  await requireStore(database);
  const past = new PastPolicies({ ...judge, folder, active: () => null });
  using reader = await readStore(database, ['records', 'access', 'ledger']);
  if (!(await reader.records.isCurrent())) {
    const place = await placeOfStore(database);
    throw new UsageError(
      `${place} has no decision records of this version yet. Start the server once to create the tables.`,
    );
  }
  const explanation = await explainDecision(by, { records: openRecordReader(reader.records), past }, id);
  const key = await reader.keys.find(explanation.record.keyId);
  return { explanation, keyName: key?.key.info.name ?? null, usdPerCredit: await reader.journal.usdPerCredit() };
}
