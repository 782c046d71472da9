import type { PooledKey, ProviderAccount } from '../../core/policy/snapshot.ts';
import type { Environment } from '../define/environment.ts';
import { readLimits } from './endpoint-limits.ts';
import type { ProviderText } from './schema.ts';

/** The most keys of a provider, counting every line of its variables. */
export const KEYS_MAX = 64;

/** Returns the keys that a variable holds, one a line. */
export const keysIn = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Returns the value of a key; null if it has none, or if a token source has it. */
export function keyValue({ apiKeyEnv, pooled }: ProviderAccount, { get }: Pick<Environment, 'get'>): string | null {
  if (apiKeyEnv === null) return null;
  const text = get(apiKeyEnv);
  return (pooled ? keysIn(text)[pooled.line] : text) ?? null;
}

/** Whether a variable has a key. A token source counts as a key before its first token, too. */
export const hasKeyIn = (env: Environment, variable: string): boolean =>
  env.sourced?.(variable) !== undefined || (env.get(variable) ?? '').trim() !== '';

/** Returns a text with as many lines as a variable has keys. The keys of token sources are not in it. */
const linesIn = (env: Environment, variable: string): readonly string[] =>
  env.sourced?.(variable) === undefined ? keysIn(env.get(variable)) : [''];

type KeysText = NonNullable<ProviderText['api_keys_env']>;

/** Returns the variables of a pool in order. */
export const variablesOf = (keys: KeysText): readonly string[] =>
  keys.map((key) => (typeof key === 'string' ? key : key.api_key_env));

/** Returns the names of a pool's keys in order: their labels, or else their variables. */
export const namesOf = (keys: KeysText): readonly string[] =>
  keys.map((key) => (typeof key === 'string' ? key : (key.label ?? key.api_key_env)));

/** Returns the keys of a pool that have a value. A variable that is not set adds no key. */
export function poolOf(keys: KeysText, env: Environment): ProviderAccount[] {
  return keys.flatMap((key) => {
    const stated = typeof key === 'string' ? { api_key_env: key } : key;
    const { api_key_env: apiKeyEnv, account = null, weight = 1, label: name = apiKeyEnv } = stated;
    const limits = readLimits(stated.limits);
    const values = linesIn(env, apiKeyEnv);
    return values.map((_, line) => {
      const label = values.length === 1 ? name : `${name}#${line + 1}`;
      const pooled: PooledKey = { label, line, account, weight, ...(limits && { limits }) };
      return { apiKeyEnv, pooled };
    });
  });
}

/** Whether the policy states a key of the provider. */
export const statesKey = (data: Pick<ProviderText, 'api_key_env' | 'api_keys_env'> | null | undefined): boolean =>
  (data?.api_key_env ?? data?.api_keys_env) !== undefined;
