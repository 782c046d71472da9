import type { SourcedKey } from '../../core/policy/sourced-key.ts';

/** The value of a variable that is not set when a policy is only checked. The placeholder is a valid address, and also a usable key. */
export const PLACEHOLDER = 'http://127.0.0.1:9/';

/** The environment of a policy. Signalbox reads only variables that the policy or a preset names. */
export interface Environment {
  get(name: string): string | undefined;
  /**
   * Returns the token source of a variable; undefined for other variables. Only keys of providers can come from token sources. `get` returns
   * no token, so that a policy cannot send a token anywhere else. Without `sourced`, no variable has a token source.
   */
  readonly sourced?: ((name: string) => SourcedKey | undefined) | undefined;
}
