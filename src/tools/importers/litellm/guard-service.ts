import { type FieldBlock, flow } from '../../../policy/yaml/emit.ts';
import { hostOf, isPrivateName, plainUrl } from './connection.ts';
import { asVariable, CAPITALS, type ImportContext, variableReference } from './context.ts';
import { type ConfigNode, scalarText } from './tree.ts';

/** The service that a guard calls. */
interface GuardServiceSource {
  readonly base: ConfigNode | undefined;
  readonly key: ConfigNode | undefined;
  /** The variable with the address if `base` is absent; null if the guard has an address of its own. */
  readonly baseEnv: string | null;
  /** The variable with the key if `key` is absent; null for a service without a key. */
  readonly keyEnv: string | null;
  /** The service in words, for the list of variables. */
  readonly what: string;
  /** Whether the service usually runs in the operator's own network. */
  readonly isPrivate: boolean;
}

/** Reads the address and the key of a service. Neither a key nor an address that may contain one is copied. */
export function guardService(
  { base, key, baseEnv, keyEnv, what, isPrivate }: GuardServiceSource,
  to: readonly string[],
  context: ImportContext,
): FieldBlock {
  const path = [...to, 'service'];
  const address = scalarText(base);
  const url = address !== null && variableReference(address) === null ? plainUrl(address) : null;
  const urlEnv = url === null ? variableOf(base, baseEnv, `the address of ${what}`, path, context) : null;
  const apiKeyEnv = variableOf(key, keyEnv, `the key for ${what}`, path, context);
  if (url !== null) context.outcomes.mapped(base, [...path, 'url']);
  const host = hostOf(url);
  const isOwn = isPrivate || (host !== null && isPrivateName(host, url ?? ''));
  return flow({ url, url_env: urlEnv, api_key_env: apiKeyEnv, allow_private_network: isOwn || null });
}

/** Returns the variable with a value: the one that the configuration names, or one that the operator must set. */
function variableOf(
  node: ConfigNode | undefined,
  usual: string | null,
  what: string,
  to: readonly string[],
  { outcomes, todo }: ImportContext,
): string | null {
  const text = scalarText(node);
  const reference = text === null ? null : variableReference(text);
  if (!node || text === null || reference === '') {
    if (node && reference === '') outcomes.problem(node, 'there is no name of a variable after os.environ/');
    if (usual !== null) todo.need(usual, what);
    return usual;
  }
  const wanted = usual ?? `${asVariable(to[1] ?? 'guard')}_VALUE`;
  const name =
    reference === null ? todo.invent(wanted, text) : CAPITALS.test(reference) ? reference : asVariable(reference);
  if (reference === null) outcomes.approximated(node, to, `it is not copied; put it into ${name}`);
  else if (name !== reference)
    outcomes.approximated(node, to, `the variable is now ${name}: policies need capital letters`);
  else outcomes.mapped(node, to);
  todo.need(name, what);
  return name;
}
