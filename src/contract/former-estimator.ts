/**
 * A plugin of the kind `estimator`, which earlier versions ran. Signalbox still loads the module of such an estimator, ignores the
 * estimator, and warns about the policy that lists it.
 */
export interface FormerEstimator {
  readonly kind: 'estimator';
  readonly name: string;
}

/**
 * Declares an estimator. Signalbox ignores estimators since it no longer learns from outcomes: see `docs/route/learning.md`.
 *
 * @deprecated Remove the plugin from the policy.
 */
export const defineEstimator = (plugin: { readonly name: string }): FormerEstimator => ({
  ...plugin,
  kind: 'estimator',
});
