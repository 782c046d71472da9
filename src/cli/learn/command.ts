import { UsageError } from '../../core/usage-error.ts';
import type { LearningPolicyInForce } from '../../learning/learner.ts';
import { modelsWithOutcomes } from '../../learning/overview.ts';
import { findSecret } from '../../learning/secret.ts';
import { generous } from '../../operate/policy/environment.ts';
import { runtimeOf } from '../../operate/policy/tools.ts';
import type { PolicyTools } from '../../runtime/candidate.ts';
import { readStore, type StoreReader } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import type { Writer } from '../ledger/export.ts';

/** What commands on what was learnt work with. */
export interface LearnCommand {
  /** The database, which exists. */
  readonly file: string;
  /** The folder of the policy. */
  readonly folder: string;
  /** All that judging takes but the folder; `env` is the real environment. */
  readonly judge: Omit<PolicyTools, 'folder'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** For a terminal: lines that fit. */
  readonly terminal: boolean;
  readonly write: Writer;
}

/** Reads one moment of the database, beside whoever writes it. Throws UsageError where nothing could have been learnt. */
export async function reading<T>({ file }: LearnCommand, read: (reader: StoreReader) => Promise<T>): Promise<T> {
  const reader = readStore(file, ['learning']);
  try {
    if ((await findSecret(reader)) !== null) return await read(reader);
    throw new UsageError(`${file} has no memory of outcomes of this version yet; start the server once.`);
  } finally {
    reader.close();
  }
}

/**
 * The policy with all of its models, whichever have a provider's key here: what was learnt of them does not hang on it.
 * Some serve only where no other can; where outcomes are of those, it is the policy of this environment. Throws UsageError.
 */
export async function policyFor(
  { folder, judge }: LearnCommand,
  store: Pick<Store, 'query'>,
): Promise<LearningPolicyInForce> {
  const anywhere = await runtimeOf(folder, { ...judge, env: generous(judge.env) });
  const taught = await modelsWithOutcomes(store);
  const known = ({ snapshot }: LearningPolicyInForce) => taught.filter((id) => snapshot.modelIndex.has(id)).length;
  if (known(anywhere) === taught.length) return anywhere;
  try {
    const here = await runtimeOf(folder, judge);
    return known(here) > known(anywhere) ? here : anywhere;
  } catch (cause) {
    if (cause instanceof UsageError) return anywhere;
    throw cause;
  }
}

/** `1,203 outcomes`. */
export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en', { maximumFractionDigits: 1 })} ${number === 1 ? one : many}`;
