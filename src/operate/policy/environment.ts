import type { PolicyTools } from '../../runtime/candidate.ts';

/** Stands for a variable that is not set here: an address, which is a usable key too. */
const PLACEHOLDER = 'http://127.0.0.1:9/';

/** A policy is judged as if every variable were set: whether it is right does not depend on who looks. */
export const generous = (env: PolicyTools['env']): PolicyTools['env'] => ({
  get: (name) => env.get(name)?.trim() || PLACEHOLDER,
});
