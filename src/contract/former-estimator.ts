/** A plugin of a kind that earlier versions ran. Its module still loads, and the policy that lists it gets a warning. */
export interface FormerEstimator {
  readonly kind: 'estimator';
  readonly name: string;
}

/**
 * Declares an estimator, which has no effect any more: see `docs/route/learning.md`.
 *
 * @deprecated Remove the plugin from the policy.
 */
export const defineEstimator = (plugin: { readonly name: string }): FormerEstimator => ({
  ...plugin,
  kind: 'estimator',
});
