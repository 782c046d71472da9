import { hash } from 'node:crypto';
import { AnswerSeal } from '../../access/idempotency/crypto.ts';
import { canonicalJson } from '../../core/json/canonical.ts';
import { withEdits } from '../../core/json/original.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { CachePartition } from '../../core/policy/cache.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { EmbeddingInput } from '../../core/request/embedding.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { KINDS } from '../kinds/kinds.ts';

/** Separates these names and keys from other uses of the same secret. A new form of names or entries needs a new number. */
const FORM = Buffer.from('signalbox cache 1');

/** The names of the entries of a request, and the keys that seal them. */
export interface CacheNames {
  /** One name, or a name for each input. */
  readonly names: readonly Uint8Array[];
  readonly seal: AnswerSeal;
}

/** Identifies a partition, for the name of an entry and for its secret; null if the caller has none. */
export function partitionOf(partition: CachePartition, { keyId, team }: Pick<Caller, 'keyId' | 'team'>): string | null {
  if (partition === 'key') return `key ${keyId}`;
  if (partition === 'everyone') return 'everyone';
  return team === undefined ? null : `team ${team}`;
}

/**
 * Makes the names of the entries of a request. Two requests have the same name only if they are equal after guards, have the same
 * partition, policy and rules that apply, and, in a wider partition, the same labels and lists of models.
 * @param facts with the rules that apply
 * @param secret of the caller's key; for a wider partition a secret of the server
 */
export function cacheNames(
  request: ModelRequest,
  facts: NamedFacts,
  { caller, partition, snapshot }: NamedFor,
  secret: string,
): CacheNames {
  const seal = sealOf(caller, secret);
  const { operation, model, stream, headers, original } = request;
  const inputs = entriesOf(request);
  const { rules, guards = null } = facts;
  const own = [partition, snapshot.revision, operation, original.dialect, model, stream, headers.passed, rules, guards];
  const head = canonicalJson(partition.startsWith('key ') ? own : [...own, rightsOf(caller, facts)]);
  const nameOf = (body: object) => seal.bodyMark(hash('sha256', `${head}\n${canonicalJson(body)}`, 'buffer'));
  if (!inputs) return { names: [nameOf(original.body)], seal };
  const rest = canonicalJson(withoutInputs(original, inputs));
  const names = inputs.map((input) => nameOf({ rest, input: input.type === 'text' ? input.text : input.tokens }));
  return { names, seal };
}

/** Returns the inputs of a request whose answers the cache stores apart; null if the whole answer is one entry. */
export const entriesOf = ({ operation, inputs }: ModelRequest): ModelRequest['inputs'] =>
  KINDS[operation].isCachedByInput ? inputs : null;

/** The facts that names contain. */
export type NamedFacts = Pick<Facts, 'allowedModels' | 'deniedModels' | 'guards' | 'rules'>;

export interface NamedFor {
  readonly caller: Pick<Caller, 'labels'>;
  /** The result of `partitionOf`. */
  readonly partition: string;
  readonly snapshot: Pick<PolicySnapshot, 'revision'>;
}

/** The last seal of each caller, because deriving its keys takes as long as the rest of a name. */
const seals = new WeakMap<object, { readonly mark: string; readonly seal: AnswerSeal }>();

function sealOf(caller: object, secret: string): AnswerSeal {
  const mark = hash('sha256', secret);
  const known = seals.get(caller);
  if (known?.mark === mark) return known.seal;
  const seal = new AnswerSeal(secret, FORM);
  seals.set(caller, { mark, seal });
  return seal;
}

/** Callers of a wider partition must have the same labels, and may use the same models. */
const rightsOf = ({ labels }: NamedFor['caller'], { allowedModels, deniedModels = [] }: NamedFacts) => [
  labels,
  allowedModels?.toSorted() ?? null,
  deniedModels.toSorted(),
];

/** Returns the body of a request without its inputs. If they are one member, their number makes no difference. */
function withoutInputs({ body }: ModelRequest['original'], inputs: readonly EmbeddingInput[]): object {
  const member = inputs[0]?.at[0];
  const areMember = inputs.every(({ at }) => at.length <= 2 && at[0] === member);
  const edits =
    areMember && member !== undefined ? [{ at: [member], value: null }] : inputs.map(({ at }) => ({ at, value: null }));
  return withEdits(body, edits);
}
