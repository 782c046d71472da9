/** The value of a variable that is not set when a policy is only checked. The placeholder is a valid address, and also a usable key. */
export const PLACEHOLDER = 'http://127.0.0.1:9/';

/** The environment of a policy. Signalbox reads only variables that the policy or a preset names. */
export interface Environment {
  get(name: string): string | undefined;
}
